"""Golden set x vault -> gold supports that name several places, and notes that no question is about."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from raggate.inputs import headings
from raggate.inputs.section_names import SectionNames
from raggate.models.golden import Golden, Support, Vault
from raggate.models.lint import LintFinding
from raggate.text.quote import enumerated, quoted

_Note = tuple[str, str]
_Sections = Callable[[_Note], SectionNames]


def check_supports(golden: Golden, vault: Vault, path: str) -> Iterator[LintFinding]:
    """Check where the answers stand.

    Args:
        golden: the golden set, all of whose supports stand in the vault.
    """
    sections = cache(lambda note: SectionNames(vault.texts[note], note[1]))
    for case in golden.cases:
        for support in case.gold_supports:
            notes = vault.notes_at(support.rel_path, case.vaults_of(support))
            if message := _ambiguity(support, notes, vault, sections):
                yield LintFinding("ambiguous-anchor", path, case.line, case.id, message)
            if message := _look_alikes(support, notes, sections):
                yield LintFinding("look-alike-heading", path, case.line, case.id, message)


def check_notes(golden: Golden, vault: Vault, folders: Mapping[str, str]) -> Iterator[LintFinding]:
    """Check which notes no question is about.

    Args:
        vault: the notes that questions may be about.
    """
    supports = [(case, support) for case in golden.cases for support in case.gold_supports]
    # what is labelled by the API's own ids may be about any note
    if any(not support.rel_path for _, support in supports):
        return
    asked = {note for case, support in supports for note in vault.notes_at(support.rel_path, case.vaults_of(support))}
    for name, rel_path in vault.texts:
        if (name, rel_path) not in asked:
            place = posixpath.normpath(f"{folders[name]}/{rel_path}")
            yield LintFinding("unasked-note", place, 1, "", "no question of the suite names this note")


def check_encoding(vault: Vault, folders: Mapping[str, str]) -> Iterator[LintFinding]:
    """Check which notes are not UTF-8."""
    for (name, rel_path), place in vault.malformed.items():
        path = posixpath.normpath(f"{folders[name]}/{rel_path}")
        yield LintFinding("malformed-note", path, place.line, "", str(place))


def _ambiguity(support: Support, notes: list[_Note], vault: Vault, sections: _Sections) -> str:
    """Return which places a support names where these are several; nothing where its snippets leave one."""
    holding = [note for note in notes if _holds(vault.texts[note], support)]
    if len(holding) > 1:
        names = enumerated([name for name, _ in holding])
        return f"{quoted(support.rel_path)} is in the vaults {names}"
    if not holding or support.heading_path is None:
        return ""
    text = vault.texts[holding[0]]
    lines = _starts(text, sections(holding[0]), support)
    if len(lines) < 2:
        return ""
    return f"{quoted(support.rel_path)} has the heading {quoted(support.heading_path)} in lines {enumerated(lines)}"


def _holds(text: str, support: Support) -> bool:
    return not support.snippets or any(headings.holds(text, snippet) for snippet in support.snippets)


def _look_alikes(support: Support, notes: list[_Note], sections: _Sections) -> str:
    """Return which other headings of its note a support's could be taken for; nothing where there are none."""
    for note in notes if support.heading_path is not None else ():
        lines = [str(line) for line in sections(note).look_alikes(support.heading_path or "")]
        if lines:
            where = f"line{'s' if len(lines) > 1 else ''} {enumerated(lines)}"
            alike = f"heading {quoted(support.heading_path)} and that of {where}"
            return f"{quoted(support.rel_path)} has the {alike}, which differ in capitals or markup alone"
    return ""


def _starts(text: str, sections: SectionNames, support: Support) -> list[str]:
    """Return the lines, from 1, of the sections of a support's heading that hold one of its snippets."""
    lines = headings.lines_of(text)
    own = {section for section in sections.named(support.heading_path or "") if section.begin < section.end}
    # what stands before the first heading is filed under the title too
    titled = {section for section in own if section.begin > 0 or lines[0].lstrip().startswith("#")}
    begins = {section.begin for section in titled if _holds("\n".join(lines[section.begin : section.end]), support)}
    return [str(begin + 1) for begin in sorted(begins)]
