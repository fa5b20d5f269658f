"""A row of the comparison: a metric of the same cases on both sides, over all of them or a slice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from builders import make_case_score, make_metric
from raggate.gate.deltas import PairedCases
from raggate.models.comparison import Delta, Interval
from tables import each_row

Value = float | None


def row(
    sides: Sequence[tuple[Value, Value]],
    groups: Sequence[str | None] = (),
    slices: Sequence[str] = (),
    of: str = "overall",
    direction: str = "higher",
    metric: str = "m",
) -> Delta:
    """Compare values before and after of some cases, one of which may be in a further slice."""
    pairs = []
    for number, values in enumerate(sides):
        where = ("overall", *slices[number : number + 1])
        group = groups[number] if groups else None
        old, new = (make_case_score(f"q{number}", {metric: value}, slices=where, group=group) for value in values)
        pairs.append((old, new))
    return PairedCases(pairs).row(("hybrid", of, metric), make_metric(direction=direction))


def interval(before: float, changes: Sequence[float], groups: Sequence[str | None] = ()) -> Interval | None:
    return row([(before, before + change) for change in changes], groups).interval


@each_row(
    ("metric", "direction", "expected"),
    [
        ("mrr_at_10", "higher", (-1.0, 0.742)),
        ("unjudged_at_10", "lower", (-1.0, 0.742)),
        ("groundedness", "higher", (-1.742, 0.742)),
    ],
)
def test_an_interval_ends_with_the_scale_of_its_metric(metric: str, direction: str, expected: Interval) -> None:
    """Of three questions no mean of shares can change by more than 1, and one of points from 0 to 5 can."""
    sides = [(1.0, 0.0), (1.0, 0.5), (1.0, 1.0)]
    assert row(sides, metric=metric, direction=direction).interval == pytest.approx(expected, abs=1e-3)


def test_means_are_over_the_cases_with_both_values() -> None:
    """A value that one side lacks is in neither mean; one that is gone is counted."""
    delta = row([(1.0, 0.5), (0.5, None), (None, 1.0), (0.0, 0.0)])
    assert (delta.baseline.value, delta.current.value, delta.delta) == (0.5, 0.25, -0.25)
    assert (delta.current.n, delta.current.unscored, delta.unpaired) == (2, 2, 1)
    assert (delta.regressed, delta.improved, delta.fell) == (1, 0, ("q0",))


@each_row(
    ("sides", "before", "after", "unpaired"),
    [
        pytest.param([(1.0, None), (0.5, None)], 0.75, None, 2, id="gone"),
        pytest.param([(None, 1.0), (None, 0.5)], None, 0.75, 0, id="new"),
        pytest.param([(1.0, None), (None, 0.5)], 1.0, None, 1, id="of-other-cases"),
        pytest.param([(None, None)], None, None, 0, id="never"),
        pytest.param([], None, None, 0, id="no-case"),
    ],
)
def test_without_a_case_that_has_both(
    sides: Sequence[tuple[Value, Value]], before: Value, after: Value, unpaired: int
) -> None:
    """What was in the baseline stands there, and what is new here, unless other cases had it: then it vanished."""
    delta = row(sides)
    assert (delta.baseline.value, delta.current.value, delta.delta) == (before, after, None)
    assert (delta.unpaired, delta.fell, delta.interval) == (unpaired, (), None)


def test_a_slice_is_its_cases() -> None:
    """A slice has its own means, counts and names, whatever the others do; one without a case has none."""
    sides, slices = [(1.0, 0.0), (1.0, 0.25), (0.5, 1.0)], ["tag=a", "tag=b", "tag=b"]
    delta = row(sides, slices=slices, of="tag=b")
    assert (delta.baseline.value, delta.current.value) == (0.75, 0.625)
    assert (delta.regressed, delta.improved, delta.fell) == (1, 1, ("q1",))
    assert row(sides, slices=slices, of="tag=c").current.n == 0


def test_less_is_better() -> None:
    """Where less is better a rise is a loss, and the interval is that of the change as it is written."""
    delta = row([(0.0, 1.0), *[(0.0, 0.0)] * 39], direction="lower")
    assert delta.fell == ("q0",)
    assert delta.interval is not None
    low, high = delta.interval
    assert low < 0.025 < high
    assert high > -low


def test_interval_of_values() -> None:
    """Of other values it is that of the t distribution, and there is none where nothing moved."""
    # mean -0.125, standard error 0.125, t of 3 degrees of freedom 3.1824
    expected = (-0.125 - 3.1824 * 0.125, -0.125 + 3.1824 * 0.125)
    assert interval(0.75, [-0.5, 0.0, 0.0, 0.0]) == pytest.approx(expected, abs=1e-4)
    assert interval(0.75, [0.0] * 4) is None


def test_interval_of_groups() -> None:
    """Questions of one group are one unit, also where they are counted; a group of one question changes nothing."""
    changes = [-1.0, -1.0, 0.0, 0.0]
    alone = interval(1.0, changes, ["a", "b", "c", "d"])
    together = interval(1.0, changes, ["a", "a", "b", "b"])
    assert alone == interval(1.0, changes)
    assert together is not None
    assert alone is not None
    assert together[0] < alone[0] < 0
    # the second question of the group has no value, so that no two of one group are counted
    assert row([(1.0, 0.0), (1.0, None), (1.0, 1.0)], ["a", "a", "b"]).interval == interval(1.0, [-1.0, 0.0])
