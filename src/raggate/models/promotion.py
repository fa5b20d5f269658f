"""The nouns of promoting: what the new baseline will be, and how every metric that has a say changes with it."""

from __future__ import annotations

from msgspec import Struct

from raggate.base.jsonio import JsonObject
from raggate.models.comparison import Comparison, Delta
from raggate.models.scorecard import EPSILON, MetricValue
from raggate.models.verdict import Reason

NOTES = frozenset(("little-overlap", "below-floor", "noise", "often-red", "slice-worse", "vanished", "found-headings"))
"""Codes of reasons that are reported but need no permission."""


class MetricChange(Struct, frozen=True, kw_only=True):
    """A gated metric, or one of the composite, of a mode over all cases, as the old and the new baseline have it.

    The two means may be of different questions, so neither is judged by the other where that can be helped.

    Attributes:
        change: what the metric is judged by: its values over the cases that both have, or, where those are too few to
            tell, the two means. Its `delta` is None where one side has no value.
        shared: whether `change` is over cases that both have.
        sunk: whether the mean that readers will see is worse by more than is tolerated, at once or together with what
            was given up before, whatever `change` says.
    """

    before: MetricValue
    after: MetricValue
    change: Delta
    shared: bool
    sunk: bool = False

    @property
    def gain(self) -> float:
        """By how much the metric gets better, negative when it gets worse; 0 where that is not known."""
        return self.change.gain

    @property
    def vanished(self) -> bool:
        """Whether the metric had a value and will have none, at all or in any case that both have."""
        return self.before.n > 0 and (self.after.n == 0 or (self.shared and self.change.current.n == 0))

    @property
    def down(self) -> bool:
        """Whether the metric gets worse by any amount, or is gone."""
        # written so that a NaN, which no comparison is true of, counts as down
        return self.vanished or not self.gain >= -EPSILON

    @property
    def same_cases(self) -> bool:
        """Whether both means are over the very cases that the change is over."""
        return self.shared and self.before.n == self.after.n == self.change.current.n


class BaselineCandidate(Struct, frozen=True, kw_only=True):
    """A run that may become the baseline: the content of the file, and what a reviewer must know of it.

    `comparison` is with the present baseline: questions lost and gained (flips), cases added and removed. `rows` are
    the metrics over all cases, before and after; `reasons` are what is accepted with it, or starts over.
    """

    data: bytes
    provenance: JsonObject
    comparison: Comparison
    rows: tuple[MetricChange, ...]
    reasons: tuple[Reason, ...] = ()
