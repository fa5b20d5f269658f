"""Which sections of a note a heading path names. Pure.

A path names the sections whose headings are closest to its own: those that are written so, else those that are but for
their ids, else but for capitals too, else those that read the same. These may be several: then nothing is guessed.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import combinations

from raggate.inputs.headings import Section, sections
from raggate.text.headings import (
    Same,
    closest,
    covers,
    covers_as_written,
    elements,
    is_end_of,
    last_headings,
    readings,
    same_letters,
    written,
)

MOST_ALIKE = 100
"""Headings of a note that are compared with each other where they read the same."""


class SectionNames:
    """The sections of one note, to look heading paths up in. Parsed at the first look."""

    def __init__(self, text: str, rel_path: str) -> None:
        """Take a note as it is written, and its path in its vault."""
        self._text = text
        self._rel_path = rel_path
        self.named = cache(self._named)
        self.inside = cache(self._inside)
        self.is_inside = cache(self._is_inside)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections: by their headings as they are shown and as they are written, and by the file's name."""
        return tuple(sorted(sections(self._text, self._rel_path, source=True)))

    @cached_property
    def _by_reading(self) -> dict[str, list[Section]]:
        """Sections by each way in which their own heading reads: most of a note need not be looked at."""
        index: dict[str, list[Section]] = {}
        for section in self.sections:
            for reading in _readings(written(section.path)):
                index.setdefault(reading, []).append(section)
        return index

    def _named(self, path: str) -> tuple[Section, ...]:
        """Return the sections that a path names, without those below them."""
        return tuple(closest(lambda same: self._equal(path, same)))

    def _inside(self, path: str) -> tuple[Section, ...]:
        """The sections that a path names, which hold those below them, or else those below it by their letters."""
        below = (section for section in self.sections if covers_as_written(path, _as(path, section)))
        return self.named(path) or tuple(below)

    def _is_inside(self, gold: str, heading: str) -> bool:
        """Return whether all sections that a path names are those of `gold` or lie in them; so where it names none.

        What a path has below the headings of the note, and the note has not, makes it no clearer.
        """
        wanted = self.inside(gold)
        # a note may have one heading very often
        others = set(self.named(heading) or self._named_above(heading)).difference(wanted)
        return all(any(outer.begin <= inner.begin and inner.end <= outer.end for outer in wanted) for inner in others)

    def may_be_cited(self, gold: str, cited: str) -> bool:
        """Return whether what a text cites can be the section at `gold`, or one in it, by the headings closest to it.

        Texts cite the last headings of a path alone, so several sections may be meant, and one of them is enough.
        """
        wanted = self.inside(gold)
        meant = closest(lambda same: self._ending(cited, same)) or self._named_above(cited)
        return not meant or any(
            outer.begin <= inner.begin and inner.end <= outer.end for outer in wanted for inner in meant
        )

    def _ending(self, path: str, same: Same) -> tuple[Section, ...]:
        """Return the sections whose headings end as a path does."""
        candidates = {section for reading in _readings(path) for section in self._by_reading.get(reading, ())}
        return tuple(section for section in candidates if is_end_of(written(section.path), path, same))

    def _named_above(self, path: str) -> tuple[Section, ...]:
        """Return the sections that the first headings of a path name, of the longest part of it that names any."""
        headings = elements(path)
        starts = (headings[:size] for size in range(min(len(headings), self._depth), 0, -1))
        marked = path.lstrip().startswith("#")
        named = (self.named(written(start) if marked else " > ".join(start)) for start in starts)
        return next(filter(None, named), ())

    @cached_property
    def _depth(self) -> int:
        """The most headings that a path of the note has, however it is cut."""
        return max((len(elements(" > ".join(section.path))) for section in self.sections), default=0)

    def ambiguous(self, path: str) -> tuple[int, ...]:
        """The lines, from 1, of headings that a path names alike, though they are not; none where it names one."""
        titles: dict[int, set[tuple[str, ...]]] = {}
        for section in self.named(path):
            if section.levels:
                titles.setdefault(section.begin, set()).add(section.path)
        if not titles or set.intersection(*titles.values()):
            return ()
        # of very many the first are enough to be told
        pairs = combinations(sorted(titles)[:MOST_ALIKE], 2)
        return tuple(
            sorted({line + 1 for pair in pairs if titles[pair[0]].isdisjoint(titles[pair[1]]) for line in pair})
        )

    def look_alikes(self, path: str) -> tuple[int, ...]:
        """The lines, from 1, of other headings that differ from those that a path names in capitals or markup."""
        own = {section.begin for section in self.named(path)}
        alike = {section.begin for section in self._equal(path, same_letters) if section.levels}
        return tuple(sorted(line + 1 for line in alike - own))

    def _equal(self, path: str, same: Same) -> tuple[Section, ...]:
        candidates = {section for reading in _readings(path) for section in self._by_reading.get(reading, ())}
        equal = tuple(
            section
            for section in sorted(candidates)
            if covers(path, _as(path, section), same) and covers(_as(path, section), path, same)
        )
        # what is filed under the file's name is meant where no heading is
        return tuple(section for section in equal if section.levels) or equal


def _readings(path: str) -> frozenset[str]:
    return frozenset(reading for heading in last_headings(path) for reading in readings(heading))


def _as(path: str, section: Section) -> str:
    """Write the path of a section with level marks where another path has some."""
    return written(section.path) if path.lstrip().startswith("#") else " > ".join(section.path)
