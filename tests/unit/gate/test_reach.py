"""How far answers come, what stops them, and modes and slices in which nothing matches."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_chunk,
    make_comparison,
    make_config,
    make_failure,
    make_labelled,
    make_result,
    make_run,
    make_scorecard,
    make_support,
)
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Gate
from raggate.gate.compare import compare
from raggate.gate.reach import (
    modes_without_match,
    reaches,
    reasons,
    refuse_matchless,
    warnings,
)
from raggate.models.comparison import Comparison, Reach
from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from raggate.scoring.score import score
from tables import each_row

CASES = [
    make_case(
        f"q{number}",
        gold_supports=(
            make_support(f"dir/n{number}.md", f"# N{number} {{#n}} > ## Unit tests", snippets=(f"fact {number}",)),
        ),
        vaults=("work",),
    )
    for number in range(4)
]
GOOD: dict[str, Any] = {"rel_path": "dir/n{}.md", "heading_path": "# N{} > ## Unit tests", "text": "a fact {}"}


def chunk(number: int, **fields: Any) -> Chunk:
    """Build a chunk of a note, right in all but what the fields say; `{}` in a text is the note's number."""
    values = {**GOOD, **fields}
    return make_chunk(
        f"c{number}",
        **{name: value.format(number) if isinstance(value, str) else value for name, value in values.items()},
    )


def item(case: Case, *chunks: Chunk, **labels: Any) -> LabelledResult:
    return make_labelled(case, make_result(case.id, *chunks), **labels)


def reach(*items: LabelledResult) -> Reach:
    return reaches(make_run(*items), ["hybrid"])[0]


@each_row(
    ("fields", "counts", "why"),
    [
        ({}, (4, 4, 4), ""),
        ({"heading_path": ""}, (4, 0, 0), "the API returns no heading_path: let it return"),
        (
            {"heading_path": "## Unit tests"},
            (4, 0, 0),
            "the API writes headings differently: golden set '# N0 {#n} > ## Unit tests', API '## Unit tests'",
        ),
        ({"heading_path": "# Other", "text": "b"}, (4, 0, 0), "other sections of these"),
        ({"heading_path": "# Other"}, (4, 0, 0), "headings differently: golden set"),
        ({"text": "another piece"}, (4, 4, 0), "does not contain the snippets"),
        ({"rel_path": ""}, (0, 0, 0), "the API returns no path of a note"),
        ({"vault": "personal"}, (0, 0, 0), "the API returns another vault: golden set 'work', API 'personal'"),
    ],
)
def test_what_stops_all_answers(fields: dict[str, Any], counts: tuple[int, int, int], why: str) -> None:
    """Where no answer matches, it is said at which step they are lost, and by what, with an example of both sides."""
    own = reach(*(item(case, chunk(number, **fields)) for number, case in enumerate(CASES)))
    assert (own.questions, own.notes, own.sections, own.matches) == (4, *counts)
    assert why in own.why
    assert bool(why) == bool(own.why)


@each_row(("right", "said"), [(0, True), (1, True), (2, True), (3, False), (4, False)])
def test_what_few_have_in_common_is_not_said(right: int, *, said: bool) -> None:
    """What stops answers is said where half of those that come so far are lost at one step, or more."""
    texts = ["a fact {}" if number < right else "another piece" for number in range(len(CASES))]
    own = reach(*(item(case, chunk(number, text=texts[number])) for number, case in enumerate(CASES)))
    assert (own.sections, own.matches) == (4, right)
    assert ("does not contain the snippets" in own.why) is said


def test_the_path_of_another_note_is_not_the_note_s_written_differently() -> None:
    """A path that the golden set itself has is that of a note of its own, whatever it ends in."""
    cases = [
        make_case(f"q{path}", gold_supports=(make_support(path, None),)) for path in ("README.md", "docs/README.md")
    ]
    own = chunk(0, rel_path="docs/README.md")
    assert reach(*[item(cases[0], own)] * 2).why.startswith("the API writes paths differently")
    assert reach(*(item(case, own) for case in [cases[0], *cases])).why == "other notes come back"


@each_row(
    ("told", "why"),
    [
        ("# Log > ## Tuesday > ### Actions", "other sections of these notes come back"),
        ("# Log > ## mon-day > ### actions!", "the API writes headings differently"),
        ("Log.md > # Log > ## Monday: > ### Actions", "the API writes headings differently"),
        ("actions-", "the API writes headings differently"),
    ],
)
def test_the_same_heading_below_another_one(told: str, why: str) -> None:
    """A section of the same name below another heading is another section, and no other spelling of the same one."""
    case = make_case(gold_supports=(make_support("log.md", "# Log > ## Monday > ### Actions"),))
    assert why in reach(item(case, chunk(0, rel_path="log.md", heading_path=told))).why


@each_row(
    ("told", "why"),
    [
        ("", "let it return the headings above each passage, find them by the text (`heading_path: {from: text}`), or"),
        ("# Log > ## Monday", "some of the headings alone: golden set '# Log > ## Monday > ### Actions', API '# Log"),
        ("### Actions", "API '### Actions'; `heading_path: {from: text}` finds the others"),
        ("# Log > ## mon-day > ### actions!", "the API writes headings differently"),
    ],
)
def test_headings_that_the_text_would_find(told: str, why: str) -> None:
    """Where fields are mapped, the way to find missing headings by the text is named."""
    mapping: dict[str, Any] = {"chunks": {"list": "hits", "rel_path": "path", "text": "text"}}
    config = make_config(ask={"adapter": "mapped", "path": "/s?q={question}", "response": mapping})
    case = make_case(gold_supports=(make_support("log.md", "# Log > ## Monday > ### Actions"),))
    answer = item(case, chunk(0, rel_path="log.md", heading_path=told, text="### Actions\n\nbuy flour"))
    run = replace(make_run(answer), config=config)
    (mapped,) = reaches(run, ["hybrid"])
    assert why in mapped.why
    assert mapped.by_text == ("differently" not in why)
    assert not reach(answer).by_text


def scores(hits: str, mode: str = "hybrid", name: str = "tag=a") -> list[CaseScore]:
    """Build questions of a slice: `1` matches, `0` does not, `-` has no gold support."""
    return [
        make_case_score(
            f"{name}{place}",
            {"hit_at_5": None if hit == "-" else float(hit)},
            mode=mode,
            rank=1 if hit == "1" else None,
            slices=(OVERALL, name),
        )
        for place, hit in enumerate(hits)
    ]


def card(*groups: list[CaseScore]) -> Scorecard:
    return make_scorecard(*(case for group in groups for case in group))


@each_row(
    ("scorecard", "modes"),
    [
        (card(scores("000")), ("hybrid",)),
        (card(scores("001")), ()),
        (card(scores("11"), scores("00", "vector")), ("vector",)),
    ],
)
def test_modes(scorecard: Scorecard, modes: tuple[str, ...]) -> None:
    """A mode has no match if questions of it have gold supports and none was met, at any rank."""
    assert modes_without_match(scorecard) == modes


SLICES = card(scores("1111"), scores("000", name="tag=b"), scores("00", name="tag=c"), scores("--", name="tag=d"))


@each_row(
    ("scorecard", "allowed", "message"),
    [
        (card(scores("00")), (), "found nothing for mode 'hybrid': no question has a match"),
        (SLICES, (), "found nothing for slice 'tag=b' (hybrid): no question has a match"),
        (
            card(scores("000"), scores("111", "vector"), scores("000", "vector", "tag=b")),
            ("hybrid",),
            "found nothing for slice 'tag=b' (vector)",
        ),
        (card(scores("11")), ("hybird",), "--allow-no-match hybird: run run-1 has no such"),
    ],
)
def test_what_is_refused(scorecard: Scorecard, allowed: tuple[str, ...], message: str) -> None:
    """A run that found nothing for a mode, or of a slice of so many questions, is refused, and says what it is."""
    with pytest.raises(UsageError) as refused:
        refuse_matchless(scorecard, 3, allowed)
    assert message in refused.value.message


@each_row(
    ("scorecard", "allowed", "accepted"),
    [
        (card(scores("011")), (), []),
        (card(scores("00")), ("hybrid",), ["no question has a match in mode 'hybrid'"]),
        (SLICES, ("tag=b",), ["no question has a match in slice 'tag=b' (hybrid)"]),
        (SLICES, ("hybrid",), ["no question has a match in slice 'tag=b' (hybrid)"]),
    ],
)
def test_what_is_accepted_is_recorded(scorecard: Scorecard, allowed: tuple[str, ...], accepted: list[str]) -> None:
    """What is allowed by name and has no match is told beside the promotion."""
    assert [reason.message for reason in refuse_matchless(scorecard, 3, allowed)] == accepted


@each_row(
    ("failed", "empty", "why"),
    [
        (4, 0, "4 calls failed: no answer within 60 s"),
        (0, 4, "nothing came back for 4 questions"),
        (2, 1, "2 calls failed: no answer within 60 s; nothing came back for 1 question"),
        (1, 0, ""),
    ],
)
def test_failed_calls_and_empty_lists(failed: int, empty: int, why: str) -> None:
    """Calls that failed and lists that hold nothing are counted where they are most of what lacks the note."""
    items = [make_labelled(case, make_result(case.id, failure=make_failure())) for case in CASES[:failed]]
    items += [item(case) for case in CASES[failed : failed + empty]]
    items += [item(case, chunk(number)) for number, case in enumerate(CASES) if number >= failed + empty]
    assert reach(*items).why == why


def test_a_mode_without_a_match_is_a_reason() -> None:
    """The reason says how far its answers come, and names the mode if there are several."""
    own = Reach("vector", 3, 2, 0, 0, why="the API tells no heading_path")
    both = card(scores("1"), scores("0", "vector"))
    comparison = make_comparison(scorecard=both, reach=(own,), baseline=make_baseline())
    assert [reason.message for reason in reasons(comparison)] == [
        "no question has a match in mode vector; the right note came back for 2 of 3 questions, its section for 0; "
        "the API tells no heading_path"
    ]


def test_a_slice_without_a_match_is_a_warning() -> None:
    """Of modes without a baseline, each slice that promoting would refuse is named before anybody promotes."""
    both = card(scores("1"), scores("000", name="tag=b"), scores("1", "vector"), scores("000", "vector", "tag=b"))
    held = make_baseline(card(scores("1")))
    named = [reason.message for reason in warnings(make_comparison(scorecard=both, baseline=held), Gate(min_cases=3))]
    assert named == [
        "no question has a match in slice 'tag=b' (vector); to promote this run, name it with --allow-no-match"
    ]
    assert not [*warnings(make_comparison(scorecard=both, baseline=held), Gate(min_cases=4))]


def told(heading: str, *cases: Case) -> Comparison:
    """Compare a first run of questions, for each of which a chunk of each note comes back, under one heading."""
    chunks = [make_chunk(name, rel_path=f"{name}.md", heading_path=heading) for name in "ab"]
    run = make_run(*(make_labelled(case, make_result(case.id, *chunks)) for case in cases))
    return compare(run, score(run, (5,)), None, min_slice=5)


WHOLE = make_case("whole", gold_supports=(make_support("a.md", None),))
HEADED = make_case("headed", gold_supports=(make_support("b.md", "# B"),))


def test_questions_that_cannot_match() -> None:
    """Without any heading, questions that only headings label are counted; if nothing matches, its reason says it."""
    assert told("# B", WHOLE, HEADED).untold_headings == ()
    comparison = told(" ", WHOLE, HEADED)
    assert comparison.untold_headings == (("hybrid", 1, 2),)
    (warning,) = warnings(comparison, Gate())
    assert warning.message.startswith("the API returns no heading_path, so 1 of 2 questions can never match")
    assert not [*warnings(told("", HEADED), Gate())]
