"""Why a run asked no further: what is left to ask cannot make it a pass any more, or hardly. Frozen."""

from __future__ import annotations

from msgspec import Struct


class EarlyStop(Struct, frozen=True, kw_only=True):
    """What the answers until then show.

    Attributes:
        cause: a part of a sentence that says it.
        certain: whether no answer to what is left can undo it.
        after: how many questions show it, in the order in which they were drawn, each in one mode; more may be asked.
        of: how many there are.
        evidence: what a bet of 1 against "asking all would not be red" has become; 0 where none counted.
        false_alarms: the share of `gate.early_stop`; 0 where only what is certain counts.
        metric: the metric that it is about, with its mode; None where it is about questions that must pass.
        mode: that mode.
    """

    cause: str
    certain: bool
    after: int
    of: int
    evidence: float = 0.0
    false_alarms: float = 0.0
    metric: str | None = None
    mode: str | None = None

    @property
    def message(self) -> str:
        """Say all of it, as a part of a sentence."""
        would = "cannot" if self.certain else "would hardly"
        return f"asking the rest {would} make it a pass: {self.cause}"
