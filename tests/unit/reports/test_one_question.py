"""One question of a review as a comment tells it, in every state that a question can be in."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

import reviews
from builders import make_chunk, make_failure, make_labelled, make_result
from raggate.models.run import LabelledResult
from raggate.reports import one_question
from raggate.reports.parts.document import COMMENT_LIMIT, utf16_units
from rendered import problems
from reviews import answer, baseline_of, case_of, gold_of, good, others, review_of, run_of
from tables import each_row


def standing(before: list[LabelledResult], now: LabelledResult, **fields: Any) -> str:
    """Return the second line of a question that was one way in the baseline and is another now."""
    review = review_of(run_of([now, *good()[1:]], **fields), baseline_of(run_of(before)))
    return one_question.render(review, now.case.id, None).splitlines()[1].removesuffix("<br>").strip()


def test_where_it_stands() -> None:
    """A question that no report tells of has its ranks in both, and what came instead of an answer."""
    case = good()[0].case
    assert standing(good(), good()[0]) == "rank 1, as in the baseline"
    added = answer(case_of(50), gold_of(case_of(50)))
    assert standing(good(), added) == "rank 1, not in the baseline"
    below = answer(case, others(1)[0], gold_of(case))
    assert standing([below, *good()[1:]], good()[0]) == "rank 2 → rank 1"


def test_what_cannot_be_compared() -> None:
    """Nothing is said of a baseline where there is none, or none that the run may be held against."""
    first = one_question.render(reviews.first_run(), "q00", None)
    assert first.splitlines()[1] == "  rank 1<br>"
    assert "| rank | now |" in first
    review = review_of(run_of(good()), baseline_of(run_of(good())))
    apart = replace(review, comparison=replace(review.comparison, incomparable=("another metric",), flips=()))
    assert one_question.render(apart, "q00", None) == first


def test_a_question_with_other_labels() -> None:
    """A question that expects something else than in the baseline is not held against that."""
    now = good()[0]
    other = answer(replace(now.case, hash="another"), gold_of(now.case))
    assert standing(good(), other) == "rank 1, relabelled since the baseline"


def test_lists_end_where_the_baseline_s_do() -> None:
    """Beside a baseline's list, which ends at the largest cut-off, the present one ends there too."""
    case = good()[0].case
    long = answer(case, gold_of(case), *others(14))
    review = review_of(run_of([long, *good()[1:]]), baseline_of(run_of([long, *good()[1:]])))
    kept = len(review.scorecard.cases[0].entries)
    rows = [line for line in one_question.render(review, case.id, None).splitlines() if line.startswith("| ")]
    assert len(rows) - 1 == min(kept, one_question.PLACES)
    assert all("|  |" not in row for row in rows)


def test_no_answer() -> None:
    """A question that was lost on the way says what happened, as text."""
    case = good()[0].case
    failed = make_labelled(case, make_result(case.id, failure=make_failure(message="<b>no</b> answer @eve")))
    line = standing(good(), failed, stopped="the API exited")
    assert line.startswith("no answer: timeout")
    assert "<b>" not in line
    assert "@eve" not in line


@each_row("abstained", [True, False])
def test_a_question_without_an_answer(abstained: bool) -> None:
    """Of a question that nothing answers it is said only what was measured: no rank."""
    case = case_of(50, answerable=False, gold_supports=())
    item = make_labelled(case, make_result(case.id, make_chunk()))
    text = one_question.render(review_of(run_of([*good(), item]), baseline_of(run_of(good()))), case.id, None)
    assert "expected: no answer" in text
    assert "rank 1," not in text.splitlines()[1]


def test_every_mode() -> None:
    """A question that was asked in several modes stands below the name of each."""
    review = reviews.several_modes()
    case_id = review.run.results[0].case.id
    modes = [item.result.mode for item in review.run.results if item.case.id == case_id]
    text = one_question.render(review, case_id, None)
    assert [line for line in text.splitlines() if line.startswith("**")] == [f"**{mode}**" for mode in modes]


@each_row("name", ["hostile", "hostile_everywhere", "regression", "cannot_tell", "first_run", "bare"])
def test_nothing_foreign_is_live(name: str) -> None:
    """Whatever a question, an answer or a name holds, it is text when it is rendered."""
    review = getattr(reviews, name)()
    for case_id in {item.case.id for item in review.run.results}:
        assert list(problems(one_question.render(review, case_id, None))) == []


def test_what_a_comment_holds() -> None:
    """Names that are as long as they can be leave lists out before a comment is too long for GitHub."""
    case = case_of(50)
    chunks = [
        make_chunk(f"c{number}", rel_path="|" * 5000 + str(number), heading_path="# " + "|" * 5000)
        for number in range(20)
    ]
    items = [make_labelled(case, make_result(case.id, *chunks, mode=f"mode{number}")) for number in range(40)]
    review = review_of(run_of(items), None)
    text = one_question.render(review, case.id, None)
    assert utf16_units(text) <= COMMENT_LIMIT
    assert "| rank |" not in text
    assert all(f"**mode{number}**" in text for number in range(40))
