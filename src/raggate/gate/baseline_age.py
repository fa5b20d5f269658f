"""How old the baseline is at a moment, and what that is worth a warning. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.models.baseline import Baseline
from raggate.models.verdict import Reason
from raggate.text import dates
from raggate.text.numbers import counted

_CLOCKS = 1
"""Days by which the clocks of two machines may differ before anybody is told."""


def reasons(baseline: Baseline | None, at: str, allowed: int | None) -> Iterator[Reason]:
    """Say that a baseline is stale, or cannot become it, as it was measured later than at this moment.

    Args:
        baseline: the baseline, None for none.
        at: when a run started, or now; ISO 8601.
        allowed: after how many days it is stale; None for never.
    """
    measured = baseline.provenance.get("measured") if baseline is not None else None
    age = dates.days_between(measured, at)
    if age is None or allowed is None:
        return
    day = f"the baseline was measured on {dates.day(measured)}"
    if age > allowed:
        old = f"{counted(int(age), 'day')} before this run, and counts as stale after {allowed}"
        yield Reason("stale-baseline", f"{day}, {old}: promote a newer run")
    if age < -_CLOCKS:
        late = f"{counted(int(-age), 'day')} after this run, so for that long nobody is told that it is stale"
        yield Reason("future-baseline", f"{day}, {late}: if a clock was wrong, promote a run by the right one")
