"""The chunks that both sides list for a question: whether their scores moved, by how much, and who overtook whom. Pure.

A chunk is known again by its id, as long as ids are the same ones on both sides. Where they are numbered anew, the
chunks of a note are taken in the order in which they are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from raggate.gate.causes.score_weights import PARTS
from raggate.models.cause import same_score
from raggate.models.scorecard import CaseScore, ListEntry, by_question

FEWEST_SHARED = 20
"""Chunks on both sides' lists from which on it can be said whether they are scored as before."""

RESCORED = 0.01
"""Share of these that may score otherwise while the scores as a whole count as they were."""

Pair = tuple[int, int, ListEntry, ListEntry]
"""The ranks of a chunk in the baseline's list and in this one, and its places there."""


class Renumbered:
    """The notes that the chunks of both sides are of, by their ids."""

    def __init__(self) -> None:
        self._notes: tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]] = ({}, {})
        # most chunks are of one note, and have that in common with the others of it
        self._alone: dict[str, frozenset[str]] = {}

    def add(self, side: int, entries: Iterable[ListEntry]) -> None:
        """Take places of lists of the baseline, side 0, or of the run, side 1."""
        known = self._notes[side]
        for entry in entries:
            if not entry.chunk or not entry.note:
                continue
            notes = known.get(entry.chunk)
            if notes is None:
                known[entry.chunk] = self._alone.setdefault(entry.note, frozenset((entry.note,)))
            elif entry.note not in notes:
                known[entry.chunk] = notes | {entry.note}

    @property
    def anew(self) -> bool:
        """Whether a chunk that the baseline has stands for one of another note now."""
        old, new = self._notes
        return any(not old[chunk] & new[chunk] for chunk in old.keys() & new.keys())


def shared(before: Sequence[ListEntry], now: Sequence[ListEntry], *, by_note: bool = False) -> list[Pair]:
    """The chunks on both lists of a question, in the order of the second; by their notes where ids are others."""
    known = {name: (rank, entry) for rank, name, entry in _named(before, by_note=by_note)}
    pairs = ((known[name], rank, entry) for rank, name, entry in _named(now, by_note=by_note) if name in known)
    return [(was, rank, old, entry) for (was, old), rank, entry in pairs]


def _named(entries: Sequence[ListEntry], *, by_note: bool) -> Iterator[tuple[int, object, ListEntry]]:
    """Name the places of a list, by rank: by their chunk, or by the how manieth of its note each is."""
    times = Counter[str]()
    for rank, entry in enumerate(entries, 1):
        times[entry.note] += 1
        if by_note and entry.note:
            yield rank, (entry.note, times[entry.note]), entry
        elif not by_note and entry.chunk:
            yield rank, entry.chunk, entry


def same_questions(before: Sequence[CaseScore], now: Iterable[CaseScore]) -> Iterator[tuple[CaseScore, CaseScore]]:
    """Yield the questions of one mode that are the same on both sides, each with its past."""
    known = by_question(before)
    for case in now:
        old = known.get((case.mode, case.case_id))
        if old is not None and old.hash == case.hash:
            yield old, case


class SharedScores:
    """How chunks on both lists of a question are scored and ranked, over questions that pass by.

    Attributes:
        shift: by how much the final score of any of them moved at most; None where none has one on both sides.
        overtaking: how many of a question rose above one that stood above them, at most.
    """

    def __init__(self, *, by_note: bool = False) -> None:
        self.shift: float | None = None
        self.overtaking = 0
        self._by_note = by_note
        self._counts, self._moved = Counter[str](), Counter[str]()

    def add(self, pairs: Sequence[Pair]) -> None:
        """Take the shared chunks of a question."""
        if any(was != now for was, now, _, _ in pairs):
            risen = (sum(was > rank and now < place for was, now, _, _ in pairs) for rank, place, _, _ in pairs)
            self.overtaking = max(self.overtaking, *risen)
        for _, _, old, new in pairs:
            for score in ("final", *PARTS):
                before, after = getattr(old, score), getattr(new, score)
                if before is not None and after is not None:
                    self._counts[score] += 1
                    self._moved[score] += not same_score(before, after)
            if old.final is not None and new.final is not None:
                self.shift = max(abs(old.final - new.final), self.shift or 0.0)

    @property
    def rescored(self) -> Mapping[str, bool]:
        """By score whether chunks have other ones; nothing where too few stand on both lists.

        By notes alone scores are known to be as before, but not to be others: another chunk of the note may be there.
        """
        shown = {
            score: self._moved[score] > RESCORED * count
            for score, count in self._counts.items()
            if count >= FEWEST_SHARED
        }
        return {score: others for score, others in shown.items() if not (others and self._by_note)}
