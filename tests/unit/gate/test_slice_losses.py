"""Slices that got worse than allowed: one sentence each, by its worst metric."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_delta, make_metric
from raggate.config.gate_settings import Gate
from raggate.gate import slice_losses
from raggate.gate.row_status import classify_row
from raggate.models.comparison import Delta
from raggate.models.scorecard import OVERALL


def part(name: str, metric: str, before: float, after: float, n: int = 12) -> Delta:
    """Compare a metric of twelve of twenty questions."""
    row = make_delta(before, after, slice=name, metric=metric)
    return replace(row, baseline=make_metric(before, n), current=make_metric(after, n))


def told(*deltas: Delta) -> list[str]:
    """Return the sentences on these rows, beside those of all twenty questions."""
    whole = [part(OVERALL, metric, 0.8, 0.8, n=20) for metric in ("hit_at_5", "mrr_at_10")]
    return [reason.message for reason in slice_losses.reasons([classify_row(row, Gate()) for row in (*whole, *deltas)])]


def test_one_sentence_a_slice() -> None:
    """A slice is named once, by the metric that lost most, and the others are counted."""
    rows = (
        part("tag=a", "hit_at_5", 1.0, 0.9),
        part("tag=a", "mrr_at_10", 1.0, 0.5),
        part("tag=b", "hit_at_5", 1.0, 0.8),
    )
    assert told(*rows) == [
        "mrr_at_10 (hybrid) for tag=a went from 1.000 to 0.500 (−0.500, allowed 0.05); "
        "1 other metric of it got worse too",
        "hit_at_5 (hybrid) for tag=b went from 100.0% to 80.0% (−20.0 pt, allowed 5 pt)",
    ]


def test_what_is_no_loss_of_a_slice() -> None:
    """Nothing is said of losses within the tolerance, slices of all questions, and slices of too few."""
    rows = (
        part("tag=a", "hit_at_5", 1.0, 0.96),
        part("tag=all", "hit_at_5", 1.0, 0.5, n=20),
        part("tag=few", "hit_at_5", 1.0, 0.5, n=Gate().min_cases - 1),
    )
    assert told(*rows) == []
