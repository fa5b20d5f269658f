"""Vault -> its passages: the text below each heading; and what a text, a chunk or `note#heading` names among them.

Nothing is guessed. Of a text letters and digits count, in their order: not case, markup, or where lines end.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, takewhile
from typing import NamedTuple

from raggate.base.errors import UsageError
from raggate.base.headings import Elements, closest, elements, fold, is_path, without_attributes, written
from raggate.base.quote import enumerated, nearest, quoted
from raggate.inputs import headings
from raggate.inputs.notes import bare, has_text, words
from raggate.inputs.text_places import MOST_PLACES, RunningText
from raggate.models.golden import Golden, Support, Vault
from raggate.models.run import CUT, Chunk

MOST_SNIPPET = 100
"""Characters of a snippet that is proposed: the longer it is, the sooner a chunk ends within it."""

_LONGEST_LINE = 2_000
_LINE_MARK = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+")
_MARKUP = frozenset("`*_[]<>|&\\~#$")
_Note = tuple[str, str]
_SATURATION = 1.2  # how soon a word that stands there again says little more


class Passage(NamedTuple):
    """The text below a heading of a note, up to the next heading; it begins at `line`, from 1.

    `path` are the headings that it stands under, outermost first; none for a note without any.
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
        """Make the gold support that names it."""
        return support_of(vault, self.vault, self.rel_path, self.path)


def support_of(vault: Vault, name: str, rel_path: str, path: Elements) -> Support:
    """Make the gold support of a place, with the vault where another has a note of the same path."""
    several = sum((one, rel_path) in vault.texts for one in vault.directories) > 1
    return Support(rel_path=rel_path, heading_path=written(path) or None, vault=name if several else None)


def passages(vault: Vault) -> tuple[Passage, ...]:
    """Return all passages that hold text, note by note."""
    return tuple(chain.from_iterable(_of_note(*note, text) for note, text in vault.texts.items()))


def _of_note(vault: str, rel_path: str, text: str) -> Iterator[Passage]:
    lines, starts = headings.lines_of(text), heading_starts(text)
    front_matter = headings.front_matter_of(text)
    body = len(headings.lines_of(front_matter)) + 2 if front_matter else 0
    places = [*([] if body in starts else [body]), *starts, len(lines)]
    for begin, end in pairwise(places):
        # what stands before the first heading has none of its own
        path = starts.get(begin, ())
        own = "\n".join(lines[begin + (begin in starts) : end]).strip("\n")
        if has_text(own):
            yield Passage(vault, rel_path, path, begin + 1, own)


def heading_starts(text: str) -> dict[int, Elements]:
    """Return the headings of a note by line, from 0, each with its path."""
    return {heading.line: heading.path for heading in headings.outline(text)}


def snippet_of(question: str, text: str) -> str:
    """Return the sentence, line of code or cell of a table that shares most words with a question; empty without any.

    Chunkers drop markup and join lines, so a sentence with markup, or over two lines, is none. Of the row of a table
    it is the longest cell. A long one is cut between words: its beginning stands in the passage all the same.
    """
    wanted, candidates = set(words(question)), [*_candidates(text)]
    if not candidates:
        return ""
    best, _ = max(candidates, key=lambda candidate: len(wanted & set(words(candidate[1]))))
    return best if len(best) <= MOST_SNIPPET else best[: MOST_SNIPPET + 1].rpartition(" ")[0]


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yield what can be copied, each with the text whose words it is chosen by."""
    lines = headings.lines_of(text)
    rows = 0
    for line, kind in zip(lines, headings.kinds_of(lines), strict=True):
        rows = rows + 1 if kind == "table" else 0
        whole = line[:_LONGEST_LINE].strip()
        pieces = _SENTENCE_END.split(_LINE_MARK.sub("", line[:_LONGEST_LINE]))
        if kind == "code":
            pieces = [] if whole.startswith(("```", "~~~")) else [whole]
        elif rows in (1, 2):
            # the head of a table and its rule
            continue
        elif rows:
            cells = [cell.strip() for cell in whole.split("|")]
            pieces = [max((cell for cell in cells if not _MARKUP & set(cell)), key=len, default="")]
        for piece in pieces:
            if has_text(piece) and (kind == "code" or not _MARKUP & set(piece)):
                yield piece.strip(), whole if kind else piece


class WordSearch:
    """Passages by the words of a query: rare words count more than frequent ones, and a word again counts less."""

    def __init__(self, among: Sequence[Passage]) -> None:
        self._passages = among
        self._counts = [Counter(words(" ".join((item.rel_path, *item.path, bare(item.text))))) for item in among]
        self._holding: defaultdict[str, set[int]] = defaultdict(set)
        for place, counts in enumerate(self._counts):
            for word in counts:
                self._holding[word].add(place)

    def find(self, query: str, most: int = 10) -> list[Passage]:
        """Return the passages that hold most of a query, best first; of equals the first in the vault."""
        count = len(self._passages)
        known = (word for word in dict.fromkeys(words(query)) if word in self._holding)
        wanted = {word: math.log(1 + count / len(self._holding[word])) for word in known}
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


class Stand(NamedTuple):
    """A place that a text stands in: a note, and the headings that enclose all of it; none for the whole note."""

    vault: str
    rel_path: str
    path: Elements


class TextIndex:
    """The words of a vault, to find texts in."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._starts = {key: heading_starts(text) for key, text in vault.texts.items()}
        lines = ((key, map(bare, headings.lines_of(text))) for key, text in vault.texts.items())
        self._notes = {key: RunningText.of(its, self._starts[key]) for key, its in lines}
        self._holding: dict[str, set[_Note]] = {}
        for key, note in self._notes.items():
            for word in set(note.running.split()):
                self._holding.setdefault(word, set()).add(key)

    def stands(self, text: str) -> tuple[Stand, ...]:
        """Return the places that a text stands in, each once, in the order of the vault; none for one without words."""
        places: dict[Stand, None] = {}
        for variant in dict.fromkeys((text, bare(text))):
            holding = [self._holding.get(word, set()) for word in words(variant)]
            common = set[_Note]().union(*holding[:1]).intersection(*holding)
            for key in filter(common.__contains__, self._notes):
                paths = [(), *self._starts[key].values()]
                for begin, end in self._notes[key].places(variant):
                    inside = self._notes[key].sections(begin, end)
                    places[Stand(*key, _common(paths[inside.start : inside.stop]))] = None
                    if len(places) == MOST_PLACES:
                        return tuple(places)
        return tuple(places)

    def within(self, stand: Stand, text: str) -> list[Stand]:
        """Return the places of a text at or below another; that one where they are too many to tell."""
        stands = self.stands(text)
        if len(stands) == MOST_PLACES:
            return [stand]
        return [other for other in stands if other[:2] == stand[:2] and other.path[: len(stand.path)] == stand.path]

    def is_twice(self, stand: Stand) -> bool:
        """Return whether the note has the heading path of a place more than once, so that naming it names both."""
        return [*self._starts[stand.vault, stand.rel_path].values()].count(stand.path) > 1

    def support(self, stand: Stand) -> Support:
        """Make the gold support that names a place."""
        return support_of(self._vault, *stand)

    def text(self, stand: Stand) -> str:
        """Return the text of the note."""
        return self._vault.texts[stand.vault, stand.rel_path]


def _common(paths: list[Elements]) -> Elements:
    """Return the headings that some paths begin with alike."""
    same = takewhile(lambda titles: titles[0] == titles[1], zip(min(paths), max(paths), strict=False))
    return tuple(title for title, _ in same)


def of_chunk(chunk: Chunk, among: Iterable[Passage], vault: Vault) -> Passage | None:
    """Find the passage that a chunk of an answer is from: by its heading path, else by its text; None for neither.

    It may also be of a heading that only others stand below, which is none of the passages with text.
    """
    note = [item for item in among if item.rel_path == chunk.rel_path and chunk.vault in {None, item.vault}]
    named = _under(chunk, note)
    text = chunk.text.removesuffix(CUT) if chunk.text_hash else chunk.text
    holding = [item for item in named or note if headings.holds(item.text, text)]
    choice = holding if len(holding) == 1 else named
    if not choice:
        bare = [
            Passage(*key, path, line + 1, "")
            for key in vault.notes_at(chunk.rel_path, (chunk.vault,) if chunk.vault else ())
            for line, path in heading_starts(vault.texts[key]).items()
        ]
        choice = _under(chunk, bare)
    return choice[0] if len(choice) == 1 else None


def _under(chunk: Chunk, among: Sequence[Passage]) -> Sequence[Passage]:
    wanted = elements(chunk.heading_path)
    return closest(lambda same: [item for item in among if is_path(wanted, item.path, same)])


def whole_note(chunk: Chunk, vault: Vault) -> Passage | None:
    """Find the note that a chunk of an answer is from, as a passage; None for no note of its path, and several."""
    notes = vault.notes_at(chunk.rel_path, (chunk.vault,) if chunk.vault else ())
    return Passage(*notes[0], (), 1, chunk.text) if len(notes) == 1 else None


def of_anchor(anchor: str, vault: Vault) -> Support:
    """Read `note`, `note#heading` or `vault/note#heading`, where the heading may be a path, or the end of one."""
    note, heading = _note(anchor, vault)
    paths = list(dict.fromkeys(heading_starts(vault.texts[note]).values())) if heading else []
    return support_of(vault, *note, _only(heading, paths, note[1]) if heading else ())


def cases_beside(golden: Golden, supports: Iterable[Support], vault: Vault) -> list[str]:
    """Name the cases with a gold support in a vault of some others; of unanswerable ones nobody knows."""
    wanted = {name for support in supports for name in _vaults(support, vault)}
    return [
        case.id
        for case in golden.cases
        if any(name in wanted for support in case.gold_supports for name in _vaults(support, vault))
    ]


def _vaults(support: Support, vault: Vault) -> tuple[str, ...]:
    return tuple(name for name, _ in vault.notes_at(support.rel_path, (support.vault,) if support.vault else ()))


def _note(anchor: str, vault: Vault) -> tuple[_Note, str]:
    """Split an anchor into its note and the heading; the note's own name may hold the mark between them."""
    known: dict[str, list[_Note]] = {}
    for note in vault.texts:
        known.setdefault(note[1], []).append(note)
    known |= {f"{name}/{path}": [(name, path)] for name, path in vault.texts}
    cuts = [len(anchor), *(place for place, letter in enumerate(anchor) if letter == "#")]
    for cut in sorted(cuts, reverse=True):
        notes = known.get(anchor[:cut].strip(), [])
        if len(notes) == 1:
            return notes[0], anchor[cut:].strip()
        if notes:
            choices = enumerated([f"{name}/{path}" for name, path in notes])
            raise UsageError(f"--anchor: {quoted(anchor[:cut].strip())} is in several vaults: {choices}")
    name = anchor.partition("#")[0].strip()
    close = nearest(name, known, cutoff=0.5)
    raise UsageError(
        f"--anchor: no note {quoted(name)} in the vault{f'. Nearest: {quoted(close)}' if close else ''}",
        hint="Expected NOTE#HEADING, with the note's path in its vault.",
    )


def _only(heading: str, paths: Sequence[Elements], note: str) -> Elements:
    """Find the one path that a heading names: all of it, or its end."""
    # `note.md#Costs` and `note.md## Costs` name the same
    wanted = elements(heading) or (fold(heading),)
    bare = elements(heading.removeprefix("#"))
    names = [name for name in (wanted, bare) if name]
    ending = closest(lambda same: [path for path in paths if any(is_path(it, path[-len(it) :], same) for it in names)])
    exact = [path for path in ending if len(path) in map(len, names)]
    choice = exact if len(exact) == 1 else ending
    if len(choice) == 1:
        return choice[0]
    if choice:
        several = enumerated([quoted(written(path)) for path in choice])
        raise UsageError(f"--anchor: {quoted(note)} has several headings {quoted(heading)}: {several}")
    # an id or classes at the end of a heading are not what somebody misspelt
    titles = {without_attributes(title): title for path in paths for title in path[-1:]}
    close = nearest(heading.lstrip("# "), titles, cutoff=0.5)
    raise UsageError(
        f"--anchor: {quoted(note)} has no heading {quoted(heading)}{f'. Nearest: {quoted(close)}' if close else ''}",
        hint=f"It has {enumerated([*titles])}." if titles else "It has none: write the note without #HEADING.",
    )
