"""What the gate needs of helloworld: to read its metrics files, and to restate means beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raggate.gate.other_systems import OtherSystem
from raggate.models.baseline import Baseline, Restated
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard


def _restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    # loaded only for those who have such a baseline
    from raggate_interop.helloworld.baseline import restate

    return restate(run, scorecard, baseline)


def _bare_metrics(metrics: dict[str, Any], source: str, beside: Path | None) -> dict[str, Any]:
    from raggate_interop.helloworld.baseline import converted

    return converted(metrics, source, beside)


SYSTEM = OtherSystem(name="helloworld", metrics_key="aggregate_metrics", bare_metrics=_bare_metrics, restate=_restate)
