"""Chunks that both sides list: how they are known again, and what they show of scores and order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from builders import make_case_score
from raggate.gate.causes.shared_chunks import (
    FEWEST_SHARED,
    Pair,
    Renumbered,
    SharedScores,
    same_questions,
    shared,
)
from raggate.models.scorecard import ListEntry
from tables import each_row


def entries(*names: str, scores: dict[str, float] | None = None) -> list[ListEntry]:
    """Build a list: each chunk by its note and its id in it, one letter each."""
    return [ListEntry(note=name[:1].strip(), chunk=name[1:], final=(scores or {}).get(name, 0.5)) for name in names]


def scores_of(questions: Sequence[Sequence[Pair]], *, by_note: bool = False) -> SharedScores:
    """Gather what the shared chunks of some questions show."""
    scores = SharedScores(by_note=by_note)
    for pairs in questions:
        scores.add(pairs)
    return scores


@each_row(
    ("before", "now", "anew"),
    [
        pytest.param(("m1", "n2"), ("n2", "m1"), False, id="the-same-ids"),
        pytest.param(("m1", "n2"), ("n1", "m2"), True, id="of-other-notes"),
        pytest.param(("m1", "n2"), ("m1", "n2", "o3"), False, id="a-chunk-more"),
        pytest.param(("m1", "n2"), ("m7", "n8"), False, id="none-of-the-same"),
        pytest.param(("m1", "n1", "n2"), ("n1", "o1", "n2"), False, id="ids-that-count-within-a-note"),
        pytest.param((" 1", "n2"), ("m1", "n2"), False, id="notes-that-are-not-told"),
        pytest.param(("m", "n"), ("n", "m"), False, id="no-ids"),
        pytest.param((), ("m1",), False, id="no-lists"),
    ],
)
def test_ids_that_are_given_anew(before: tuple[str, ...], now: tuple[str, ...], *, anew: bool) -> None:
    """Ids are others where one of the baseline's stands for chunks of none of the notes that it stood for."""
    numbered = Renumbered()
    for side, chunks in enumerate((before, now)):
        numbered.add(side, entries(*chunks))
    assert numbered.anew is anew


def test_what_is_on_both_lists() -> None:
    """A chunk is known by its id, or as the first, second and so on of its note where ids are others."""
    before, now = entries("m1", "n2", "m3", "o"), entries("n2", "m3", "p4", "m5", "o")
    assert [pair[:2] for pair in shared(before, now)] == [(2, 1), (3, 2)]
    assert [pair[:2] for pair in shared(before, now, by_note=True)] == [(2, 1), (1, 2), (3, 4), (4, 5)]


def test_questions_that_are_the_same() -> None:
    """A question that is another one, or is not on both sides, shares nothing."""
    listed = tuple(entries("m1"))
    before = [make_case_score("q1", entries=listed), make_case_score("q2", entries=listed, hash="old")]
    now = [make_case_score(name, entries=listed) for name in ("q1", "q2", "q3")]
    assert [len(shared(old.entries, case.entries)) for old, case in same_questions(before, now)] == [1]


@each_row(
    ("before", "now", "most"),
    [
        ("abcd", "abcd", 0),
        ("abcd", "xacd", 0),
        ("abcd", "bacd", 1),
        ("abcd", "bcda", 3),
        ("abcd", "dcba", 3),
        ("abcd", "xyz", 0),
    ],
)
def test_overtaking(before: str, now: str, most: int) -> None:
    """Counted are shared chunks that rose above one that stood above them: new ones, and those gone, do not count."""
    lists = [shared(*(entries(*(f"m{letter}" for letter in side)) for side in sides)) for sides in ((before, now),)]
    assert scores_of(lists).overtaking == most
    assert scores_of([]).overtaking == 0


def test_the_largest_shift() -> None:
    """It is the largest difference of a final score, up or down, of the chunks that have one on both sides."""
    before, now = entries("m1", "n2", scores={"m1": 0.9}), entries("n2", "m1", "o3", scores={"m1": 0.2, "o3": 9.0})
    assert scores_of([shared(before, now)]).shift == pytest.approx(0.7)
    assert scores_of([shared(before, [ListEntry(note="m", chunk="1")])]).shift is None


def test_other_scores_of_the_chunks_of_a_note() -> None:
    """Known by their notes alone, chunks have the scores they had; that they have others cannot be told."""
    same = [shared(entries("m1"), entries("m1"), by_note=True)] * FEWEST_SHARED
    other = [shared(entries("m1"), entries("m1", scores={"m1": 0.7}), by_note=True)] * FEWEST_SHARED
    assert scores_of(same, by_note=True).rescored == {"final": False}
    assert scores_of(other, by_note=True).rescored == {}
    assert scores_of(other).rescored == {"final": True}
