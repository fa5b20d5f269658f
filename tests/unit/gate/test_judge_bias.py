"""What grades of an answer as it is and changed come to: shares, shifts with intervals, and what chance would give."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from raggate.gate.judge_bias import conclusions, estimate, shifts
from raggate.gate.statistics.intervals import t_interval, tango
from raggate.labels.intervals import wilson
from raggate.models.judging import Judgement, NotJudgedReason
from raggate.models.judging_bias import AnswerGrades, Shift, Variant
from tables import each_row


def grade(value: float | None, reason: NotJudgedReason | None = None) -> Judgement:
    """Build what a judge says."""
    return Judgement(score="groundedness", value=value, reason=reason, judge="small")


def graded(changes: Sequence[float], variant: Variant = "longer", again: Sequence[float] = ()) -> list[AnswerGrades]:
    """Build answers whose grade of 2 changes by so much in a variant, and by so much when asked again."""
    return [
        AnswerGrades(
            judge="small",
            answer=number,
            case_id=f"q{number}",
            score="groundedness",
            original=grade(2.0),
            variants={variant: grade(2.0 + change), **({"again": grade(2.0 + again[number])} if again else {})},
        )
        for number, change in enumerate(changes)
    ]


def row(rows: list[AnswerGrades], variant: Variant = "longer") -> Shift:
    """Give what is concluded of a variant."""
    return next(row for row in conclusions(shifts(rows), ())[0] if row.variant == variant)


def test_shares_shifts_and_intervals_by_hand() -> None:
    """Of 20 grades four rise by a point and one falls by two: a quarter moved, and the mean shift is 0.1."""
    changes = [1.0] * 4 + [-2.0] + [0.0] * 15
    made = row(graded(changes))
    interval = wilson(5, 20)
    assert (made.answers, made.questions, made.moved) == (20, 20, 0.25)
    assert (made.moved_low, made.moved_high) == (interval.lower, interval.upper)
    assert made.shift is not None
    assert made.shift.mean == pytest.approx(0.1)
    assert (made.shift.low, made.shift.high) == t_interval(changes)
    assert made.finding == "not shown"


def test_grades_that_move_by_one_size_are_counted() -> None:
    """Where all that moved rose by half a point, the interval is that of the counts, at half a point each."""
    part = estimate([0.5] * 6 + [0.0] * 18, [str(number) for number in range(24)])
    low, high = tango(24, 0, 6)
    assert (part.low, part.high) == (pytest.approx(low / 2), pytest.approx(high / 2))


def test_grades_that_do_not_move_have_no_interval_and_no_bias() -> None:
    """Nothing tells the spread of what never moved; the share that moved has an interval all the same."""
    made = row(graded([0.0] * 24))
    assert made.shift is not None
    assert (made.shift.mean, made.shift.low, made.shift.p) == (0.0, None, 1.0)
    assert made.moved_high == wilson(0, 24).upper
    assert made.finding == "not shown"


@each_row(("questions", "finding"), [(19, "too few"), (20, "shown")])
def test_below_twenty_questions_nothing_is_said(questions: int, finding: str) -> None:
    """A point more for each of 19 answers is too little to tell; of 20 it is a bias."""
    assert row(graded([1.0] * questions)).finding == finding


def test_answers_to_one_question_are_one() -> None:
    """Forty answers to ten questions are ten questions: too few, and an interval as wide as theirs."""
    rows = [
        AnswerGrades(
            judge="small",
            answer=number,
            case_id=f"q{number % 10}",
            score="groundedness",
            original=grade(2.0),
            variants={"longer": grade(3.0)},
        )
        for number in range(40)
    ]
    made = row(rows)
    assert (made.answers, made.questions, made.finding) == (40, 10, "too few")
    assert made.moved_low == wilson(10, 10).lower


def test_a_judge_that_wavers_is_not_called_swayed_by_order() -> None:
    """Half of the grades move in another order, and as many when the same is asked again: nothing is beyond that."""
    wavering = [(-1.0) ** (number // 2) * (number % 2) for number in range(40)]
    made = row(graded(wavering, "reversed", wavering[::-1]), "reversed")
    assert made.beyond is not None
    assert (made.moved, made.beyond.mean, made.finding) == (0.5, 0.0, "not shown")


def test_an_order_that_moves_grades_both_ways_is_a_bias() -> None:
    """Where as many rise as fall there is no shift; that they move, and not when asked again, is seen all the same."""
    both_ways = [(-1.0) ** (number // 2) * (number % 2) for number in range(40)]
    made = row(graded(both_ways, "reversed", [0.0] * 40), "reversed")
    assert made.shift is not None
    assert made.beyond is not None
    assert (made.shift.mean, made.beyond.mean, made.finding) == (0.0, 0.5, "shown")
    # without a second answer to the same nothing tells that it is the order
    alone = row(graded(both_ways, "reversed"), "reversed")
    assert (alone.beyond, alone.finding) == (None, "not shown")


def test_that_asking_again_shifts_grades_is_no_bias() -> None:
    """A judge of another mind the second time is told by the share that moved, and by no finding."""
    made = row(graded([0.0] * 24, again=[1.0] * 24), "again")
    assert made.shift is not None
    assert (made.moved, made.shift.p, made.finding) == (1.0, None, "not shown")


def test_what_has_no_grade_is_counted_by_reason() -> None:
    """Missing grades of the answer as it is and of the variant stand beside those that are there."""
    rows = graded([1.0] * 3)
    rows.append(
        AnswerGrades(judge="small", answer=3, case_id="b", score="groundedness", original=grade(None, "budget"))
    )
    variants: dict[Variant, Judgement] = {"longer": grade(None, "timeout")}
    rows.append(
        AnswerGrades(judge="small", answer=4, case_id="t", score="groundedness", original=grade(2.0), variants=variants)
    )
    made = row(rows)
    assert (made.answers, made.not_judged) == (3, {"budget": 1, "timeout": 1})
    # nobody was asked again, which has a row all the same
    assert (row(rows, "again").answers, row(rows, "again").not_judged) == (0, {"budget": 1})


def test_many_comparisons_need_more_each() -> None:
    """A shift that chance gives once in forty is shown alone, and not as one of ten by Holm's method."""
    # six that rose and none that fell, of 24: p = 0.0312 by the sign test, and less by the one that is used
    one = graded([1.0] * 6 + [0.0] * 18)
    alone = row(one)
    assert alone.shift is not None
    assert alone.shift.p is not None
    assert alone.shift.p < 0.05
    others = [part for number in range(9) for part in named(graded([0.0] * 24), f"judge {number}")]
    among = next(made for made in conclusions(shifts([*one, *others]), ())[0] if made.variant == "longer")
    assert among.shift is not None
    assert among.shift.p == pytest.approx(10 * alone.shift.p)
    assert among.finding == "not shown"


def named(rows: list[AnswerGrades], judge: str) -> list[AnswerGrades]:
    """Give the same grades by another judge."""
    return [replace(item, judge=judge) for item in rows]


def test_judges_without_a_bias_are_seldom_called_swayed() -> None:
    """Of 200 measurements of a judge whose grades are a point off one time in five, one in twenty shows anything.

    That is the most, ten, and by chance hardly ever more than eighteen. All comparisons of a measurement count.
    """
    draw = Random(7)  # noqa: S311 - a simulation

    def wavering(points: float) -> Judgement:
        return grade(points + (draw.choice((-1, 1)) if draw.random() < 0.2 else 0))

    variants: tuple[Variant, ...] = ("again", "reversed", "shuffled", "longer", "shorter")
    swayed = 0
    for _ in range(200):
        rows = []
        for number in range(50):
            points = draw.choice((1.0, 2.0, 3.0))
            given = {variant: wavering(points) for variant in variants}
            rows.append(replace(graded([0.0])[0], answer=number, case_id=f"q{number}", variants=given))
            rows[-1] = replace(rows[-1], original=wavering(points))
        swayed += any(made.finding == "shown" for made in conclusions(shifts(rows), ())[0])
    assert swayed <= 18
