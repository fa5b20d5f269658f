"""Slices that got worse than allowed, which a mean over all questions may not show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import wording
from raggate.gate.row_status import classify_row
from raggate.models.comparison import Comparison
from raggate.models.verdict import GatedMetric, Reason, of_parts
from raggate.text.numbers import counted
from raggate.text.quote import cut, listed


def reasons(rows: Sequence[GatedMetric]) -> Iterator[Reason]:
    """Yield one reason a slice, by its worst metric."""
    slices: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in of_parts(rows):
        if row.status == "worse":
            slices.setdefault((row.delta.mode, row.delta.slice), []).append(row)
    for worse in slices.values():
        worst = max(worse, key=lambda row: abs(row.delta.delta or 0.0))
        more = f"; {counted(len(worse) - 1, 'other metric')} of it got worse too" if len(worse) > 1 else ""
        yield Reason.of_row("slice-worse", wording.change(worst) + more, worst.delta)


def down(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Name those that a promotion needs permission for: a mean that stays hides what one lost and another one won."""
    if gate.slices == "fail":
        yield from (replace(reason, code="slice-down") for reason in _of(comparison, gate))


def noted(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Name those that whoever promotes should see, where they only warn, and those that the new baseline has not."""
    yield from _gone(comparison)
    if gate.slices == "warn":
        yield from _of(comparison, gate)


def _gone(comparison: Comparison) -> Iterator[Reason]:
    """Name the modes and slices of the present baseline that the run has no question of, compared or not."""
    now = comparison.scorecard.slices
    before = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    gone = [f"mode {cut(mode, limit=60)}" for mode in sorted(before.keys() - now.keys())]
    gone += [
        f"slice {cut(name, limit=80)} ({cut(mode, limit=60)})"
        for mode in sorted(before.keys() & now.keys())
        for name in sorted(before[mode].keys() - now[mode].keys())
    ]
    if gone:
        yield Reason("slices-gone", f"in the present baseline, and without a question in the new one: {listed(gone)}")


def _of(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    # without the excuses that a check has for want of evidence
    return reasons([classify_row(delta, gate) for delta in comparison.deltas])
