"""Markdown notes -> the heading paths and the text that gold supports may name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations, pairwise
from operator import eq
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from raggate.base.errors import Problem
from raggate.base.headings import (
    Elements,
    Same,
    closest,
    covers,
    elements,
    fold,
    is_path,
    last_headings,
    readings,
    written,
)
from raggate.base.quote import enumerated, nearest, quoted
from raggate.inputs.golden import SHOWN_PROBLEMS, refuse_problems
from raggate.models.golden import Case, Golden, Support, Vault

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_TITLE = 1_000
"""Characters of a heading as it is written that are looked at."""

_LINE_ENDING = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*(?:\r\n?|\n).*?(?:\r\n?|\n)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)
_INLINE = re.compile(r"[\\`*_~\[\]!<>&\n]")
"""What CommonMark's inline rules begin at; a heading without any is shown as it is written."""
_MARKUP = re.compile(r"[*_`~\\]|\[\[|\]\]")

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")

LineKind = Literal["", "code", "table"]
"""What a line of a note is: of a fenced block, of a table, or anything else."""


class Heading(NamedTuple):
    """A heading: its level, its line, from 0, its path, and the levels of that."""

    level: int
    line: int
    path: Elements
    levels: tuple[int, ...]


class Section(NamedTuple):
    """A heading path and the lines that are filed under it, subsections included: from `begin`, from 0, to `end`.

    `levels` are those of the headings; none where it is not filed under a heading.
    """

    path: Elements
    begin: int
    end: int
    levels: tuple[int, ...] = ()


def heading_paths(text: str, rel_path: str) -> frozenset[Elements]:
    """Return every heading path of a note, outermost heading first; see `sections`."""
    return frozenset(section.path for section in sections(text, rel_path))


def sections(text: str, rel_path: str, *, source: bool = False) -> frozenset[Section]:
    """Return every section of a note; with `source`, also by its headings letter by letter.

    Text before the first heading is filed by an API under the note's title: its first heading of level 1, else of
    level 2, else the file's name, as it is or with capitals. Front matter is read both ways, skipped and as CommonMark
    reads it (a setext heading), because APIs do either.
    """
    last = len(lines_of(text))
    result: set[Section] = set()
    for start in {0, _skipped(text)}:
        for marks in _marks(text, start, source=source):
            result.update(_bounded(marks, last), _before(marks))
    stem = PurePosixPath(rel_path).stem
    capitals = " ".join(word[:1].upper() + word[1:] for word in stem.split())
    # some file all of a note under its name
    names = {(stem,), (fold(capitals),)} - {section.path for section in result}
    return frozenset(result.union(Section(path, 0, last) for path in names))


def _skipped(text: str) -> int:
    front_matter = _FRONT_MATTER.match(text)
    return front_matter.end() if front_matter else 0


def _marks(text: str, start: int, *, source: bool = False) -> Iterator[list[Heading]]:
    """Yield the headings of a note, read from somewhere on: as rendered, then as written. Lines count from the top."""
    # the environment carries the link definitions from the blocks to the headings
    environment: dict[str, Any] = {}
    # only the text of headings is needed, which is a small part of what the inline rules would go through
    tokens = _parser("inline").parse(text[start:], environment)
    above = len(lines_of(text[:start])) - 1
    yield _headings(tokens, above, lambda title: _rendered(title, environment))
    if source:
        yield _headings(tokens, above, fold)
        # some APIs glue the lines of a heading
        yield _headings(tokens, above, lambda title: fold(title.replace("\n", "")))


def line_of(text: str, heading_path: str | None) -> int:
    """Return the line, from 1, of the heading at which a section starts; 1 for a whole note or an unknown heading."""
    if heading_path is None:
        return 1
    wanted = elements(heading_path)
    headings = outline(text)
    lines = closest(lambda same: [heading.line for heading in headings if is_path(wanted, heading.path, same)])
    return lines[0] + 1 if lines else 1


def front_matter_of(text: str) -> str:
    """Return what stands between the dashes before a note, empty where nothing does."""
    front_matter = _FRONT_MATTER.match(text)
    return "\n".join(lines_of(front_matter[0].rstrip())[1:-1]) if front_matter else ""


def outline(text: str) -> list[Heading]:
    """Return the headings of a note in order, as they are rendered, without its front matter."""
    return next(_marks(text, _skipped(text)))


def headings_with_text(text: str) -> Iterator[Elements]:
    """Yield the path of every heading with text of its own below it, as it is rendered."""
    lines, headings = lines_of(text), outline(text)
    ends = [*(heading.line for heading in headings[1:]), len(lines)]
    for heading, end in zip(headings, ends, strict=False):
        if heading.path and any(re.search(r"\w", row) for row in lines[heading.line + 1 : end]):
            yield heading.path


def holds(text: str, snippet: str) -> bool:
    """Return whether a snippet stands in a note, with or without its markup, ignoring case and white space."""
    wanted = fold(snippet).casefold()
    source = fold(text).casefold()
    return wanted in source or _bare(wanted) in _bare(source)


def _bare(text: str) -> str:
    return fold(_MARKUP.sub("", text))


def lines_of(text: str) -> list[str]:
    """Split a note into its lines as CommonMark does."""
    return _LINE_ENDING.split(text) if "\r" in text else text.split("\n")


def kinds_of(lines: Sequence[str]) -> list[LineKind]:
    """Return for each line of a note whether it is code or of a table; fences are code, indented code is not known."""
    kinds: list[LineKind] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        kinds.append("code" if fence or mark else "table" if kinds and kinds[-1] == "table" and "|" in line else "")
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        elif not fence and "|" in line and len(kinds) > 1 and "|" in lines[len(kinds) - 2] and _is_rule(line):
            # a table begins at the line above its rule
            kinds[-2:] = "table", "table"
    return kinds


def _is_rule(line: str) -> bool:
    return "-" in line and not line.strip("|-: \t>")


def _headings(tokens: Sequence[Token], offset: int, title_of: Callable[[str], str]) -> list[Heading]:
    marks: list[Heading] = []
    stack: list[tuple[int, str]] = []
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        level = int(opening.tag[1:])
        while stack and stack[-1][0] >= level:
            stack.pop()
        # what takes the parser long is a long line, and no gold support names a title of such a length
        stack.append((level, title_of(inline.content[:MAX_TITLE])))
        line = opening.map[0] if opening.map else 0
        levels, path = tuple(zip(*(entry for entry in stack if entry[1]), strict=True)) or ((), ())
        marks.append(Heading(level, line + offset, path, levels))
    return marks


def _rendered(source: str, environment: dict[str, Any]) -> str:
    return fold(_text(_parser().parseInline(source, environment)[0]) if _INLINE.search(source) else source)


def _bounded(marks: Sequence[Heading], last: int) -> Iterator[Section]:
    """End each section where the next one of its level or above begins."""
    ends = [last] * 7
    for level, line, path, levels in reversed(marks):
        yield Section(path, line, min(ends[: level + 1]), levels)
        ends[level] = line


def _before(marks: Sequence[Heading]) -> Iterator[Section]:
    """File what stands before the first heading under the title."""
    title = next((mark for level in (1, 2) for mark in marks if mark.level == level), None)
    if title:
        yield Section(title.path, 0, marks[0].line, title.levels)


def _text(token: Token) -> str:
    # alt text of an image stands in its children, everything else in content
    if token.children:
        return "".join(map(_text, token.children))
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    return token.content if token.type in {"text", "code_inline"} else ""


@lru_cache(maxsize=2)
def _parser(*left_out: str) -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable([*left_out])


MOST_ALIKE = 100
"""Headings of a note that are compared with each other where they read the same."""


class SectionNames:
    """The sections of one note, to look heading paths up in. Parsed at the first look."""

    def __init__(self, text: str, rel_path: str) -> None:
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
        """Sections by each way in which their own heading reads."""
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
        below = (section for section in self.sections if covers(path, _as(path, section), eq))
        return self.named(path) or tuple(below)

    def texts(self, path: str) -> list[str]:
        """Return the texts of the sections that a path names."""
        lines = lines_of(self._text)
        return ["\n".join(lines[begin:end]) for begin, end in {(it.begin, it.end) for it in self.inside(path)}]

    def _is_inside(self, gold: str, heading: str) -> bool:
        """Return whether all sections that a path names are those of `gold` or lie in them; so where it names none.

        What a path has below the headings of the note, and the note has not, makes it no clearer.
        """
        wanted = self.inside(gold)
        # a note may have one heading very often
        others = set(self.named(heading) or self._named_above(heading)).difference(wanted)
        return all(any(outer.begin <= inner.begin and inner.end <= outer.end for outer in wanted) for inner in others)

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

    def _equal(self, path: str, same: Same) -> tuple[Section, ...]:
        # most of a note need not be looked at
        alike = {section for reading in _readings(path) for section in self._by_reading.get(reading, ())}
        equal = tuple(
            section
            for section in sorted(alike)
            if covers(path, _as(path, section), same) and covers(_as(path, section), path, same)
        )
        # what is filed under the file's name is meant where no heading is
        return tuple(section for section in equal if section.levels) or equal


def _readings(path: str) -> frozenset[str]:
    return frozenset(reading for heading in last_headings(path) for reading in readings(heading))


def _as(path: str, section: Section) -> str:
    """Write the path of a section with level marks where another path has some."""
    return written(section.path) if path.lstrip().startswith("#") else " > ".join(section.path)


SectionsOf = Callable[[tuple[str, str]], SectionNames]
"""Returns the sections of a note, by its vault and path."""


def sections_of(vault: Vault) -> SectionsOf:
    """Return a look-up of sections that parses each note once, for as many checks as it is handed to."""
    return cache(lambda key: SectionNames(vault.texts[key], key[1]))


def check_anchors(golden: Golden, vault: Vault, sections: SectionsOf | None = None) -> None:
    """Check that every gold support stands in the vault: note, heading path and snippets."""
    sections = sections or sections_of(vault)
    problems: list[Problem] = []

    def note(case: Case, problem: str) -> None:
        problems.append(Problem(golden.name, case.line, f"question {quoted(case.id)}: {problem}", case.id))

    for case in golden.cases:
        named = [*case.vaults, *(support.vault for support in case.gold_supports if support.vault)]
        unknown = [name for name in named if name not in vault.directories]
        if unknown:
            names = ", ".join(vault.directories)
            note(case, f"no vault {unknown[0]!r}. Known: {names}")
            continue
        for support in case.gold_supports:
            # what is named by an id alone is the API's own, and not in the vault
            hints = len(problems) < SHOWN_PROBLEMS
            problem = support.rel_path and _missing(support, case, vault, sections, hints=hints)
            if problem:
                note(case, problem)
    refuse_problems("missing-anchor", problems)


def _missing(support: Support, case: Case, vault: Vault, sections: SectionsOf, *, hints: bool) -> str | None:
    """Return the missing part of a support, with the nearest match if `hints` are shown: they take long."""
    keys = vault.notes_at(support.rel_path, case.vaults_of(support))
    if not keys:
        names = [support.vault] if support.vault else list(case.vaults or vault.directories)
        close = hints and nearest(support.rel_path, [path for name, path in vault.texts if name in names], cutoff=0.5)
        instead = f". Nearest: {quoted(close)}" if close else ""
        return f"gold note {quoted(support.rel_path)} is not in the vault{instead}"
    texts = [vault.texts[key] for key in keys]
    where, wanted = repr(support.rel_path), support.heading_path
    if wanted is not None:
        notes = [sections(key) for key in keys]
        texts = [text for note in notes for text in note.texts(wanted)]
        if not texts:
            return f"{where} has no heading {quoted(wanted)}{_nearest_heading(wanted, notes) if hints else ''}"
        lines = next(filter(None, (note.ambiguous(wanted) for note in notes)), ())
        if lines:
            which = f"in lines {enumerated(list(map(str, lines)))}, which differ only in capitals or markup"
            return f"{quoted(wanted)} fits several headings of {where}, {which}: write it exactly as the note does"
        where = f"the section {quoted(wanted)} of {where}"
    for snippet in support.snippets:
        if not any(holds(text, snippet) for text in texts):
            there = hints and any(holds(vault.texts[key], snippet) for key in keys)
            elsewhere = ". Another section of the note has it: name that section" if there else ""
            return f"snippet {quoted(snippet, limit=80)} is not in {where}{elsewhere}"
    return None


def _nearest_heading(wanted: str, notes: Sequence[SectionNames]) -> str:
    """Name the heading that is most like a wanted one, with its marks, as it would stand in the golden set."""
    paths = {
        " > ".join(section.path): written(section.path, section.levels) for note in notes for section in note.sections
    }
    close = nearest(" > ".join(elements(wanted)), [*paths], cutoff=0.5)
    return f". Did you mean {quoted(paths[close])}?" if close else ""
