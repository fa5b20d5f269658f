"""What all lists of both sides show: thresholds, floors, scores that changed, documents that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace

from builders import (
    make_case,
    make_case_score,
    make_chunk,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_run,
    make_scorecard,
    make_support,
)
from raggate.gate.causes.cause_evidence import (
    FEWEST,
    FEWEST_SHARED,
    cause_evidence,
    fitted_weights,
    list_evidence,
    renumbered,
    shared,
    threshold,
)
from raggate.gate.causes.causes import find_cause
from raggate.gate.causes.passages import Asked
from raggate.models.comparison import ListEvidence, NoteChange
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring.score import short_hash
from tables import each_row


def asked(number: int, *scores: float | None, abstained: bool = False, **fields: Any) -> CaseScore:
    entries = tuple(ListEntry("0000000a", f"{rank:08x}", score) for rank, score in enumerate(scores, 1))
    values = {"false_abstention_rate": float(abstained)}
    return make_case_score(f"q{number}", values, entries=entries, **fields)


def answers(abstained: list[float], answered: list[float]) -> list[CaseScore]:
    cases = [asked(number, score, score / 2, abstained=True) for number, score in enumerate(abstained)]
    return cases + [asked(100 + number, score, score / 2) for number, score in enumerate(answered)]


TWENTY = [0.3 + number / 100 for number in range(20)]


@each_row(
    ("abstained", "answered", "limits"),
    [
        pytest.param([0.1, 0.2, 0.15], TWENTY, (0.2, 0.3), id="between"),
        pytest.param([], TWENTY, (None, 0.3), id="nothing-refused"),
        pytest.param(TWENTY, [], (0.49, None), id="all-refused"),
        pytest.param([0.1, 0.2, 0.31], TWENTY, None, id="not-by-the-score"),
        pytest.param([0.1, 0.2, 0.3], TWENTY, None, id="one-score-on-both-sides"),
        pytest.param([0.1, 0.2], TWENTY, None, id="two-may-be-accident"),
        pytest.param([0.1, 0.2, 0.25], TWENTY[:16], None, id="too-few-answers"),
    ],
)
def test_threshold(abstained: list[float], answered: list[float], limits: tuple[float, float] | None) -> None:
    """A threshold is seen where every answer is on its side of one, by its best score, and enough answers say so."""
    assert threshold(answers(abstained, answered)) == limits


def test_failed_calls_and_empty_lists_have_no_say() -> None:
    """A call that failed counts as abstained, but did not abstain; a list without scores has no best one."""
    cases = answers([0.1, 0.2, 0.15], TWENTY)
    others = [asked(300, 0.9, abstained=True, failure="timeout"), asked(301, abstained=True), asked(302, None)]
    assert threshold([*cases, *others]) == (0.2, 0.3)


@each_row("folders", [None, 3, [], {"hybrid": 4}, {"hybrid": {"several": "x"}}, {"other": {"several": 3}}])
def test_a_strange_fingerprint_says_nothing(folders: object) -> None:
    """A baseline that somebody edited, or another system wrote, gives no counts of folders."""
    sides = [make_scorecard(make_case_score(), fingerprint={"folders": folders}) for _ in range(2)]
    assert cause_evidence(make_run(make_labelled()), sides[1], sides[0], ()).folders == {"hybrid": ({}, {})}


def test_what_came_back_and_what_changed_is_gathered() -> None:
    """The paths of all that came back, the notes of the vaults and how they differ are at hand."""
    card = make_scorecard(make_case_score())
    run = make_run(make_labelled(), fingerprint={"notes": {"work/a.md": "1"}})
    evidence = cause_evidence(run, card, card, (NoteChange("added", "work/a.md"),))
    assert evidence.retrieved == {"a.md": {"# A"}}
    assert (evidence.notes, evidence.changes) == ({"work/a.md"}, {"work/a.md": "added"})


def listed(*paths: str, number: int = 1) -> CaseScore:
    """Build a case of the baseline whose list holds the passages of these notes, in the order of its supports."""
    entries = tuple(ListEntry(short_hash(path), f"{n:08x}", supports=(n,)) for n, path in enumerate(paths))
    return make_case_score(f"q{number}", entries=entries, rank=1)


def test_notes_that_are_gone_from_all_answers() -> None:
    """A passage's note that the baseline listed is gone where no answer, not even one asked again, holds any of it."""
    supports = tuple(make_support(path) for path in ("a.md", "b.md", "c.md", "d.md"))
    case = make_case(gold_supports=supports, vaults=("work",))
    item = make_labelled(case, make_result("q1", make_chunk("x", rel_path="b.md", heading_path="# Z")))
    again = make_labelled(case, make_result("q1", make_chunk("y", rel_path="c.md")))
    before = make_scorecard(replace(listed("a.md", "b.md", "c.md"), hash=case.hash))
    evidence = cause_evidence(make_run(item, repeats=(again,)), make_scorecard(make_case_score()), before, ())
    assert evidence.gone == {"a.md": {"work"}}


def test_a_note_that_is_named_with_its_vault_and_without_is_one() -> None:
    """Whether the golden set names the vault of a note or leaves it out, both name one note that is gone."""
    cases = [make_case("q1", gold_supports=(make_support("a.md", vault="work"),)), make_case("q2", vaults=("work",))]
    cases += [make_case("q3"), make_case("q4", gold_supports=(make_support("b.md"),))]
    items = [make_labelled(case, make_result(case.id, make_chunk("x", rel_path="c.md"))) for case in cases]
    lists = [replace(listed("a.md", number=number), hash=case.hash) for number, case in enumerate(cases, 1)]
    before = make_scorecard(*lists, fingerprint={"vault": "v", "documents": 9})
    now = make_scorecard(make_case_score(), fingerprint={"vault": "v", "documents": 7})
    evidence = cause_evidence(make_run(*items), now, before, ())
    assert evidence.gone == {"a.md": {"work"}, "b.md": set()}
    asked = Asked(item=items[2], metric="hit_at_5", before=1, after=None, old=lists[2], evidence=evidence)
    assert find_cause(asked).code == "note-not-indexed"


@each_row(
    ("before", "result"),
    [
        pytest.param(listed("a.md"), {"failure": make_failure()}, id="a-failed-call"),
        pytest.param(replace(listed("a.md"), hash="other"), {}, id="another-question"),
        pytest.param(make_case_score("q1", rank=1), {}, id="no-lists-were-kept"),
    ],
)
def test_notes_that_are_not_known_to_be_gone(before: CaseScore, result: dict[str, Any]) -> None:
    """A question that failed, is another one, or has no list in the baseline, tells of no note that is gone."""
    run = make_run(make_labelled(make_case(hash=listed("a.md").hash), make_result("q1", **result)))
    assert cause_evidence(run, make_scorecard(make_case_score()), make_scorecard(before), ()).gone == {}


@each_row(
    ("inside", "outside", "untold", "hint"),
    [(2, 0, 0, False), (9, 1, 0, False), (8, 2, 0, True), (1, 1, 20, True)],
)
def test_folders_that_several_answers_go_beyond(inside: int, outside: int, untold: int, *, hint: bool) -> None:
    """By mode, folders are no limit once more than one of ten answers that name any has a chunk from outside."""
    paths = [*["mail/b.md"] * inside, *["docs/b.md"] * (outside + untold)]
    items = []
    for number, path in enumerate(paths):
        folders = ("work/mail",) if number < inside + outside else None
        response = make_response(make_chunk(rel_path=path, vault="work"), selected_folders=folders)
        items.append(make_labelled(make_case(f"q{number}"), make_result(f"q{number}", response=response)))
    of_another_mode = make_response(make_chunk(rel_path="mail/b.md", vault="work"), selected_folders=("work/mail",))
    items.append(make_labelled(make_case("q0"), make_result("q0", response=of_another_mode, mode="bm25")))
    card = make_scorecard(make_case_score())
    found = cause_evidence(make_run(*items), card, card, ()).beyond
    assert found == {"bm25": set(), "hybrid": {"selected"} if hint else set()}


def test_a_selection_of_which_no_chunk_tells() -> None:
    """Where nothing comes back in a mode, nothing shows that selection limits what does."""
    empty = make_labelled(make_case(), make_result("q1", response=make_response(selected_folders=("work/mail",))))
    card = make_scorecard(make_case_score())
    evidence = cause_evidence(make_run(empty), card, make_scorecard(asked(1, 0.5)), ())
    assert evidence.beyond == {"hybrid": {"selected"}}
    assert evidence.lists["hybrid"].filled == (1, 0)


def test_the_lowest_score_is_of_all_that_came_back() -> None:
    """What is returned at all goes down to the last chunk of an answer, also below the places that are kept."""
    before = [asked(number, 0.1) for number in range(6)]
    long = make_labelled(
        make_case(), make_result("q1", *(make_chunk(str(n), score_final=1 - n / 10) for n in range(9)))
    )
    card = make_scorecard(make_case_score("q1", entries=(ListEntry("0000000a", "0000000b", 1.0),)))
    evidence = cause_evidence(make_run(long), card, make_scorecard(*before), ())
    assert evidence.lists["hybrid"].floors == (0.1, pytest.approx(0.2))


def entries(*names: str, scores: dict[str, float] | None = None) -> list[ListEntry]:
    """Build a list: each chunk by its note and its id in it, one letter each."""
    return [ListEntry(note=name[:1].strip(), chunk=name[1:], final=(scores or {}).get(name, 0.5)) for name in names]


def held(before: Sequence[ListEntry], now: Sequence[ListEntry], *, times: int = 1) -> ListEvidence:
    """Compare a list with another one, to as many questions; every other one has both the other way round."""
    old, new = (
        [make_case_score(f"q{n}", entries=tuple(side[:: 1 - 2 * (n % 2)])) for n in range(times)]
        for side in (before, now)
    )
    return list_evidence(old, new, None)


@each_row(
    ("before", "now", "anew"),
    [
        pytest.param(("m1", "n2"), ("n2", "m1"), False, id="the-same-ids"),
        pytest.param(("m1", "n2"), ("n1", "m2"), True, id="of-other-notes"),
        pytest.param(("m1", "n2"), ("m7", "n8"), False, id="none-of-the-same"),
        pytest.param(("m1", "n1", "n2"), ("n1", "o1", "n2"), False, id="ids-that-count-within-a-note"),
        pytest.param((" 1", "n2"), ("m1", "n2"), False, id="notes-that-are-not-told"),
        pytest.param(("m", "n"), ("n", "m"), False, id="no-ids"),
        pytest.param((), ("m1",), False, id="no-lists"),
    ],
)
def test_ids_that_are_given_anew(before: tuple[str, ...], now: tuple[str, ...], *, anew: bool) -> None:
    """Ids are others where one of the baseline's stands for chunks of none of the notes that it stood for."""
    assert renumbered(entries(*before), entries(*now)) is anew


def test_what_is_on_both_lists() -> None:
    """A chunk is known by its id, or as the first, second and so on of its note where ids are others."""
    before, now = entries("m1", "n2", "m3", "o"), entries("n2", "m3", "p4", "m5", "o")
    assert [pair[:2] for pair in shared(before, now)] == [(2, 1), (3, 2)]
    assert [pair[:2] for pair in shared(before, now, by_note=True)] == [(2, 1), (1, 2), (3, 4), (4, 5)]


def each(*scores: float | None, times: int = 20, **fields: Any) -> list[CaseScore]:
    """Build so many questions with lists of these scores."""
    return [asked(number, *scores, **fields) for number in range(times)]


def two_ways(*lists: tuple[float, ...]) -> list[CaseScore]:
    """Build thirty questions with one of two lists of scores."""
    return [asked(number, *lists[number % 2]) for number in range(30)]


def letters(text: str) -> list[CaseScore]:
    """Build a question whose list has a chunk for each letter."""
    return [make_case_score("q0", entries=tuple(entries(*(f"m{letter}" for letter in text))))]


NAMELESS = [make_case_score(f"q{number}", entries=(ListEntry("0000000a", "", 0.5),)) for number in range(30)]
LOW = [asked(1, 0.9, 0.4, 0.3), asked(2, 0.5, 0.2, 0.1)]
FALLING = [asked(1, 0.9, 0.1)]
OTHERS = [asked(number, 0.9 - number / 100, 0.1) for number in range(30)]
LARGE, LARGER = ([asked(number, size + number, size / 2) for number in range(30)] for size in (1000.0, 1000.001))
SMALL, MOVED = ([asked(number, size + number, size / 2) for number in range(30)] for size in (1.0, 1.001))
SILENT = {"scored": False, "rescored": {}, "filled": (30, 30)}
WAS = [asked(1, 0.9, 0.8, 0.7, 0.6), asked(2, 0.9, 0.8), asked(3, 0.9, hash="other"), asked(4, failure="timeout")]
IS = [asked(1, 0.9), asked(2, 0.9, 0.8), asked(3, 0.9, 0.8), asked(4, 0.9), asked(5, 0.9)]


@each_row(
    ("before", "now", "least", "shown"),
    [
        pytest.param([*LOW, asked(3, 0.4)], [], 0.45, {"floors": (0.1, 0.45)}, id="five chunks scored less"),
        pytest.param([*LOW, asked(3, 0.5)], [], 0.4, {"floors": (None, None)}, id="four may be accident"),
        pytest.param([*LOW, asked(3, 0.5)], [], None, {"floors": (None, None)}, id="no scores now"),
        pytest.param([asked(1, None), asked(2)], [], 0.5, {"floors": (None, None)}, id="no scores before"),
        pytest.param([*FALLING, asked(2, 0.9, 0.5, 0.5, 0.2)], [], None, {"unordered": False}, id="scores fall"),
        pytest.param([*FALLING, asked(2, 0.9, None, 0.5)], [], None, {"unordered": False}, id="one is not told"),
        pytest.param([*FALLING, asked(2, 0.5, 0.500005)], [], None, {"unordered": False}, id="alike in 32 bits"),
        pytest.param([*FALLING, asked(2)], [], None, {"unordered": False}, id="an empty list"),
        pytest.param([*FALLING, asked(2, 0.2, 0.5)], [], None, {"unordered": True}, id="scores rose"),
        pytest.param([], [*FALLING, asked(2, 0.2, 0.5)], None, {"unordered": True}, id="scores rise"),
        pytest.param(each(0.5), each(0.5), None, {"rescored": {"final": False}}, id="scores as before"),
        pytest.param(each(0.5), each(0.6), None, {"rescored": {"final": True}}, id="all moved"),
        pytest.param(each(0.5), [*each(0.6)[:1], *each(0.5)[1:]], None, {"rescored": {"final": True}}, id="one did"),
        pytest.param(each(0.5, times=19), each(0.6, times=19), None, {"rescored": {}}, id="too few chunks"),
        pytest.param(NAMELESS, NAMELESS, None, {"rescored": {}}, id="chunks without ids"),
        pytest.param(each(0.5, hash="old"), each(0.6, hash="new"), None, {"rescored": {}}, id="other questions"),
        pytest.param(LARGE, LARGER, None, {"rescored": {"final": False}}, id="what 32 bits lose of a large score"),
        pytest.param(SMALL, MOVED, None, {"rescored": {"final": True}}, id="as much of a small one"),
        pytest.param(two_ways(*[(1 / 61, 1 / 62)] * 2), OTHERS, None, SILENT, id="by the rank alone"),
        pytest.param(OTHERS, two_ways(*[(1 / 61, 1 / 62)] * 2), None, SILENT, id="by the rank alone now"),
        pytest.param(two_ways((0.0, 0.0), (0.0, 0.0)), OTHERS, None, SILENT, id="always zero"),
        pytest.param(two_ways((2e-4, 1e-5), (3e-4, 2e-4)), OTHERS, None, SILENT, id="smaller than what is kept"),
        pytest.param(two_ways((0.9, 0.2), (0.8, 0.3)), OTHERS, None, {"scored": True}, id="by the text"),
        pytest.param(each(0.9, 0.2, times=4), [], None, {"scored": True}, id="four equal lists may be accident"),
        pytest.param(each(0.9, 0.2, times=5), [], None, {"scored": False}, id="five equal lists"),
        # of questions that are the same on both sides and were answered
        pytest.param(WAS, IS, None, {"lengths": (3.0, 1.5)}, id="how long lists are"),
        pytest.param([], IS, None, {"lengths": (0.0, 0.0)}, id="none before"),
        pytest.param(letters("abcd"), letters("xacd"), None, {"overtaking": 0}, id="a new chunk overtakes none"),
        pytest.param(letters("abcd"), letters("bacd"), None, {"overtaking": 1}, id="two were swapped"),
        pytest.param(letters("abcd"), letters("bcda"), None, {"overtaking": 3}, id="the first fell to the end"),
        pytest.param(letters("abcd"), letters("dcba"), None, {"overtaking": 3}, id="all were turned round"),
        pytest.param(letters("abcd"), letters("xyz"), None, {"overtaking": 0}, id="none is on both lists"),
    ],
)
def test_what_lists_show(before: list[CaseScore], now: list[CaseScore], least: float | None, shown: Any) -> None:
    """What the lists of both sides prove as a whole is known, and nothing else."""
    evidence = list_evidence(before, now, least)
    assert {name: getattr(evidence, name) for name in shown} == shown


def test_the_largest_shift() -> None:
    """It is the largest difference of a final score, up or down, of the chunks that have one on both sides."""
    before, now = entries("m1", "n2", scores={"m1": 0.9}), entries("n2", "m1", "o3", scores={"m1": 0.2, "o3": 9.0})
    assert held(before, now).shift == pytest.approx(0.7)
    assert held(before, [ListEntry(note="m", chunk="1")]).shift is None


def test_other_scores_of_the_chunks_of_a_note() -> None:
    """Known by their notes alone, chunks have the scores they had; that they have others cannot be told."""
    stood, moved = {"m1": 0.9}, {"m1": 0.7}
    before = entries("m1", "n2", scores=stood)
    assert held(before, entries("m1", "o2", scores=stood), times=FEWEST_SHARED).rescored == {"final": False}
    assert held(before, entries("m1", "o2", scores=moved), times=FEWEST_SHARED).rescored == {}
    assert held(before, entries("m1", "n2", scores=moved), times=FEWEST_SHARED).rescored == {"final": True}


# neither part can be had from the other
PAIRS = [(0.9, 0.1), (0.8, 0.5), (0.7, 0.2), (0.6, 0.9), (0.5, 0.4), (0.4, 0.8), (0.3, 0.0), (0.2, 0.7)] * 2


def entry(final: float | None, vector: float | None, lexical: float | None) -> ListEntry:
    return ListEntry(note="00000000", chunk="00000000", final=final, vector=vector, lexical=lexical)


def weighed(vector: float, lexical: float, pairs: Any = PAIRS) -> list[ListEntry]:
    return [entry(vector * one + lexical * other, one, other) for one, other in pairs]


@each_row(("vector", "lexical"), [(0.7, 0.3), (1.0, 0.0), (0.4, 0.6), (0.0, 1.0), (2.0, -0.5)])
def test_weights_are_those_of_the_sum(vector: float, lexical: float) -> None:
    """Where the final score is a sum of weighed parts, the weights are found, also one of 0."""
    assert fitted_weights(weighed(vector, lexical)) == pytest.approx({"vector": vector, "lexical": lexical})


def test_weights_of_very_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more lists than are looked at, some are taken evenly: what the last tenth disagrees in is found."""
    monkeypatch.setattr("raggate.gate.causes.cause_evidence.MOST_LISTS", 10)
    agreeing = [tuple(weighed(0.7, 0.3, PAIRS[first : first + 10])) for first in range(10)]
    lists = [make_case_score(f"q{number}", entries=agreeing[number % 10]) for number in range(90)]
    more = [make_case_score(f"q{number}", entries=(entry(0.9, 0.1, 0.1),) * 10) for number in range(90, 100)]
    assert list_evidence(lists, lists, None).weights[0] == pytest.approx({"vector": 0.7, "lexical": 0.3})
    assert list_evidence([*lists, *more], lists, None).weights[0] is None


@each_row("dropped", [None, 0.0])
def test_a_part_that_no_chunk_has_has_no_weight(dropped: float | None) -> None:
    """A part that is never told, or always 0, is left out: nothing says what it would weigh."""
    entries = [entry(vector, vector, dropped) for vector, _ in PAIRS]
    assert fitted_weights(entries) == pytest.approx({"vector": 1.0})


def test_rounded_scores_still_agree() -> None:
    """Scores that an API rounds to four decimals give the weights as it has them."""
    rounded = [
        entry(round(0.7 * vector + 0.3 * lexical, 4), round(vector, 4), round(lexical, 4)) for vector, lexical in PAIRS
    ]
    assert fitted_weights(rounded) == pytest.approx({"vector": 0.7, "lexical": 0.3}, abs=1e-3)


@each_row(
    "entries",
    [
        pytest.param(weighed(0.7, 0.3, PAIRS[: FEWEST - 1]), id="too-few"),
        pytest.param([entry(vector, vector, 2 * vector) for vector, _ in PAIRS], id="parts-go-together"),
        pytest.param([entry(vector**2, vector, lexical) for vector, lexical in PAIRS], id="no-sum"),
        pytest.param([entry(1 / (60 + rank), 1 - rank / 40, rank % 7 / 7) for rank in range(1, 30)], id="of-ranks"),
        pytest.param([*weighed(0.7, 0.3), entry(0.9, 0.1, 0.1)], id="one-chunk-disagrees"),
        pytest.param([*weighed(0.7, 0.3), *[entry(0.5, 0.5, None)] * 20], id="a-part-most-chunks-lack"),
        pytest.param([*weighed(0.7, 0.3), entry(float("nan"), 0.1, 0.1)], id="no-number"),
    ],
)
def test_nothing_is_said_where_chunks_do_not_agree(entries: list[ListEntry]) -> None:
    """No weights are given where they are not exact, cannot be told apart, or too few chunks say so."""
    assert fitted_weights(entries) is None


SCORE = st.floats(0, 1)


@given(st.lists(st.tuples(SCORE, SCORE), min_size=FEWEST, max_size=40), SCORE, SCORE)
def test_what_is_said_holds_for_every_chunk(pairs: list[tuple[float, float]], vector: float, lexical: float) -> None:
    """Whatever the scores are, weights that are given make each final score of its parts."""
    entries = weighed(vector, lexical, pairs)
    weights = fitted_weights(entries)
    assume(weights is not None)
    largest = max(abs(item.final or 0.0) for item in entries)
    for item in entries:
        total = sum(weight * getattr(item, part) for part, weight in (weights or {}).items())
        assert total == pytest.approx(item.final, abs=2e-3 * largest)
