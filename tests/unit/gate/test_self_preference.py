"""Whether a judge prefers answers of its own kind: families by name, the gap to others, and leniency taken off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raggate.gate.judge_bias import conclusions
from raggate.gate.self_preference import family, preferences
from raggate.models.judging import Judgement
from raggate.models.judging_bias import AnswerGrades, SelfPreference
from tables import each_row

Points = Callable[[int, str], float]


@each_row(
    ("name", "kind"),
    [
        ("openai:gpt-4o-2024-08-06", "gpt"),
        ("github:openai/gpt-4.1", "gpt"),
        ("openai:o3-mini-2025-01-31", "gpt"),
        ("anthropic:claude-3-5-sonnet-20241022", "claude"),
        ("qwen2.5-14b-instruct", "qwen"),
        ("/models/Qwen2.5-14B-Instruct-Q4_K_M.gguf", "qwen"),
        ("meta-llama/Llama-3.1-8B", "llama"),
        ("Meta-Llama-3-8B", "llama"),
        ("llama3:8b", "llama"),
        ("mixtral-8x7b", "mistral"),
        ("small", "small"),
        ("7b", ""),
        ("", ""),
    ],
)
def test_families_by_name(name: str, kind: str) -> None:
    """The letters that the last part of a name begins with name the family; some have several names."""
    assert family(name) == kind


def graded(questions: int, answered_by: str, *, first: int = 0, **judges: Points) -> list[AnswerGrades]:
    """Build the grades of so many answers by judges, whose points depend on the number and on who answered."""
    return [
        AnswerGrades(
            judge=judge,
            answer=first + number,
            case_id=f"q{first + number}",
            score="correctness",
            answered_by=answered_by,
            original=Judgement(score="correctness", value=points(number, answered_by), judge=judge),
        )
        for number in range(questions)
        for judge, points in judges.items()
    ]


def strict(number: int, _: str) -> float:
    """Grade by the number of the answer."""
    return float(number % 4)


def lenient(number: int, _: str) -> float:
    """Grade everybody's answers a point higher."""
    return number % 4 + 1.0


def partial(number: int, answered_by: str) -> float:
    """Grade those of its own family a point higher."""
    return number % 4 + float(answered_by.startswith("gpt"))


def concluded(rows: list[AnswerGrades]) -> tuple[SelfPreference, ...]:
    """Say what the grades show."""
    return conclusions((), preferences(rows))[1]


@each_row(
    ("points", "own", "others", "finding"),
    [(strict, 0.0, 0.0, "not shown"), (lenient, 1.0, 1.0, "not shown"), (partial, 1.0, 0.0, "shown")],
)
def test_leniency_to_all_is_no_preference(points: Points, own: float, others: float, finding: str) -> None:
    """Where another family has answered as well, only what is given to its own kind alone is a preference."""
    judges = {"gpt-x": points, "claude-x": strict}
    (row,) = (
        row
        for row in concluded([*graded(20, "gpt-4", **judges), *graded(24, "claude-3", first=20, **judges)])
        if row.family == "gpt"
    )
    assert row.own is not None
    assert row.others is not None
    assert row.preference is not None
    assert (row.own.mean, row.others.mean, row.preference.mean) == (own, others, own - others)
    assert (row.own_questions, row.other_questions, row.finding) == (20, 24, finding)


def test_without_answers_of_others_only_the_gap_is_told() -> None:
    """The judge is lenient or partial, and nothing tells which: there is no preference, and no bias is shown."""
    (row,) = concluded(graded(20, "gpt-4", **{"gpt-x": lenient, "claude-x": strict}))
    assert row.own is not None
    assert (row.own.mean, row.others, row.preference, row.finding) == (1.0, None, None, "lenient or partial")


def test_judges_of_its_own_family_are_no_measure() -> None:
    """A second judge of the family may share the preference, and counts for nothing in the gap."""
    rows = graded(20, "gpt-4", **{"gpt-x": lenient, "gpt-y": lenient, "claude-x": strict})
    assert [(row.judge, row.own and row.own.mean) for row in preferences(rows)] == [("gpt-x", 1.0), ("gpt-y", 1.0)]
    assert preferences(graded(20, "gpt-4", **{"gpt-x": lenient, "gpt-y": strict})) == ()


def test_few_questions_show_no_preference() -> None:
    """Of 19 questions a gap of a point is too little to tell."""
    (row,) = concluded(graded(19, "gpt-4", **{"gpt-x": lenient, "claude-x": strict}))
    assert (row.finding, row.own_questions) == ("too few", 19)
    assert row.own is not None
    assert row.own.p is None


def test_what_is_not_known_is_no_family() -> None:
    """Answers of which nobody says who gave them, and models of no judge's family, make no row."""
    judges = {"gpt-x": lenient, "7b": strict}
    assert preferences(graded(20, "", **judges)) == ()
    assert preferences(graded(20, "mistral-7b", **judges)) == ()
    # a judge whose name tells nothing may be of that family too
    assert preferences(graded(20, "gpt-4", **judges)) == ()


def test_welch_by_hand() -> None:
    """Gaps of 0 and 2 in turn beside gaps of 0: a mean of 1 with an error of the root of 20/19 / 20, on 19 degrees."""

    def wavering(number: int, answered_by: str) -> float:
        return strict(number, answered_by) + (2.0 * (number % 2) if answered_by.startswith("gpt") else 0.0)

    judges = {"gpt-x": wavering, "claude-x": strict}
    rows = [*graded(20, "gpt-4", **judges), *graded(20, "claude-3", first=20, **judges)]
    row = next(row for row in preferences(rows) if row.family == "gpt")
    assert row.preference is not None
    # t of 0.975 on 19 degrees is 2.0930
    half = 2.0930 * (20 / 19 / 20) ** 0.5
    assert (row.preference.low, row.preference.high) == (
        pytest.approx(1 - half, abs=1e-4),
        pytest.approx(1 + half, abs=1e-4),
    )
