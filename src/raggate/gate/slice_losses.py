"""Slices that got worse than allowed, which a mean over all questions may not show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.gate import wording
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import GatedMetric, Reason
from raggate.text.numbers import counted


def reasons(rows: Sequence[GatedMetric]) -> Iterator[Reason]:
    """Give one reason a slice, by its worst metric; a slice of all cases would only repeat what is said of them."""
    whole = {(row.delta.mode, row.delta.metric): row.delta.current.n for row in rows if row.delta.slice == OVERALL}
    slices: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in rows:
        delta = row.delta
        part = delta.slice != OVERALL and delta.current.n != whole.get((delta.mode, delta.metric))
        if part and row.gated and row.status == "worse":
            slices.setdefault((delta.mode, delta.slice), []).append(row)
    for worse in slices.values():
        worst = max(worse, key=lambda row: abs(row.delta.delta or 0.0))
        more = f"; {counted(len(worse) - 1, 'other metric')} of it got worse too" if len(worse) > 1 else ""
        yield Reason.of_row("slice-worse", wording.change(worst) + more, worst.delta)
