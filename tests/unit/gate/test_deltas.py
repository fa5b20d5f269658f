"""Both sides in one pass: the rows of a comparison stand in the baseline's order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_labelled,
    make_metric,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.config.gate_settings import Gate
from raggate.gate import compare
from raggate.gate.deltas import PairedCases, Sides
from raggate.gate.policies import classify_row
from raggate.models.comparison import Delta, Interval
from raggate.models.judging import JUDGES
from raggate.models.run import LabelledResult
from raggate.models.scorecard import OVERALL, CaseScore, by_question
from tables import each_row


def test_rows_stand_in_the_order_of_the_baseline() -> None:
    """Rows stand in the order of the baseline's slices and metrics."""
    metrics, names = ("mrr_at_5", "hit_at_5"), ("tag=x", OVERALL, "tag=a")
    slices = {"hybrid": {name: {metric: make_metric() for metric in metrics} for name in names}}
    cases = [make_case_score(values={"hit_at_5": 1.0, "mrr_at_5": 0.5}, slices=(OVERALL, "tag=a", "tag=x"))]
    card = replace(make_scorecard(slices=slices), cases=tuple(cases))
    deltas = Sides(card, make_baseline(card), by_question(cases)).deltas(1)
    assert [(delta.slice, delta.metric) for delta in deltas] == [(name, metric) for name in names for metric in metrics]


HARD = (OVERALL, "difficulty=hard")


def row(before: Sequence[CaseScore], now: Sequence[CaseScore], metric: str = "hit_at_5", min_slice: int = 10) -> Delta:
    """Compare cases with those of a baseline, and return the row of a metric over all of them."""
    asked = make_run(*(unanswered(case.case_id) for case in now))
    # grades are compared where both sides have them by the same judges
    old, new = (make_scorecard(*cases, fingerprint={JUDGES: "the same"}) for cases in (before, now))
    found = compare.compare(asked, new, make_baseline(old), min_slice=min_slice)
    (delta,) = [delta for delta in found.deltas if (delta.metric, delta.slice) == (metric, OVERALL)]
    return delta


@cache
def unanswered(case_id: str) -> LabelledResult:
    """Make a case to which nothing was returned: a row is of scores alone."""
    return make_labelled(make_case(case_id), make_result(case_id))


def scores(values: Sequence[float], name: str = "q", metric: str = "hit_at_5", mark: str = "") -> list[CaseScore]:
    """Make one case of each value; a mark makes them ask something else under the same names."""
    return [
        make_case_score(f"{name}{number}", {metric: value}, hash=f"{name}{number}{mark}")
        for number, value in enumerate(values)
    ]


def proven(size: int, found: int, relabelled: int, lost: int, *, metric: str = "hit_at_5", most: float = 1.0) -> bool:
    """Whether chance is ruled out where of some relabelled questions, all the best before, some are the worst."""
    before = scores([most] * found + [0.0] * (size - found), metric=metric)
    now = scores([0.0] * lost + [most] * (relabelled - lost), metric=metric, mark="!") + before[relabelled:]
    others = row(before, now, metric).uncompared
    assert others is not None
    assert others.drop == pytest.approx(most * lost / size)
    assert others.proven in {0.0, others.drop}
    return others.proven > 0


@each_row(
    ("size", "relabelled", "lost", "expected"),
    [
        pytest.param(60, 1, 1, False, id="one-question-decides-nothing"),
        pytest.param(2000, 1, 1, False, id="nor-in-a-large-suite"),
        pytest.param(60, 2, 2, True, id="two-of-two"),
        pytest.param(10, 2, 2, True, id="two-of-two-in-a-small-suite"),
        pytest.param(60, 10, 2, False, id="two-of-ten"),
        pytest.param(60, 10, 3, True, id="three-of-ten"),
        pytest.param(60, 30, 6, True, id="six-of-thirty"),
        pytest.param(60, 30, 30, True, id="all"),
    ],
)
def test_what_chance_explains(size: int, relabelled: int, lost: int, *, expected: bool) -> None:
    """A loss among relabelled questions that were all found counts from the number on that luck does not reach."""
    assert proven(size, size, relabelled, lost) is expected
    assert proven(size, size, relabelled, lost, metric="groundedness", most=5.0) is expected


def test_relabelled_case_is_held_to_its_own_value() -> None:
    """Questions that were not found before are no loss when they are not found in other words."""
    before = [0.0] * 5 + [1.0] * 15
    delta = row(scores(before), scores(before[:5], mark="!") + scores(before)[5:])
    assert delta.uncompared is not None
    assert (delta.uncompared.n, delta.uncompared.relabelled, delta.uncompared.drop) == (5, 5, 0.0)
    assert not delta.fell


def test_added_case_is_held_to_the_slice_that_was_worst() -> None:
    """Added hard questions are held to what the baseline reaches on hard ones, once it has enough of them."""
    easy = scores([1.0] * 10)
    hard = [make_case_score(f"h{n}", {"hit_at_5": float(n < 2)}, slices=HARD) for n in range(10)]
    added = [make_case_score(f"new{n}", {"hit_at_5": 0.0}, slices=HARD) for n in range(5)]
    held = row([*easy, *hard], [*easy, *hard, *added]).uncompared
    assert held is not None
    assert held.expected == pytest.approx(0.2)
    assert held.proven == 0
    few = row([*easy, *hard], [*easy, *hard, *added], min_slice=11).uncompared
    assert few is not None
    assert few.expected == pytest.approx(0.6)


def test_less_is_better_for_some() -> None:
    """A rate that goes up over relabelled questions drops, and one that goes down does not."""
    low, high = [0.0] * 20, [1.0] * 20
    up = row(scores(low, metric="wrong_rate"), scores(high, metric="wrong_rate", mark="!"), "wrong_rate").uncompared
    assert up is not None
    assert (up.value, up.expected, up.drop, up.proven) == (1.0, 0.0, 1.0, 1.0)
    down = row(scores(high, metric="wrong_rate"), scores(low, metric="wrong_rate", mark="!"), "wrong_rate").uncompared
    assert down is not None
    assert (down.drop, down.proven) == (0.0, 0.0)


def test_cases_that_a_metric_does_not_count_any_more() -> None:
    """A relabelled case that had a value and has none is named as retired, and holds nothing up or down."""
    gone = [make_case_score("q0", {"hit_at_5": None}, hash="other")]
    others = row(scores([1.0] * 5), [*gone, *scores([1.0] * 5)[1:]]).uncompared
    assert others is not None
    assert (others.n, others.retired, others.drop) == (0, ("q0",), 0.0)


def test_metric_of_relabelled_cases_alone_is_gated() -> None:
    """A metric all of whose questions were relabelled and lost is worse, though nothing can be compared."""
    delta = row(scores([1.0] * 5), scores([0.0] * 5, mark="!"))
    judged = classify_row(delta, Gate())
    assert (judged.status, judged.by_others, judged.gated) == ("worse", True, True)
    assert set(delta.fell) == {f"q{number}" for number in range(5)}


@given(
    before=st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=30),
    changed=st.sets(st.integers(0, 29)),
)
def test_relabelling_what_stays_as_good_is_never_worse(before: list[float], changed: set[int]) -> None:
    """Whichever questions are asked otherwise, values that stay what they were are no drop at all."""
    other = scores(before, mark="!")
    now = [other[n] if n in changed else case for n, case in enumerate(scores(before))]
    delta = row(scores(before), now)
    assert delta.uncompared is None or delta.uncompared.drop == 0
    assert classify_row(delta, Gate(tolerance=0)).status != "worse"


@each_row(("size", "found"), [(20, 10), (20, 16), (60, 45), (60, 60), (200, 190)])
@each_row("added", [2, 5, 10, 20])
def test_questions_of_the_same_kind_are_rarely_a_loss(size: int, found: int, added: int) -> None:
    """Questions drawn like those of the baseline are called a loss by chance in less than one run of fifty, exactly."""
    values = [1.0] * found + [0.0] * (size - found)

    def is_a_loss(lost: int) -> bool:
        others = row(scores(values), scores(values) + scores([0.0] * lost + [1.0] * (added - lost), "new")).uncompared
        assert others is not None
        return others.proven > 0

    # where so many are called a loss, every larger number counts as called one
    fewest = next(filter(is_a_loss, range(added + 1)), added + 1)
    right = Fraction(found + 1, size + 2)
    alarms = sum(comb(added, lost) * (1 - right) ** lost * right ** (added - lost) for lost in range(fewest, added + 1))
    assert alarms < Fraction(1, 50)


Value = float | None


def paired_row(
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
    return paired_row([(before, before + change) for change in changes], groups).interval


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
    assert paired_row(sides, metric=metric, direction=direction).interval == pytest.approx(expected, abs=1e-3)


def test_means_are_over_the_cases_with_both_values() -> None:
    """A value that one side lacks is in neither mean; one that is gone is counted."""
    delta = paired_row([(1.0, 0.5), (0.5, None), (None, 1.0), (0.0, 0.0)])
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
    delta = paired_row(sides)
    assert (delta.baseline.value, delta.current.value, delta.delta) == (before, after, None)
    assert (delta.unpaired, delta.fell, delta.interval) == (unpaired, (), None)


def test_a_slice_is_its_cases() -> None:
    """A slice has its own means, counts and names, whatever the others do; one without a case has none."""
    sides, slices = [(1.0, 0.0), (1.0, 0.25), (0.5, 1.0)], ["tag=a", "tag=b", "tag=b"]
    delta = paired_row(sides, slices=slices, of="tag=b")
    assert (delta.baseline.value, delta.current.value) == (0.75, 0.625)
    assert (delta.regressed, delta.improved, delta.fell) == (1, 1, ("q1",))
    assert paired_row(sides, slices=slices, of="tag=c").current.n == 0


def test_less_is_better() -> None:
    """Where less is better a rise is a loss, and the interval is that of the change as it is written."""
    delta = paired_row([(0.0, 1.0), *[(0.0, 0.0)] * 39], direction="lower")
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
    assert paired_row([(1.0, 0.0), (1.0, None), (1.0, 1.0)], ["a", "a", "b"]).interval == interval(1.0, [-1.0, 0.0])
