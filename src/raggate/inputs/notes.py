"""What of an answer stands in the notes: labels per chunk, made on the full text and kept without it. Pure.

A text stands in a note by shingles of three words, whatever markup either side still has. Chunkers join lines, drop or
keep markup, cut words at an end, add an ellipsis, mark what was searched for, and put the title, the headings or the
path before the text. None of that makes a text invented: words that name the place do not count, and the rest need not
stand whole.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise
from math import ceil
from operator import eq
from statistics import fmean

from msgspec.structs import replace

from raggate.base.headings import (
    ATTRIBUTE_LIST,
    covers,
    elements,
    without_attributes,
)
from raggate.base.numbers import rounded
from raggate.base.unicode import stream_safe, words as ascii_words
from raggate.inputs.headings import LineKind, heading_paths, kinds_of, lines_of, sections_of
from raggate.models.golden import Case, Support, Vault
from raggate.models.run import Chunk, Expected, LabelledResult, ProbeAnswer, Reference

SHINGLE = 3
"""Words in a row that must stand in the note to count."""

SHORT = 8
"""Below so many words that count, too few for shingles, each word is looked for by itself."""

ENOUGH = 0.25
"""Share of a text's words that must stand in the note. Measured: docs/decisions/0010-what-stands-in-a-note.md."""

JUDGED_CHARACTERS = 8_000
"""Of a returned text, pieces of this length are looked at: the first one decides whether anything can be seen."""

MOST_PIECES = 5
"""Pieces of a text that are looked at, at equal distances."""

MAX_NOTE_CHARACTERS = 2 << 20
"""A longer note is not indexed, and what is said to be of it is not judged."""

# scripts without spaces between words: each letter is a word
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]"
)
_BLANK = frozenset("\u2800")
# none of these can start inside itself, so that all take linear time
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]"), r"\1"),
    (re.compile(r"\[\^[^\[\]\n]*\]:?"), " "),
    (re.compile(r"\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>\n]{0,200}>"), " "),
    (re.compile(r"^[ \t>]*(?:\d{1,9}[.)]|[-*+](?: \[[ xX]\])?)[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^[ \t>]*(?:```|~~~)[^\n]*$", re.MULTILINE), ""),
    (re.compile(ATTRIBUTE_LIST), " "),
)

# Python reads no number of thousands of digits; no character has one of eight
_NO_CHARACTER = re.compile(r"&#0*[1-9][0-9]{7,};?|&#0{8,}")

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Mn", "Me"))
MAX_CHARACTERS = 150
_MIN_WORDS = 4
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s")


def words(text: str) -> list[str]:
    """Return the words of a text in order, without case, marks between them, and compatibility forms."""
    if text.isascii():
        return ascii_words(text.casefold().replace("_", " "))
    return _WORD.findall(unicodedata.normalize("NFKC", stream_safe(_INVISIBLE.sub("", text))).casefold())


def spaced(text: str) -> str:
    """Return the words of a text between blanks, as they are looked for in one another."""
    return f" {' '.join(words(text))} "


def bare(text: str) -> str:
    """Take Markdown and HTML markup away that holds words of its own: targets of links, tags, numbers of lists."""
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return html.unescape(_NO_CHARACTER.sub(" ", text))


def has_text(text: str) -> bool:
    """Return whether anything of a text can be seen, at its start if it is long."""
    seen = (char for char in _INVISIBLE.sub("", text[:JUDGED_CHARACTERS]) if char not in _BLANK and not char.isspace())
    return any(unicodedata.category(char) not in _UNSEEN for char in seen)


class NoteWords:
    """The words of one note, to look texts up in. Indexed at the first look; only a short one is `checkable`."""

    def __init__(self, text: str, place: Iterable[str]) -> None:
        """Take a note; `place` is what names it and its parts, such as its vault, path and headings."""
        self._text = text
        self._place = place
        self.checkable = len(text) <= MAX_NOTE_CHARACTERS

    def look_up(self, text: str) -> tuple[bool, float]:
        """Return whether enough of a text's start and of all of it stands in the note, and the share that does.

        A note that is too long to be looked at holds anything.
        """
        if not self.checkable:
            return True, 1.0
        # of a very long text so many pieces at equal distances
        last = max(0, len(text) - JUDGED_CHARACTERS)
        steps = min(MOST_PIECES - 1, ceil(last / JUDGED_CHARACTERS))
        begins = [last * step // steps for step in range(steps + 1)] if steps else [0]
        shares = [self.share(text[begin : begin + JUDGED_CHARACTERS]) for begin in begins]
        whole = fmean(shares)
        return min(shares[0], whole) >= ENOUGH, whole

    def share(self, text: str) -> float:
        """Return the share of the words of a text's start that stand in the note and do not only name the place."""
        start = text[:JUDGED_CHARACTERS]
        share = self._share(start)
        stripped = start if share == 1 else bare(start)
        return share if stripped == start else max(share, self._share(stripped))

    def _share(self, text: str) -> float:
        given = words(text)
        if not given:
            # nothing but symbols
            return float("".join(text.split()) in "".join(self._text.split()))
        whole = f" {' '.join(given)} "
        # most texts are in their note word for word
        if whole in self._running or whole in self._bare_running:
            return 1.0
        standing = [False] * len(given)
        for start, shingle in enumerate(shingles(given)):
            if shingle in self._shingles:
                standing[start : start + SHINGLE] = [True] * SHINGLE
        pairs = zip(given, standing, strict=True)
        counted = [(word, stands) for word, stands in pairs if stands or word not in self._names]
        if not counted:
            return 1.0
        if len(counted) >= SHORT:
            return sum(stands for _, stands in counted) / len(counted)
        variants = (self._running, self._bare_running)
        if any("".join(given) in variant.replace(" ", "") for variant in variants):
            # cut within its first or last word
            return 1.0
        return sum(any(f" {word} " in variant for variant in variants) for word, _ in counted) / len(counted)

    @cached_property
    def _running(self) -> str:
        return spaced(self._text)

    @cached_property
    def _bare_running(self) -> str:
        return spaced(bare(self._text))

    @cached_property
    def _shingles(self) -> frozenset[tuple[str, ...]]:
        return frozenset(chain(*(shingles(variant.split()) for variant in (self._running, self._bare_running))))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(word for name in self._place for word in words(name))


def shingles(given: Sequence[str], size: int = SHINGLE) -> Iterable[tuple[str, ...]]:
    """Return every so many words in a row of some words."""
    return zip(*(given[start:] for start in range(size)), strict=False)


def first_sentence(text: str) -> str:
    """Return the first line of prose up to the end of its sentence, cut after a word; empty where there is none.

    A line of prose begins with a letter or a number, unlike a heading, a list, a table or a link, and has some words.
    """
    unfenced = _FENCE.sub("", _FRONT_MATTER.sub("", text.lstrip("\ufeff"), count=1))
    for line in map(str.strip, unfenced.splitlines()):
        prose = _END.split(line, maxsplit=1)[0]
        if line[:1].isalnum() and len(prose.split()) >= _MIN_WORDS:
            return prose if len(prose) <= MAX_CHARACTERS else prose[:MAX_CHARACTERS].rpartition(" ")[0]
    return ""


_HASHED_LINE = re.compile(r"^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(#{1,6})(.*)$", re.MULTILINE)
_FRONT_TITLE = re.compile(r"\A---[ \t]*\n(?:.*\n){0,200}?title:[ \t]*(.+)")

OWN_SHARE = 0.5
"""Of a few words in a row, so many that a note explains make them its own."""
REMEMBERED_CHUNKS = 8_192
"""Chunks whose lookups are remembered. An API could return another text in every answer."""
JUDGED_CHUNKS = 100
"""Of an answer, no more than so many are looked up; cut-offs are far above that rank."""


class NoteTitles:
    """The headings of one note, to look heading paths up in. Parsed at the first look."""

    def __init__(self, text: str, vault: str, rel_path: str) -> None:
        self._text = text
        self._vault = vault
        self._rel_path = rel_path
        self._spelled = cache(self._spell)

    def holds(self, heading_path: str) -> bool:
        """Return whether the note has these headings below each other; also where the path names none."""
        written = letters_of(heading_path)
        if not written or self._composed(written):
            return True
        shown = "".join(map(without_attributes, elements(heading_path)))
        others = {letters_of(bare(heading_path)), letters_of(shown)} - {written}
        return "" in others or any(map(self._composed, others))

    def names(self) -> Iterator[str]:
        """Yield what names the note and its parts: vault, path, titles and headings."""
        yield from (self._vault, self._rel_path)
        yield from {title for path in self._hashed | self._parsed for title in path}

    def _composed(self, letters: str) -> bool:
        # most headings are found without parsing the note
        return any(put_together(letters, path) for path in self._spelled(self._hashed)) or any(
            put_together(letters, path) for path in self._spelled(self._parsed)
        )

    @cached_property
    def _hashed(self) -> frozenset[tuple[str, ...]]:
        return frozenset(chain(_hashed(self._text), _hashed(bare(self._text))))

    @cached_property
    def _parsed(self) -> frozenset[tuple[str, ...]]:
        return heading_paths(self._text, self._rel_path)

    def _spell(self, paths: frozenset[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
        """Return each path in letters, after what APIs put before it."""
        folders = self._rel_path.split("/")
        title = _FRONT_TITLE.match(self._text)
        about = (self._vault, *folders, folders[-1].rpartition(".")[0], title[1] if title else "")
        # the first heading is the note's title, and may stand before itself as that
        return frozenset(tuple(filter(None, map(letters_of, (*about, *path[:1], *path)))) for path in paths)


def put_together(letters: str, path: tuple[str, ...]) -> bool:
    """Return whether letters are those of some parts of a path, in their order."""
    reached = {0}
    for part in path:
        reached |= {start + len(part) for start in reached if letters.startswith(part, start)}
    return len(letters) in reached


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, without case and compatibility forms."""
    folded = text.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKD", stream_safe(folded))
    return "".join(filter(str.isalnum, folded))


def _hashed(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the heading paths as a chunker finds them that only looks for `#` at the start of a line."""
    stack: list[tuple[int, str]] = []
    for line in _HASHED_LINE.finditer(text):
        level = len(line[1])
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, without_attributes(line[2])))
        yield tuple(title for _, title in stack)


def _in_one_line(text: str) -> str:
    return " ".join(text.casefold().split())


def _filed_lines(text: str) -> Iterator[tuple[str, LineKind, int]]:
    """Yield the lines of a note as snippets are looked for, each with its kind and the characters of its section."""
    lines = lines_of(text)
    kinds = kinds_of(lines)
    starts = [place for place, line in enumerate(lines) if kinds[place] == "" and _HASHED_LINE.match(line)]
    for begin, end in pairwise([0, *starts, len(lines)]):
        section = sum(map(len, lines[begin:end]))
        for place in range(begin, end):
            yield _in_one_line(lines[place]), kinds[place], section


class Notes:
    """The notes of a vault, to look answers up in. A note is indexed when the first chunk says it is from there."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.texts = vault.named_texts
        # the same chunks come back for many questions
        remembered = lru_cache(maxsize=REMEMBERED_CHUNKS)
        self._has_text = remembered(has_text)
        self._heading_stands = remembered(lambda note, heading_path: self._titles(note).holds(heading_path))
        self._strange = remembered(self._find_strange)
        self._titles = cache(lambda note: NoteTitles(vault.texts[note], *note))
        self._sections = sections_of(vault)
        self._lines = cache(lambda note: [*_filed_lines(vault.texts[note])])
        self._expected = cache(self._find_expected)
        self._words = cache(lambda note: NoteWords(vault.texts[note], self._titles(note).names()))

    def label(self, item: LabelledResult) -> LabelledResult:
        """Note which chunks of a result have no text, and which tell a heading or a text that their note has not.

        A chunk of a note that is not in the vault is not looked up: what it tells cannot stand anywhere. One that tells
        a heading otherwise than the golden set, which could be another one of its note as well, matches nothing.
        """
        chunks = item.result.chunks
        gold = {support.rel_path for support in item.case.gold_supports}
        vague = [self._vague(chunk, item.case) if chunk.rel_path in gold else () for chunk in chunks]
        strange = self._strange_parts(chunks)
        matches = (
            tuple(index for index in indices if index not in unclear)
            for unclear, indices in zip(vague, item.labels.matches, strict=True)
        )
        labels = replace(
            item.labels,
            matches=tuple(matches),
            ambiguous=tuple(position for position, unclear in enumerate(vague) if unclear),
            empty=tuple(position for position, chunk in enumerate(chunks) if not self._has_text(chunk.text)),
            strange_headings=tuple(position for position, (heading, _, _) in enumerate(strange) if heading),
            strange_texts=tuple(position for position, (_, text, _) in enumerate(strange) if text),
            partly=tuple((position, share) for position, (_, _, share) in enumerate(strange) if share < 1),
            expected=self._expected(
                tuple((support, item.case.vaults_of(support)) for support in item.case.gold_supports)
            ),
        )
        return replace(item, labels=labels)

    def _find_expected(self, supports: Sequence[tuple[Support, Sequence[str]]]) -> Expected:
        """Return where the snippets of gold supports, each with its vaults, stand."""
        standing = [
            (kind, section)
            for support, vaults in supports
            for snippet in map(_in_one_line, support.snippets)
            for note in self._vault.notes_at(support.rel_path, vaults)
            for line, kind, section in self._lines(note)
            if snippet in line
        ]
        kinds = {kind for kind, _ in standing}
        longest = max((section for _, section in standing), default=0)
        return Expected(code="code" in kinds, table="table" in kinds, section=longest)

    def _vague(self, chunk: Chunk, case: Case) -> tuple[int, ...]:
        """Return the supports whose section a chunk could be of by its heading, and as well of another of the note."""
        return tuple(
            index
            for index, support in enumerate(case.gold_supports)
            if support.rel_path == chunk.rel_path
            and support.heading_path is not None
            and not _as_written(support.heading_path, chunk.heading_path)
            and covers(support.heading_path, chunk.heading_path)
            and not self._told_apart(chunk, support.heading_path, case.vaults_of(support))
        )

    def _told_apart(self, chunk: Chunk, gold: str, allowed: Sequence[str]) -> bool:
        """Return whether the heading of a chunk can be of no other section of its note than that of a support."""
        notes = [note for note in self._notes_at(chunk.vault, chunk.rel_path) if not allowed or note[0] in allowed]
        return not notes or any(self._sections(note).is_inside(gold, chunk.heading_path) for note in notes)

    def label_probe(self, answer: ProbeAnswer) -> ProbeAnswer:
        """Note which chunks of what came of a probe tell a text that their note has not."""
        strange = self._strange_parts(answer.result.chunks)
        return replace(answer, strange_texts=tuple(position for position, (_, text, _) in enumerate(strange) if text))

    def _strange_parts(self, chunks: Sequence[Chunk]) -> list[tuple[bool, bool, float]]:
        """For each chunk: whether its heading, and its text, are missing in its note."""
        return [
            self._strange(chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text)
            for chunk in chunks[:JUDGED_CHUNKS]
        ]

    def _find_strange(self, vault: str | None, rel_path: str, heading_path: str, text: str) -> tuple[bool, bool, float]:
        notes = self._notes_at(vault, rel_path)
        if not notes:
            return False, False, 1.0
        heading = not any(self._heading_stands(note, heading_path) for note in notes)
        if not has_text(text):
            return heading, False, 1.0
        looked_up = [self._words(note).look_up(text) for note in notes]
        share = rounded(max(share for _, share in looked_up), 2)
        return heading, not any(holds for holds, _ in looked_up), share

    def explains(self, place: Chunk | Reference, note: str, row: Sequence[str]) -> bool:
        """Return whether words in a row that stand in a note, `vault/rel_path`, may be those of a place's own note.

        So they are where that may be the note itself, and where its own has most of them or is called by them.
        """
        places = self._notes_at(place.vault, place.rel_path)
        own = any(f"{name}/{path}" == note for name, path in places)
        words = map(self._words, places)
        return own or any(not its.checkable or its.share(" ".join(row)) >= OWN_SHARE for its in words)

    def _notes_at(self, vault: str | None, rel_path: str) -> list[tuple[str, str]]:
        return self._vault.notes_at(rel_path, (vault,) if vault else ())


def _as_written(gold: str, heading_path: str) -> bool:
    """Return whether a path is that of a section, or of one inside it, letter by letter and heading by heading.

    Where one side alone has level marks, a `>` of the other may be a delimiter or a part of a heading.
    """
    marked = {path.lstrip().startswith("#") for path in (gold, heading_path)}
    return len(marked) == 1 and covers(gold, heading_path, eq)
