"""Labels by headings where the API tells none are a warning in every run, whatever else matches."""

from __future__ import annotations

from builders import make_case, make_chunk, make_labelled, make_result, make_run, make_support
from raggate.config.gate_settings import Gate
from raggate.gate.compare import compare
from raggate.gate.overview import Overview
from raggate.gate.untold_headings import untold_headings, warnings
from raggate.gate.verdict import decide
from raggate.models.comparison import UntoldHeadings
from raggate.models.run import Run
from raggate.scoring.score import score
from tables import each_row

WHOLE = make_case("whole", gold_supports=(make_support("a.md", None),))
HEADED = make_case("headed", gold_supports=(make_support("b.md", "# B"),))
EITHER = make_case("either", gold_supports=(make_support("b.md", "# B"), make_support("a.md", None)))


def run_of(heading: str, *cases: object) -> Run:
    """Measure questions, for each of which a chunk of each note comes back, under one heading."""
    chunks = [make_chunk(name, rel_path=f"{name}.md", heading_path=heading) for name in "ab"]
    return make_run(*(make_labelled(case, make_result(case.id, *chunks)) for case in cases))


def told(run: Run) -> list[str]:
    """Return what a first run says of it."""
    return [reason.message for reason in warnings(compare(run, score(run, (5,)), None, flip_at=5, min_slice=5))]


@each_row(
    ("heading", "cases", "expected"),
    [
        (" ", (WHOLE, HEADED, EITHER), [UntoldHeadings(mode="hybrid", questions=1, of=3)]),
        ("# B", (WHOLE, HEADED), []),
        ("", (WHOLE, EITHER), []),
    ],
)
def test_questions_that_cannot_match(heading: str, cases: tuple[object, ...], expected: list[UntoldHeadings]) -> None:
    """They are those whose labels all name a heading, in a mode in which no chunk has one."""
    assert [*untold_headings(Overview.of(run_of(heading, *cases)))] == expected


def test_a_run_that_is_green_otherwise_says_so() -> None:
    """It is a warning of the verdict; where nothing at all matches, the reason of that says it already."""
    (message,) = told(run_of("", WHOLE, HEADED))
    assert message.startswith("the API returns no heading_path, so 1 of 2 questions can never match")
    assert told(run_of("", HEADED)) == []
    run = run_of("", WHOLE, HEADED)
    verdict = decide(compare(run, score(run, (5,)), None, flip_at=5, min_slice=5), (), Gate())
    assert "untold-headings" in [warning.code for warning in verdict.warnings]


def test_a_run_without_chunks_tells_nothing() -> None:
    """Where nothing comes back, nobody knows whether headings would."""
    assert [*untold_headings(Overview.of(make_run(make_labelled(HEADED, make_result("headed")))))] == []
