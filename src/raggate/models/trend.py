"""The noun of how metrics went before a run: what was measured earlier, of the same suite. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from raggate.text.shapes import Stored


class TrendPoint(Stored, frozen=True, kw_only=True):
    """What was measured at one time.

    Attributes:
        kind: a version of the baseline file in git, or a run that lies beside this one.
        stamp: when, as ISO 8601 in UTC: of a baseline when it was measured, or else committed.
        name: the commit's first eight digits, or the id of the run.
        questions: the hash of the golden set; empty where it is not known.
        values: the means over all questions, by mode and metric.
    """

    kind: Literal["baseline", "run"]
    stamp: str
    name: str
    questions: str
    values: Mapping[str, Mapping[str, float]]
