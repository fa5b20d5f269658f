"""What the gate needs of substrate: how means are restated beside one of its metrics files."""

from __future__ import annotations

from raggate.gate.other_systems import OtherSystem
from raggate.models.baseline import Baseline, Restated
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard


def _restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    # loaded only for those who have such a baseline
    from raggate_interop.substrate.results import restate

    return restate(run, scorecard, baseline)


SYSTEM = OtherSystem(name="substrate", metrics_key="by_retriever", restate=_restate)
"""Its metrics files have the shape of raggate's own, without the numbers of questions."""
