"""Heading paths that hold a section's headings otherwise: by rows, and for any text."""

from __future__ import annotations

from hypothesis import given, strategies as st

from builders import make_case, make_chunk, make_labelled, make_result, make_run, make_support
from raggate.config.gate_settings import Gate
from raggate.gate.compare import compare
from raggate.gate.headings import ends_alike, unsplit, untold_headings, warnings, written_otherwise
from raggate.gate.overview import Overview
from raggate.gate.verdict import decide
from raggate.models.comparison import UntoldHeadings
from raggate.models.run import Run
from raggate.scoring.score import score
from tables import each_row
from tries import tried

GOLD = "# Log > ## Monday > ### Actions"


@each_row(
    ("told", "ends", "whole"),
    [
        (GOLD, True, True),
        ("Log / Monday / Actions", False, True),
        ("# Notes > ## Log > ### Monday > #### Actions", True, True),
        ("# log > ## mon-day: > ### actions!", True, True),
        ("# Log { #log } > ## Monday {#monday} > ### Actions {: .wide }", True, True),
        ("### Actions", True, False),
        ("## Tuesday > ### Actions", False, False),
        ("# Log > ## Tuesday > ### Actions", False, False),
        ("# Catalog > ## Monday > ### Actions", False, False),
        ("# Log > ## Monday", False, False),
        ("", False, False),
        ("# 🎉", False, False),
    ],
)
def test_what_is_alike(told: str, *, ends: bool, whole: bool) -> None:
    """Headings count as those of the section one by one; only a path without delimiters is compared as a whole."""
    assert (ends_alike(GOLD, told), written_otherwise(GOLD, told)) == (ends, whole)


@tried(50)
@given(st.text(alphabet="#> aé🎉\n", max_size=30))
def test_headings_without_letters_are_like_none(told: str) -> None:
    """What has no letters to compare is not said to be the same."""
    assert not ends_alike("# 🚀", told)
    assert not written_otherwise("# 🚀", told)


PATHS = [("Guide {#g}", "Set up"), ("Guide {#g}", "Set up", "Linux")]
KNOWN = "the API sets headings apart by {!r}, where they are not split: see `heading_separator`"


@each_row(
    ("headings", "separator"),
    [
        (["Guide / Set up"], " / "),
        (["Guide / Set up / Linux", "Guide / Set up"], " / "),
        (["Guide | Set up | Elsewhere"], " | "),
        (["# Guide > Set up"], " > "),
        (["Guide > Set up", "# Guide > ## Set up"], ""),
        (["Guide / Set up", "Guide - Set up"], ""),
        (["Guide and then, at length, Set up"], ""),
        (["Guide Set up", "Set up", "", "Guide"], ""),
    ],
)
def test_what_sets_headings_apart(headings: list[str], separator: str) -> None:
    """It is named where all that are put together from headings have one separator, which no split was made at."""
    expected = KNOWN.format(separator) if separator else ""
    assert unsplit((heading, PATHS) for heading in headings) == expected


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
