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
from raggate.gate.deltas import Sides
from raggate.gate.policies import classify_row
from raggate.models.comparison import Delta
from raggate.models.judging import JUDGES
from raggate.models.run import LabelledResult
from raggate.models.scorecard import OVERALL, CaseScore, by_question
from tables import each_row

METRICS = ("hit_at_5", "mrr_at_5")
VALUE = st.sampled_from((0.0, 0.25, 1.0, None))
CASES = st.lists(
    st.tuples(VALUE, VALUE, VALUE, VALUE, st.sampled_from("xyz"), st.sampled_from((None, "g", "h")), st.booleans()),
    min_size=1,
    max_size=14,
)


def gathered(before: list[CaseScore], now: list[CaseScore]) -> tuple[list[Delta], Sides]:
    slices = {"hybrid": {name: {metric: make_metric() for metric in METRICS} for name in ("tag=x", OVERALL, "tag=y")}}
    card = replace(make_scorecard(slices=slices), cases=tuple(now))
    baseline = make_baseline(replace(card, cases=tuple(before)))
    sides = Sides(card, baseline, by_question(before), frozenset({("hybrid", "q3")}))
    return [*sides.deltas(1)], sides


@given(CASES)
def test_rows_stand_in_the_order_of_the_baseline(rows: list[tuple[object, ...]]) -> None:
    """Rows stand in the order of the baseline's slices and metrics, and the questions that are the same are counted."""
    before, now = [], []
    for number, (old_hit, old_mrr, hit, mrr, tag, group, same) in enumerate(rows):
        name, slices = f"q{number}", (OVERALL, f"tag={tag}")
        before.append(make_case_score(name, dict(zip(METRICS, (old_hit, old_mrr), strict=True)), slices=slices))  # type: ignore[arg-type]
        own = make_case_score(name, dict(zip(METRICS, (hit, mrr), strict=True)), slices=slices, group=group)  # type: ignore[arg-type]
        now.append(own if same else make_case_score(name, dict(own.values), slices=slices, hash="other"))
    deltas, sides = gathered(before, now)
    assert [delta.metric for delta in deltas] == [*METRICS] * 3
    assert [delta.slice for delta in deltas[::2]] == ["tag=x", OVERALL, "tag=y"]
    assert sides.compared == sum(bool(row[-1]) for row in rows)


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
