"""The noun of a calibration: equal runs of one build, and what the gate makes of their differences. Frozen."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from raggate.models.run import Run
from raggate.models.scorecard import Scorecard


class Calibration(Struct, frozen=True, kw_only=True):
    """Equal runs of one build, as one run whose questions were asked that many times.

    Attributes:
        run: the run.
        scorecard: its scores, with the noise in the fingerprint.
        boots: how often the API was booted.
        pairs: how many times one of the runs was held against another.
        alarms: in how many of these the gate would have been red, by `gate.policy`.
    """

    run: Run
    scorecard: Scorecard
    boots: int
    pairs: int
    alarms: Mapping[str, int]
