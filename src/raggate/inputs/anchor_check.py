"""Whether every gold support stands in the vault: a golden set and the notes in, the first problems out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from raggate.errors import Problem
from raggate.inputs import headings
from raggate.inputs.golden import SHOWN_PROBLEMS, GoldenProblems
from raggate.inputs.section_names import SectionNames
from raggate.models.golden import Case, Golden, Support, Vault
from raggate.text.headings import elements, written
from raggate.text.quote import enumerated, nearest, quoted

SectionsOf = Callable[[tuple[str, str]], SectionNames]
"""Gives the sections of a note, by its vault and path."""


def sections_of(vault: Vault) -> SectionsOf:
    """Return a look-up of sections that parses each note once, for as many checks as it is handed to."""
    return cache(lambda key: SectionNames(vault.texts[key], key[1]))


def check_anchors(golden: Golden, vault: Vault, sections: SectionsOf | None = None) -> None:
    """Check that every gold support stands in the vault: note, heading path and snippets.

    Args:
        sections: their look-up, where it outlives this check.

    Raises:
        UsageError: listing up to ten supports that do not, each with the nearest thing that does.
    """
    sections = sections or sections_of(vault)
    problems = GoldenProblems()

    def note(case: Case, problem: str) -> None:
        problems.add(Problem(golden.name, case.line, f"case {quoted(case.id)}: {problem}", case.id))

    for case in golden.cases:
        named = [*case.vaults, *(support.vault for support in case.gold_supports if support.vault)]
        unknown = [name for name in named if name not in vault.directories]
        if unknown:
            names = ", ".join(vault.directories)
            note(case, f"no vault {unknown[0]!r}; known: {names}")
            continue
        for support in case.gold_supports:
            # what is named by an id alone is the API's own, and not in the vault
            hints = problems.count < SHOWN_PROBLEMS
            problem = support.rel_path and _missing(support, case, vault, sections, hints=hints)
            if problem:
                note(case, problem)
    problems.refuse("missing-anchor")


def _missing(
    support: Support,
    case: Case,
    vault: Vault,
    sections: SectionsOf,
    *,
    hints: bool,
) -> str | None:
    """Say what of a support is missing, with the nearest there is where `hints` are shown: they take long."""
    keys = vault.notes_at(support.rel_path, case.vaults_of(support))
    if not keys:
        names = [support.vault] if support.vault else list(case.vaults or vault.directories)
        paths = [path for name, path in vault.texts if name in names] if hints else []
        return f"gold note {quoted(support.rel_path)} is not in the vault{_nearest(support.rel_path, paths)}"
    texts = [vault.texts[key] for key in keys]
    where, wanted = repr(support.rel_path), support.heading_path
    if wanted is not None:
        notes = [sections(key) for key in keys]
        texts = [text for key, note in zip(keys, notes, strict=True) for text in _texts(vault.texts[key], note, wanted)]
        if not texts:
            return f"{where} has no heading {quoted(wanted)}{_nearest_heading(wanted, notes) if hints else ''}"
        lines = next(filter(None, (note.ambiguous(wanted) for note in notes)), ())
        if lines:
            which = f"in lines {enumerated(list(map(str, lines)))}, which differ in capitals or markup alone"
            return f"{quoted(wanted)} is each of several headings of {where}, {which}; write it as the note does"
        where = f"the section {quoted(wanted)} of {where}"
    for snippet in support.snippets:
        if not any(headings.holds(text, snippet) for text in texts):
            elsewhere = _elsewhere(snippet, [vault.texts[key] for key in keys]) if hints else ""
            return f"snippet {quoted(snippet, limit=80)} is not in {where}{elsewhere}"
    return None


def _texts(text: str, note: SectionNames, wanted: str) -> list[str]:
    """Return the texts of the sections that a heading path names, each with its subsections."""
    lines = headings.lines_of(text)
    return ["\n".join(lines[begin:end]) for begin, end in {(it.begin, it.end) for it in note.inside(wanted)}]


def _nearest_heading(wanted: str, notes: Sequence[SectionNames]) -> str:
    """Name the heading that is most like a wanted one, with its marks, as it would stand in the golden set."""
    paths = {
        " > ".join(section.path): written(section.path, section.levels) for note in notes for section in note.sections
    }
    close = nearest(" > ".join(elements(wanted)), [*paths], cutoff=0.5)
    return f"; did you mean {quoted(paths[close])}?" if close else ""


def _elsewhere(snippet: str, texts: Sequence[str]) -> str:
    """Return where in its note a snippet stands that is not in its section."""
    line = next((headings.line_with(text, snippet) for text in texts if headings.holds(text, snippet)), None)
    return "" if line is None else f", but in line {line} of the note; name the section that it is in"


def _nearest(wanted: str, candidates: list[str]) -> str:
    close = nearest(wanted, candidates, cutoff=0.5)
    return f"; nearest: {quoted(close)}" if close else ""
