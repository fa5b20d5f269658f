"""What a run without a baseline has to show: the questions it does not answer, each with why."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_chunk,
    make_chunks,
    make_failure,
    make_labelled,
    make_result,
    make_run,
    make_support,
)
from raggate.gate.compare import compare
from raggate.gate.evaluation import find_misses
from raggate.models.comparison import Flip
from raggate.models.run import LabelledResult, Run
from raggate.scoring.score import score

OTHERS = make_chunks(*(f"other{rank}.md" for rank in range(1, 10)))
GOLD = make_chunk("gold")


def answered(name: str, *chunks: Any, mode: str = "hybrid", **fields: Any) -> LabelledResult:
    """Label an answer to a question whose passage is the section `# A` of a.md."""
    case = make_case(name, **fields)
    return make_labelled(case, make_result(name, *chunks, mode=mode))


def misses(run: Run, before: Run | None = None) -> list[Flip]:
    baseline = None if before is None else make_baseline(score(before, (5,)))
    return [*find_misses(run, compare(run, score(run, (5,)), baseline))]


def test_each_question_that_is_not_found_is_told_with_its_why() -> None:
    """Found questions and those to abstain from are left out; must-pass ones come first, the rest by what is worst."""
    failed = make_labelled(make_case("failed"), make_result("failed", failure=make_failure()))
    run = make_run(
        answered("found", GOLD),
        answered("none", answerable=False),
        answered("low", *OTHERS[:6], GOLD),
        answered("gone", *OTHERS[:3]),
        answered("empty"),
        answered("elsewhere", make_chunk(heading_path="# B"), must_pass=True),
        failed,
    )
    assert [(flip.case_id, flip.kind, flip.after, flip.why) for flip in misses(run)] == [
        ("elsewhere", "absent", None, "the note is at rank 1, but with another section"),
        ("empty", "absent", None, "nothing was retrieved"),
        ("failed", "absent", None, "the call failed: no answer within 60 s"),
        ("gone", "absent", None, "not among the 3 passages returned"),
        ("low", "absent", 7, "is below rank 5, where a question no longer counts as found"),
    ]


def test_a_question_of_several_passages_needs_all_of_a_group() -> None:
    """One that has a part of what it needs is told with the passage that is missing."""
    supports = (make_support("a.md"), make_support("b.md"))
    case = {"gold_supports": supports, "required_support_groups": ((0, 1),)}
    (flip,) = misses(make_run(answered("both", GOLD, *OTHERS[:2], **case)))
    assert (flip.metric, flip.gold) == ("recall_all_at_5", "b.md › A")
    assert misses(make_run(answered("both", GOLD, make_chunk("b", rel_path="b.md"), **case))) == []


def test_of_a_run_with_a_baseline_only_new_modes_are_told() -> None:
    """What a baseline has is compared; a mode that it has not is as a first run is. A run that stopped tells none."""
    old = make_run(answered("q", GOLD))
    new = make_run(answered("q", *OTHERS), answered("q", *OTHERS, mode="vector"))
    assert [(flip.case_id, flip.mode) for flip in misses(new, old)] == [("q", "vector")]
    assert [flip.mode for flip in misses(new)] == ["hybrid", "vector"]
    assert misses(make_run(answered("q", *OTHERS)), old) == []
    assert misses(replace(make_run(answered("q", *OTHERS)), stopped="the API exited")) == []
