"""Whether a heading path that an API tells is one of a note's. Pure.

APIs tell the same heading in many ways: with or without markup, level marks, ids and closing marks, as a slug, the
innermost headings only or all of them after the path or title of the note, with any delimiter. So only letters and
digits are compared, and a path is known when it is put together from headings of one path of the note, in their order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from raggate.inputs.headings import heading_paths
from raggate.inputs.note_words import bare
from raggate.text.anchors import elements
from raggate.text.stream_safe import stream_safe
from raggate.text.titles import without_attributes

_HASHED_LINE = re.compile(r"^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(#{1,6})(.*)$", re.MULTILINE)
_FRONT_TITLE = re.compile(r"\A---[ \t]*\n(?:.*\n){0,200}?title:[ \t]*(.+)")


class NoteTitles:
    """The headings of one note, to look heading paths up in. Parsed at the first look."""

    def __init__(self, text: str, vault: str, rel_path: str) -> None:
        """Take a note as it is written, its vault and its path there."""
        self._text = text
        self._vault = vault
        self._rel_path = rel_path
        self._spellings: dict[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]] = {}

    def holds(self, heading_path: str) -> bool:
        """Say whether the note has these headings below each other; also where the path names none."""
        written = _letters(heading_path)
        if not written or self._composed(written):
            return True
        shown = "".join(map(without_attributes, elements(heading_path)))
        others = {_letters(bare(heading_path)), _letters(shown)} - {written}
        return "" in others or any(map(self._composed, others))

    def names(self) -> Iterator[str]:
        """Give what names the note and its parts: vault, path, titles and headings."""
        yield from (self._vault, self._rel_path)
        yield from {title for path in self._hashed | self._parsed for title in path}

    def _composed(self, letters: str) -> bool:
        # most headings are found without parsing the note
        return (
            letters in self._whole_as_written
            or letters in self._whole
            or any(_put_together(letters, path) for path in self._spelled(self._hashed))
            or any(_put_together(letters, path) for path in self._spelled(self._parsed))
        )

    @cached_property
    def _hashed(self) -> frozenset[tuple[str, ...]]:
        return frozenset(_hashed(self._text)) | frozenset(_hashed(bare(self._text)))

    @cached_property
    def _whole_as_written(self) -> frozenset[str]:
        return frozenset("".join(map(_letters, path)) for path in _hashed(self._text))

    @cached_property
    def _parsed(self) -> frozenset[tuple[str, ...]]:
        return heading_paths(self._text, self._rel_path)

    @cached_property
    def _whole(self) -> frozenset[str]:
        return frozenset("".join(map(_letters, path)) for path in self._hashed)

    def _spelled(self, paths: frozenset[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
        """Give each path in letters, after what APIs put before it."""
        if paths not in self._spellings:
            folders = self._rel_path.split("/")
            title = _FRONT_TITLE.match(self._text)
            about = (self._vault, *folders, folders[-1].rpartition(".")[0], title[1] if title else "")
            # the first heading is the note's title, and may stand before itself as that
            self._spellings[paths] = frozenset(
                tuple(filter(None, map(_letters, chain(about, path[:1], path)))) for path in paths
            )
        return self._spellings[paths]


def _put_together(letters: str, path: tuple[str, ...]) -> bool:
    """Say whether letters are those of some parts of a path, in their order."""
    reached = {0}
    for part in path:
        reached |= {start + len(part) for start in reached if letters.startswith(part, start)}
    return len(letters) in reached


def _letters(text: str) -> str:
    """Give the letters and digits of a text, without case and accents."""
    folded = text.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKD", stream_safe(folded))
    return "".join(filter(str.isalnum, folded))


def _hashed(text: str) -> Iterator[tuple[str, ...]]:
    """Give the heading paths as a chunker finds them that only looks for `#` at the start of a line."""
    stack: list[tuple[int, str]] = []
    for line in _HASHED_LINE.finditer(text):
        level = len(line[1])
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, without_attributes(line[2])))
        yield tuple(title for _, title in stack)
