"""How far lists are from the baseline's, whatever is expected of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_finding, make_scorecard
from probed import OFF
from raggate.gate.invariants.list_drift import findings, without_known_depths
from raggate.models.comparison import Finding
from raggate.models.scorecard import ListEntry, Scorecard
from tables import each_row

WARN = OFF.model_copy(update={"lists_alike": "warn"})


def entries(letters: str, notes: str = "", scores: Sequence[float] = ()) -> tuple[ListEntry, ...]:
    """Build a list: a letter for each chunk, another for its note, and falling scores unless others are given."""
    return tuple(
        ListEntry(note=(notes or letters)[rank], chunk=letter, final=scores[rank] if scores else 1 / (rank + 1))
        for rank, letter in enumerate(letters)
    )


def listed(*lists: tuple[ListEntry, ...], **fields: Any) -> Scorecard:
    return make_scorecard(*(make_case_score(f"q{n}", entries=own, **fields) for n, own in enumerate(lists, 1)))


def drift(before: Scorecard, now: Scorecard) -> tuple[Finding, ...]:
    return findings(now, make_baseline(before), WARN)


def test_the_same_lists_are_not_told() -> None:
    """Nothing is told of equal lists, nor without a baseline, lists in it, or the level."""
    same = listed(entries("ab"), entries("cd"))
    assert drift(same, same) == ()
    other = listed(entries("xy"), entries("cd"))
    assert findings(other, None, WARN) == ()
    assert findings(other, make_baseline(same), OFF) == ()
    assert drift(listed((), ()), other) == ()


def test_lists_that_differ_are_told_the_worst_first() -> None:
    """The mean is told with the overlaps, by hand: swapped 0.9, half 0.55, nothing 0; their mean is 0.48."""
    before = listed(entries("ab"), entries("cd"), entries("ef"))
    (finding,) = drift(before, listed(entries("ba"), entries("cx"), entries("yz")))
    assert (finding.level, finding.count) == ("warn", 2)
    assert finding.message == "2 result lists changed a lot, or became shorter or empty."
    assert finding.examples == (
        "rank-biased overlap 0.48 on average of 3 lists",
        "q3 (hybrid): overlap 0.00",
        "q2 (hybrid): overlap 0.55",
    )


def test_lists_that_are_cut_are_told_as_shorter() -> None:
    """Lists that are the first half of those before are no other ranking, but half as long, and are told by that."""
    long, short = entries("abcdefghij"), entries("abcde")
    (finding,) = drift(listed(long, long, entries("xy")), listed(short, long[:3], entries("xy")))
    assert finding.count == 2
    assert finding.examples == (
        "lists have 3.3 distinct passages on average, the baseline keeps 7.3",
        "q2 (hybrid): 3 distinct passages came back, the baseline keeps 10",
        "q1 (hybrid): 5 distinct passages came back, the baseline keeps 10",
    )


def test_a_list_that_is_a_little_shorter_is_not_told() -> None:
    """Where lists as a whole have four fifths of their length, single short ones are no drift, nor are longer ones."""
    long = entries("abcdefghij")
    assert drift(listed(*[long] * 5), listed(*[long] * 4, long[:1])) == ()
    assert drift(listed(entries("abcde")), listed(long)) == ()


def test_lists_are_looked_at_equally_far_down() -> None:
    """Where fewer places are scored than before, the others are not missed."""
    long = entries("abcdefghij")
    before = replace(listed(long), fingerprint={"cutoffs": [5, 10]})
    assert drift(before, replace(listed(long[:5]), fingerprint={"cutoffs": [5]})) == ()
    assert drift(before, replace(listed(long[:5]), fingerprint={"cutoffs": [10]})) != ()


def test_a_list_that_is_empty_now_is_told_by_itself() -> None:
    """Though the lists as a whole are alike, one that came back empty and had chunks is named."""
    same = [entries("ab")] * 9
    (finding,) = drift(listed(*same, entries("cd")), listed(*same, ()))
    assert finding.examples == ("q10 (hybrid): nothing came back, the baseline's run had passages",)
    assert drift(listed(*same, ()), listed(*same, entries("cd"))) == ()


@each_row(
    "fields",
    [{"hash": "other"}, {"mode": "bm25"}, {"failure": "timeout"}],
    ids=["another-question", "another-mode", "a-failed-call"],
)
def test_what_cannot_be_compared_is_left_out(fields: dict[str, Any]) -> None:
    """A question that is another one, was not asked in that mode, or got no answer, is no list that differs."""
    assert drift(listed(entries("ab")), listed(entries("xy"), **fields)) == ()


def test_ties_are_no_difference() -> None:
    """Chunks of one score may stand in either order."""
    assert drift(listed(entries("ab", scores=(1, 1))), listed(entries("ba", scores=(1, 1)))) == ()


def test_other_ids_of_the_same_notes() -> None:
    """If most chunks of a question have new ids, its notes are compared, whatever ids the other questions have."""
    before, now = entries("abc", notes="mnm"), entries("xyz", notes="mnn")
    assert drift(listed(before), listed(now)) == ()
    assert drift(listed(before, entries("q")), listed(now, entries("q"))) == ()


@each_row(
    ("before", "now", "known"),
    [
        pytest.param(["ab", "cd"], ["ef", "g"], True, id="as long"),
        pytest.param(["ab", "cd"], ["efg", "h"], True, id="longer"),
        pytest.param(["abc", "d"], ["ef", "gh"], False, id="shorter"),
        pytest.param(["", ""], ["ab", "c"], False, id="the baseline keeps no lists"),
        pytest.param(None, ["ab", "c"], False, id="no baseline"),
    ],
)
def test_lists_that_end_where_they_did(before: list[str] | None, now: list[str], *, known: bool) -> None:
    """Whoever promoted lists of a depth was told; shorter ones, a first run, and the level `error` are told."""
    stored = None if before is None else make_baseline(listed(*map(entries, before)))
    scores = listed(*map(entries, now))
    cut, other = make_finding("list_deep_enough", "warn"), make_finding("lists_ordered", "warn")
    assert without_known_depths((cut, other), scores, stored) == ((other,) if known else (cut, other))
    other_mode = None if before is None else make_baseline(listed(*map(entries, before), mode="bm25"))
    assert without_known_depths((cut,), scores, other_mode) == (cut,)
    must_hold = make_finding("list_deep_enough", "error")
    assert without_known_depths((must_hold,), scores, stored) == (must_hold,)


def content_hashed(ids: str, headings: str, notes: str = "") -> tuple[ListEntry, ...]:
    places = zip(entries(ids, notes or "m" * len(ids)), headings, strict=True)
    return tuple(replace(entry, heading=heading.strip()) for entry, heading in places)


@each_row(
    ("now", "told"),
    [
        pytest.param(content_hashed("vwxyz", "ABCDE"), False, id="all ids are new, the places are not"),
        pytest.param(content_hashed("awxyz", "ABCDE"), False, id="one of five survived"),
        pytest.param(content_hashed("abxyz", "ABCDE"), False, id="two of five survived"),
        pytest.param(content_hashed("abcyz", "ABCDE"), True, id="most survived, so the ids count"),
        pytest.param(content_hashed("vwxyz", "PQRST"), True, id="other sections of the same note"),
        pytest.param(content_hashed("vwxyz", "ABCDE", "nnnnn"), True, id="the same headings in another note"),
        pytest.param(content_hashed("vwxyz", "     "), False, id="headings are not told any more: notes count"),
    ],
)
def test_other_ids_of_the_same_places(now: tuple[ListEntry, ...], *, told: bool) -> None:
    """A chunker change that gives most chunks of a question new ids moves no list whose notes and headings stay."""
    before = content_hashed("abcde", "ABCDE")
    assert bool(drift(listed(before, before), listed(now, now))) is told


def test_ids_that_survive_in_some_questions_help_no_other() -> None:
    """Of 35 questions with new ids at the same places one kept its ids, and another lost its list: one is told."""
    same, anew, other = (content_hashed(ids, "ABCDE") for ids in ("abcde", "vwxyz", "fghij"))
    before, now = [same] * 35, [*[anew] * 33, same, content_hashed("klmno", "PQRST")]
    assert drift(listed(*before), listed(*now)) == ()
    (finding,) = drift(listed(*before[:9], other), listed(*now[:1], *now[-1:] * 9))
    assert finding.count == 9
    assert finding.examples[0] == "rank-biased overlap 0.10 on average of 10 lists"


def test_ids_that_are_numbered_anew() -> None:
    """If ids of the baseline stand for chunks of other notes, notes are compared, which is said if they differ."""
    before, now = entries("abcd", notes="mnop"), entries("dcba", notes="mnop")
    assert drift(listed(before), listed(now)) == ()
    (finding,) = drift(listed(before), listed(entries("dcxy", notes="mxyz")))
    assert finding.examples[0] == "rank-biased overlap 0.35 on average of 1 list"


def test_ids_that_are_not_told_are_no_places() -> None:
    """An API that tells neither chunks nor notes by name has empty lists of names, which are alike."""
    nameless = tuple(replace(entry, chunk="", note="") for entry in entries("ab"))
    assert drift(listed(nameless), listed(nameless)) == ()


def test_lists_without_ids_are_compared_by_place() -> None:
    """An API that tells no chunk ids has lists of notes and headings, and nothing is said of other ids."""
    lists = [
        tuple(replace(entry, chunk="") for entry in content_hashed("abc", headings)) for headings in ("ABC", "XYZ")
    ]
    assert drift(listed(lists[0]), listed(lists[0])) == ()
    (finding,) = drift(listed(lists[0]), listed(lists[1]))
    assert finding.examples[0] == "rank-biased overlap 0.00 on average of 1 list"
