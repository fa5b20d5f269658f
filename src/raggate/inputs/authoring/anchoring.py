"""A text and a vault -> where it stands: the heading that encloses it, in each place that has it. Nothing is guessed.

Letters count, and digits, in their order: not case, markup, marks between words, or where lines end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from raggate.inputs import headings
from raggate.inputs.authoring.passages import heading_starts
from raggate.inputs.note_words import bare, words
from raggate.models.golden import Support, Vault
from raggate.text.headings import Elements, written

MOST_PLACES = 20
"""Places of one text that are looked at: it is nobody's own long before."""


class Stand(NamedTuple):
    """A place that a text stands in: a note, and the headings that enclose all of it; none for the whole note."""

    vault: str
    rel_path: str
    path: Elements


class _Note(NamedTuple):
    """A note as its words in a row, between blanks; at which letter each begins, and the headings it is under."""

    running: str
    begins: list[int]
    paths: list[Elements]


class TextIndex:
    """The words of a vault, to find texts in."""

    def __init__(self, vault: Vault) -> None:
        """Index every note."""
        self._vault = vault
        self._notes = {note: _read(text, note[1]) for note, text in vault.texts.items()}
        self._holding: dict[str, set[tuple[str, str]]] = {}
        for key, note in self._notes.items():
            for word in set(note.running.split()):
                self._holding.setdefault(word, set()).add(key)

    def stands(self, text: str) -> tuple[Stand, ...]:
        """Return the places that a text stands in, each once, in the order of the vault; none for one without words."""
        places: dict[Stand, None] = {}
        for variant in dict.fromkeys((tuple(words(text)), tuple(words(bare(text))))):
            for key in self._candidates(variant):
                for path in _places(self._notes[key], " ".join(variant)):
                    places[Stand(*key, path)] = None
                    if len(places) == MOST_PLACES:
                        return tuple(places)
        return tuple(places)

    def _candidates(self, wanted: tuple[str, ...]) -> list[tuple[str, str]]:
        """Return the notes with every word of a text, in the order of the vault."""
        if not wanted:
            return []
        sets = sorted((self._holding.get(word, set()) for word in set(wanted)), key=len)
        common = set.intersection(*sets)
        return [key for key in self._notes if key in common]

    def within(self, stand: Stand, text: str) -> list[Stand]:
        """Return the places of a text at or below another; that one where they are too many to tell."""
        stands = self.stands(text)
        if len(stands) == MOST_PLACES:
            return [stand]
        return [other for other in stands if other[:2] == stand[:2] and other.path[: len(stand.path)] == stand.path]

    def is_twice(self, stand: Stand) -> bool:
        """Return whether the note has the heading path of a place more than once, so that naming it names both."""
        starts = heading_starts(self.text(stand), stand.rel_path)
        return list(starts.values()).count(stand.path) > 1

    def support(self, stand: Stand) -> Support:
        """Make the gold support that names a place."""
        several = sum((name, stand.rel_path) in self._vault.texts for name in self._vault.directories) > 1
        heading = written(stand.path) or None
        return Support(rel_path=stand.rel_path, heading_path=heading, vault=stand.vault if several else None)

    def text(self, stand: Stand) -> str:
        """Return the text of the note."""
        return self._vault.texts[stand.vault, stand.rel_path]


def _read(text: str, rel_path: str) -> _Note:
    starts = heading_starts(text, rel_path)
    path: Elements = ()
    every: list[str] = []
    paths: list[Elements] = []
    for number, line in enumerate(headings.lines_of(text)):
        path = starts.get(number, path)
        own = words(bare(line))
        every += own
        paths += [path] * len(own)
    # a blank before each word and one at the end
    begins = [1, *(1 + end for end in accumulate(len(word) + 1 for word in every))]
    return _Note(f" {' '.join(every)} ", begins[:-1], paths)


def _places(note: _Note, wanted: str) -> Iterator[Elements]:
    """Yield for each place of some words in a row the headings that enclose it."""
    place = note.running.find(f" {wanted} ")
    while place >= 0:
        first = bisect_right(note.begins, place + 1) - 1
        last = bisect_right(note.begins, place + len(wanted)) - 1
        yield _common(note.paths[first : last + 1])
        place = note.running.find(f" {wanted} ", place + 1)


def _common(paths: list[Elements]) -> Elements:
    shortest, longest = min(paths), max(paths)
    size = next(
        (depth for depth, title in enumerate(shortest) if longest[depth : depth + 1] != (title,)), len(shortest)
    )
    return shortest[:size]
