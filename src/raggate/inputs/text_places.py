"""Finds the section of a note that holds a passage's text, and returns its headings. Pure.

White space, marks and markup between the words do not matter. A text that is cut within a word is found too. A text
that several sections hold has no place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from raggate.base.headings import written
from raggate.inputs.headings import Heading, lines_of, outline
from raggate.inputs.notes import (
    JUDGED_CHARACTERS,
    JUDGED_CHUNKS,
    MAX_NOTE_CHARACTERS,
    REMEMBERED_CHUNKS,
    SHORT,
    bare,
    letters_of,
    put_together,
    words,
)
from raggate.models.golden import Vault
from raggate.models.run import Chunk, Result

MOST_PLACES = 20
"""Places of a text in a note that are looked at. One that stands there more often has none."""

Finder = Callable[[str | None, str, str, str], str | None]
"""Takes vault, path, headings as returned, and text; returns the headings of the note if the returned ones are some of
them, or None."""


class RunningText(NamedTuple):
    """The words of a note in one string, each between blanks, and where each heading begins in it."""

    running: str
    headings: Sequence[int]

    @classmethod
    def of(cls, lines: Iterable[str], headings: Iterable[int]) -> RunningText:
        """Index lines; `headings` are the numbers of those that are headings."""
        by_line = [" ".join(words(line)) for line in lines]
        # a line without words takes no room
        begins = [*accumulate((len(line) + 1 if line else 0 for line in by_line), initial=1)]
        return cls(f" {' '.join(filter(None, by_line))} ", [begins[line] for line in headings])

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return where a text stands: of a few words whole, of many also if the first or last one is cut."""
        given = words(text)
        whole = len(given) < SHORT
        wanted = f" {' '.join(given)} " if whole else " ".join(given)
        found: list[tuple[int, int]] = []
        place = self.running.find(wanted) if given else -1
        while place >= 0 and len(found) <= MOST_PLACES:
            found.append((place + whole, place + len(wanted) - whole))
            place = self.running.find(wanted, place + 1)
        return found

    def sections(self, begin: int, end: int) -> range:
        """Return which sections a place lies in, from 1; 0 is what stands above the first heading."""
        return range(bisect_right(self.headings, begin), bisect_left(self.headings, end) + 1)


class NotePlaces:
    """One note, to look texts up in. One that is too long holds nothing."""

    def __init__(self, text: str) -> None:
        self._lines = lines_of(text if len(text) <= MAX_NOTE_CHARACTERS else "")
        self._outline = outline(text if len(text) <= MAX_NOTE_CHARACTERS else "")

    def headings(self, text: str) -> set[Heading] | None:
        """Return the headings of the sections that hold a text; None for more than `MOST_PLACES` places.

        A text that spans several sections is of the one that holds most of it. Above the first heading there is none.
        """
        start = text[:JUDGED_CHARACTERS]
        source = self._source
        places = source.places(start)
        if not places:
            source = self._bare
            places = source.places(bare(start))
        if len(places) > MOST_PLACES:
            return None
        return {self._section(source, begin, end) for begin, end in places}

    def _section(self, source: RunningText, begin: int, end: int) -> Heading:
        sections = source.sections(begin, end)
        ends = [*source.headings[sections[0] : sections[-1]], end]
        sizes = [upper - lower for lower, upper in pairwise([begin, *ends])]
        largest = sections[sizes.index(max(sizes))]
        return self._outline[largest - 1] if largest else _NOWHERE

    @cached_property
    def _source(self) -> RunningText:
        return RunningText.of(self._lines, (heading.line for heading in self._outline))

    @cached_property
    def _bare(self) -> RunningText:
        return RunningText.of(map(bare, self._lines), (heading.line for heading in self._outline))


_NOWHERE = Heading(0, 0, (), ())


def finder(vault: Vault) -> Finder:
    """Return what finds headings in the notes of a vault. Each note is indexed once, when the first text is of it."""
    note_at = cache(lambda key: NotePlaces(vault.texts[key]))

    # the same chunks come back for many questions
    @lru_cache(maxsize=REMEMBERED_CHUNKS)
    def find(name: str | None, rel_path: str, told: str, text: str) -> str | None:
        own, paths = letters_of(told), dict[tuple[str, ...], str]()
        for key in vault.notes_at(rel_path, (name,) if name else ()):
            headings = note_at(key).headings(text)
            if headings is None:
                return None
            # a place under other headings than the returned ones is another one
            fitting = (it for it in headings if put_together(own, tuple(map(letters_of, it.path))))
            paths |= {it.path: written(it.path, it.levels) for it in fitting}
        if len(paths) != 1:
            return None
        ((path, headings_there),) = paths.items()
        return headings_there if own != "".join(map(letters_of, path)) else None

    return find


def with_headings(result: Result, find: Finder) -> Result:
    """Return a result in which chunks with no headings or too few have those of the section that their text is in."""
    response = result.response
    if response is None:
        return result
    found: dict[int, Chunk] = {}
    for position, chunk in enumerate(response.chunks[:JUDGED_CHUNKS]):
        headings = find(chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text)
        if headings is not None:
            found[position] = replace(chunk, heading_path=headings)
    if not found:
        return result
    chunks = tuple(found.get(position, chunk) for position, chunk in enumerate(response.chunks))
    return replace(result, response=replace(response, chunks=chunks, found_headings=tuple(found)))
