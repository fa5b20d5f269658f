"""Paired deltas of two joined runs, and when a metric counts as worse."""

from __future__ import annotations

import pytest

from label_builders import make_retrieval
from raggate_interop.labels import score
from raggate_interop.labels.checks import MIN_PAIRS, compare
from raggate_interop.labels.models import Joined, LabelDelta
from tables import each_row


def joined(hits: str) -> Joined:
    """Join one query per letter: `y` retrieves a sufficient chunk, `n` a misleading one, `-` is not asked."""
    rows = []
    for index in range(len(hits)):
        fields = {"record": f"r{index}", "query": f"q{index}"}
        rows += [
            make_retrieval("yyn", chunk_id="good", **fields),
            make_retrieval("nny", chunk_id="bad", rank=2, **fields),
        ]
    lists = {f"q{index}": ["good" if hit == "y" else "bad"] for index, hit in enumerate(hits) if hit != "-"}
    return score.join(rows, lists, 1)


def delta(current: str, baseline: str, metric: str = "sufficiency_hit_at_k", **fields: float) -> LabelDelta:
    """Compare two runs and give one metric."""
    return next(item for item in compare(joined(current), joined(baseline), **fields) if item.metric == metric)


@each_row(
    ("current", "baseline", "status"),
    [
        ("y" * 20, "y" * 20, "same"),
        ("n" * 8 + "y" * 12, "y" * 20, "worse"),
        # 2 of 20 lost: 10 points, but the interval reaches 0
        ("n" * 2 + "y" * 18, "y" * 20, "maybe worse"),
        # 6 lost and 4 gained: the same 10 points in the mean
        ("n" * 6 + "y" * 14, "y" * 6 + "n" * 4 + "y" * 10, "maybe worse"),
        ("y" * 20, "n" * 8 + "y" * 12, "better"),
        # with few queries the tolerance decides alone
        ("n" + "y" * (MIN_PAIRS - 2), "y" * (MIN_PAIRS - 1), "worse"),
        ("n" + "y" * (MIN_PAIRS - 1), "y" * MIN_PAIRS, "maybe worse"),
    ],
)
def test_status(current: str, baseline: str, status: str) -> None:
    """Worse is more than the tolerance with the whole interval on the worse side of zero."""
    assert delta(current, baseline).status == status


def test_within_the_tolerance() -> None:
    """A certain loss below the tolerance does not count as worse, and is told apart from none."""
    assert delta("n" * 8 + "y" * 12, "y" * 20, tolerance=0.5).status == "slightly worse"
    # at the boundary: 0.4 is not more than 0.4
    assert delta("n" * 8 + "y" * 12, "y" * 20, tolerance=0.4).status == "slightly worse"


def test_lower_is_better() -> None:
    """More misleading chunks are worse, fewer are better."""
    name = "misleading_context_rate_at_k"
    worse = delta("n" * 8 + "y" * 12, "y" * 20, name)
    assert (worse.delta, worse.status) == (pytest.approx(0.4), "worse")
    assert delta("y" * 20, "n" * 8 + "y" * 12, name).status == "better"


def test_numbers() -> None:
    """Both means are over the paired queries only, and the interval is that of their difference."""
    change = delta("nyyy-", "yyy-y")
    assert (change.n, change.baseline, change.current, change.delta) == (
        3,
        1.0,
        pytest.approx(2 / 3),
        pytest.approx(-1 / 3),
    )
    assert change.interval is not None
    assert (change.interval.lower, change.interval.upper) == (-1.0, 0.0)


def test_vanished() -> None:
    """No pair where the baseline has a value is not `same`."""
    assert delta("-y", "y-").status == "vanished"
    assert delta("-y", "--").status == "same"
