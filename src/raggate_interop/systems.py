"""The other systems whose numbers the gate can read and restate: what both front ends hand to the pipeline.

What a system's functions need is imported when they are called: most runs have to do with none of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raggate.gate.other_systems import OtherSystem
from raggate.models.baseline import Baseline, Restated
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard


def _restate_as_substrate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    from raggate_interop.substrate.restate import restate

    return restate(run, scorecard, baseline)


def _restate_as_helloworld(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    from raggate_interop.helloworld.restate import restate

    return restate(run, scorecard, baseline)


def _helloworld_scores(run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    from raggate_interop.helloworld.restate import scores

    return scores(run, mode, full_text=full_text)


def _helloworld_metrics(metrics: dict[str, Any], source: str, beside: Path | None) -> dict[str, Any]:
    from raggate_interop.helloworld.baseline import converted

    return converted(metrics, source, beside)


SYSTEMS: tuple[OtherSystem, ...] = (
    # its metrics files have the shape of raggate's own, without the numbers of questions
    OtherSystem(name="substrate", metrics_key="by_retriever", restate=_restate_as_substrate),
    OtherSystem(
        name="helloworld",
        metrics_key="aggregate_metrics",
        bare_metrics=_helloworld_metrics,
        restate=_restate_as_helloworld,
        scores=_helloworld_scores,
    ),
)
"""In the order in which they are asked whether a metrics file is theirs."""
