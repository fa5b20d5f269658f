"""How far the answers of a run come, and what is said to stop them: every way to tell places otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_result, make_run, make_support
from raggate.gate.reach import reaches
from raggate.models.golden import Case, Support
from raggate.models.reach import Reach
from raggate.models.run import Chunk, LabelledResult
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
    """Label an answer."""
    return make_labelled(case, make_result(case.id, *chunks), **labels)


def reach(*items: LabelledResult) -> Reach:
    """Return the reach of a run of one mode."""
    return reaches(make_run(*items), ["hybrid"])[0]


@each_row(
    ("fields", "counts", "why"),
    [
        pytest.param({}, (4, 4, 4), "", id="all is right"),
        pytest.param(
            {"heading_path": ""}, (4, 0, 0), "the API returns no heading_path: let it return", id="no headings"
        ),
        pytest.param(
            {"heading_path": "## Unit tests"},
            (4, 0, 0),
            "the API writes headings differently: golden set '# N0 {#n} > ## Unit tests', API '## Unit tests'",
            id="the last heading alone",
        ),
        pytest.param(
            {"heading_path": "N{} / Unit tests"},
            (4, 0, 0),
            "the API sets headings apart by ' / ', where they are not split: see `heading_separator`: golden set '# N",
            id="a separator that is not known",
        ),
        pytest.param(
            {"heading_path": "# N{} > Unit tests > Mocks"}, (4, 0, 0), "apart by ' > ', where", id="and the usual one"
        ),
        pytest.param({"heading_path": "unit-tests"}, (4, 0, 0), "headings differently: golden set", id="slugs"),
        pytest.param(
            {"heading_path": "/N{}/Unit tests/"}, (4, 0, 0), "headings differently: golden set", id="another delimiter"
        ),
        pytest.param(
            {"heading_path": "# Other", "text": "b"}, (4, 0, 0), "other sections of these", id="other sections"
        ),
        pytest.param(
            {"heading_path": "# Other"},
            (4, 0, 0),
            "headings differently: golden set",
            id="the section's text elsewhere",
        ),
        pytest.param({"text": ""}, (4, 4, 0), "the API returns no text", id="no text"),
        pytest.param({"text": "another piece"}, (4, 4, 0), "does not contain the snippets", id="other text"),
        pytest.param({"rel_path": ""}, (0, 0, 0), "the API returns no path of a note", id="no paths"),
        pytest.param(
            {"rel_path": "/data/dir/n{}.md"},
            (0, 0, 0),
            "the API writes paths differently: golden set 'dir/n0.md', API '/data/dir/n0.md'",
            id="paths from elsewhere",
        ),
        pytest.param({"rel_path": "n{}"}, (0, 0, 0), "paths differently: golden set 'dir/n0.md', API 'n0'", id="names"),
        pytest.param(
            {"vault": "personal"},
            (0, 0, 0),
            "the API returns another vault: golden set 'work', API 'personal'",
            id="another vault",
        ),
        pytest.param({"rel_path": "x{}.md"}, (0, 0, 0), "other notes come back", id="other notes"),
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


def test_failed_calls_and_empty_lists() -> None:
    """Calls that failed, and lists that hold nothing, are told as that."""
    failed = [make_labelled(case, make_result(case.id, failure=make_failure())) for case in CASES]
    assert reach(*failed).why == "the calls failed: no answer within 60 s"
    assert reach(*(item(case) for case in CASES)).why == "nothing comes back at all"


def test_what_one_of_several_lacks_is_not_told_of_all() -> None:
    """Where some answers do hold the note, it is said that most of the others are empty or failed."""
    right = item(CASES[0], chunk(0))
    assert reach(right, *(item(case) for case in CASES[1:])).why == "nothing comes back for most of the others"
    failed = [make_labelled(case, make_result(case.id, failure=make_failure())) for case in CASES[1:]]
    assert reach(right, *failed).why == "most of the other calls failed: no answer within 60 s"
    assert reach(*(item(case) for case in CASES[:3]), item(CASES[3], chunk(0))).why.endswith("for most of the others")


@each_row("support", [make_support("dir/n0.md"), make_support("", None, chunk_id="17")])
def test_half_failed_and_half_empty(support: Support) -> None:
    """Where half of the calls failed and the other half is empty, nothing is said of paths and ids: none came."""
    case = make_case(gold_supports=(support,))
    failed = make_labelled(case, make_result(case.id, failure=make_failure()))
    assert reach(failed, item(case)).why == (
        "nothing comes back for half of the others, and the calls of the other half failed"
    )


@each_row(
    ("paths", "why"), [(["/data/dir/n{}.md"] * 3, "paths differently"), (["n{}.md", "x.md", "y.md"], "other notes")]
)
def test_a_path_that_is_like_the_note_s_by_chance(paths: list[str], why: str) -> None:
    """Paths are said to be written differently where most answers that lack the note have one like its own."""
    others = [item(case, chunk(number, rel_path=paths[number])) for number, case in enumerate(CASES[:3])]
    assert why in reach(*others, item(CASES[3], chunk(3))).why


def test_the_path_of_another_note_is_not_the_note_s_written_differently() -> None:
    """A path that the golden set itself has is that of a note of its own, whatever it ends in."""
    cases = [
        make_case(f"q{path}", gold_supports=(make_support(path, None),)) for path in ("README.md", "docs/README.md")
    ]
    assert reach(*(item(case, chunk(0, rel_path="docs/README.md")) for case in [cases[0]] * 2)).why.startswith(
        "the API writes paths differently"
    )
    assert reach(*(item(case, chunk(0, rel_path="docs/README.md")) for case in [cases[0], *cases])).why == (
        "other notes come back"
    )


@each_row(
    ("told", "why"),
    [
        ("# Log > ## Tuesday > ### Actions", "other sections of these notes come back"),
        ("## Tuesday > ### Actions", "other sections of these notes come back"),
        ("# Log > ## mon-day > ### actions!", "the API writes headings differently"),
        ("Log.md > # Log > ## Monday: > ### Actions", "the API writes headings differently"),
        ("actions-", "the API writes headings differently"),
    ],
)
def test_the_same_heading_below_another_one(told: str, why: str) -> None:
    """A section of the same name below another heading is another section, and no other spelling of the same one."""
    case = make_case(gold_supports=(make_support("log.md", "# Log > ## Monday > ### Actions"),))
    assert why in reach(item(case, chunk(0, rel_path="log.md", heading_path=told))).why


def test_what_was_never_asked_is_lost_at_no_step() -> None:
    """Of a run that broke off only the questions count that were asked, so that nothing is said of others."""
    left = [make_labelled(case, make_result(case.id, failure=make_failure("aborted"))) for case in CASES[2:]]
    failed = [make_labelled(case, make_result(case.id, failure=make_failure())) for case in CASES[:2]]
    assert (reach(*failed, *left).questions, reach(*failed, *left).why[:16]) == (2, "the calls failed")
    assert reaches(make_run(*left), ["hybrid"]) == ()


def test_ids() -> None:
    """Where the golden set names chunks by ids, an id of each side is shown."""
    case = make_case(gold_supports=(make_support("", None, chunk_id="17"),))
    assert reach(item(case, chunk(0))).why == "the API returns other ids: golden set '17', API 'c0'"


def test_questions_without_an_answer_do_not_count() -> None:
    """What no note answers cannot come back, and a mode with nothing else has no reach."""
    nothing = make_case("none", answerable=False)
    assert reaches(make_run(item(nothing, chunk(0))), ["hybrid"]) == ()
    assert reach(item(nothing, chunk(0)), item(CASES[1], chunk(1))).questions == 1


@each_row(
    ("counts", "words"),
    [
        ((22, 22, 22), "the right note came back for 22 of 22 questions"),
        ((19, 0, 0), "the right note came back for 19 of 22 questions, its section for 0"),
        ((19, 5, 0), "the right note came back for 19 of 22 questions, its section for 5, its passage for 0"),
        ((19, 19, 3), "the right note came back for 19 of 22 questions, its passage for 3"),
    ],
)
def test_sentence(counts: tuple[int, int, int], words: str) -> None:
    """The steps at which something is lost are named, and then what stops most."""
    notes, sections, matches = counts
    own = Reach(mode="hybrid", questions=22, notes=notes, sections=sections, matches=matches)
    assert own.sentence == words


def test_a_note_of_the_same_name_elsewhere_is_no_other_spelling() -> None:
    """One answer with a path that ends alike does not say that the API writes paths otherwise: most have to."""
    alike = [chunk(number, rel_path=f"copy/dir/n{number}.md" if number == 0 else "other.md") for number in range(4)]
    assert reach(*(item(case, alike[number]) for number, case in enumerate(CASES))).why == "other notes come back"
