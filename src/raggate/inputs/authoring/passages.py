"""Vault -> its passages: the text below each heading, in the order of the notes, and a plain search for words."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from raggate.inputs import headings
from raggate.inputs.note_words import bare, has_text, words
from raggate.models.golden import Support, Vault
from raggate.text.headings import Elements, written

MOST_SNIPPET = 100
"""Characters of a snippet that is proposed: the longer it is, the sooner a chunk ends within it."""

_LONGEST_LINE = 2_000
_LINE_MARK = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+")
_MARKUP = frozenset("`*_[]<>|&\\~#$")
_SATURATION = 1.2  # how soon a word that stands there again says little more


class Passage(NamedTuple):
    """The text below a heading of a note, up to the next heading.

    Attributes:
        vault: the name of the note's vault.
        rel_path: the note.
        path: the headings that it stands under, outermost first; none for a note without any.
        line: where it begins, from 1.
        text: what stands there, without its heading.
    """

    vault: str
    rel_path: str
    path: Elements
    line: int
    text: str

    @property
    def heading_path(self) -> str | None:
        """The headings as a gold support names them; None for the whole note."""
        return written(self.path) or None

    def support(self, vault: Vault) -> Support:
        """Make the gold support that names it, with the vault where another has a note of the same path."""
        several = sum((name, self.rel_path) in vault.texts for name in vault.directories) > 1
        return Support(rel_path=self.rel_path, heading_path=self.heading_path, vault=self.vault if several else None)


def passages(vault: Vault) -> tuple[Passage, ...]:
    """Return all passages that hold text, note by note."""
    return tuple(chain.from_iterable(_of_note(*note, text) for note, text in vault.texts.items()))


def _of_note(vault: str, rel_path: str, text: str) -> Iterator[Passage]:
    lines = headings.lines_of(text)
    body = _body(text)
    starts = {begin: path for begin, path in heading_starts(text, rel_path).items() if begin >= body}
    places = [*([] if body in starts else [body]), *sorted(starts), len(lines)]
    for begin, end in pairwise(places):
        # what stands before the first heading has none of its own
        path = starts.get(begin, ())
        own = "\n".join(lines[begin + (begin in starts) : end]).strip("\n")
        if has_text(own):
            yield Passage(vault, rel_path, path, begin + 1, own)


def _body(text: str) -> int:
    """Return the first line, from 0, behind the front matter."""
    front_matter = headings.front_matter_of(text)
    return len(headings.lines_of(front_matter)) + 2 if front_matter else 0


def heading_starts(text: str, rel_path: str) -> dict[int, Elements]:
    """Return the headings with text below them, by line from 0, each with its path as it is rendered."""
    rendered = frozenset(headings.headings_with_text(text))
    lines = headings.lines_of(text)
    starts: dict[int, Elements] = {}
    for section in sorted(headings.sections(text, rel_path)):
        # a file's name, and a title that what stands before it is filed under, are no lines of the note
        named = section.begin > 0 or (section.path and lines[0].lstrip().startswith("#"))
        if named and (section.path in rendered or section.begin not in starts):
            starts[section.begin] = section.path
    return starts


def snippet_of(question: str, text: str) -> str:
    """Return the sentence of a passage that shares most words with a question; empty if none can be copied.

    Chunkers drop markup and join lines, so a sentence with markup, or over two lines, is none. A long one is cut
    between words: its beginning stands in the passage all the same.
    """
    wanted, sentences = set(words(question)), [*_sentences(text)]
    if not sentences:
        return ""
    best = max(sentences, key=lambda sentence: len(wanted & set(words(sentence))))
    return best if len(best) <= MOST_SNIPPET else best[: MOST_SNIPPET + 1].rpartition(" ")[0]


def _sentences(text: str) -> Iterator[str]:
    fenced = False
    for line in headings.lines_of(text):
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        if not fenced and not fence:
            pieces = _SENTENCE_END.split(_LINE_MARK.sub("", line[:_LONGEST_LINE]))
            yield from (piece.strip() for piece in pieces if has_text(piece) and not _MARKUP & set(piece))


class WordSearch:
    """Passages by the words of a query: rare words count more than frequent ones, and a word again counts less."""

    def __init__(self, among: Sequence[Passage]) -> None:
        """Index passages, each with its headings and the path of its note."""
        self._passages = among
        self._counts = [Counter(words(" ".join((item.rel_path, *item.path, bare(item.text))))) for item in among]
        self._holding: defaultdict[str, set[int]] = defaultdict(set)
        for place, counts in enumerate(self._counts):
            for word in counts:
                self._holding[word].add(place)

    def find(self, query: str, most: int = 10) -> list[Passage]:
        """Return the passages that hold most of a query, best first; of equals the first in the vault."""
        wanted = {word: self._weight(word) for word in dict.fromkeys(words(query)) if word in self._holding}
        scores = [
            sum(weight * counts[word] / (counts[word] + _SATURATION) for word, weight in wanted.items())
            for counts in self._counts
        ]
        order = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
        return [self._passages[place] for place in order[:most]]

    def holding(self, query: str) -> list[Passage]:
        """Return the passages that hold every word of a query."""
        places = [self._holding.get(word, set()) for word in words(query)]
        holding = set.intersection(*places) if places else range(len(self._passages))
        return [self._passages[place] for place in sorted(holding)]

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self._passages) / len(self._holding[word]))
