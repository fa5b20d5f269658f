"""What `raggate lint` looks for in questions, labels, notes and workflows: inputs in, findings out."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil

from raggate.base.headings import elements, rendered, without_attributes
from raggate.base.quote import enumerated, quoted
from raggate.inputs import headings
from raggate.inputs.headings import SectionNames, SectionsOf, sections_of
from raggate.inputs.notes import spaced, words
from raggate.models.golden import Case, Golden, Support, Vault
from raggate.models.lint import LintFinding

QUOTED_WORDS = 3
"""Words of headings from which on a question that repeats them gives its answer away; fewer are names of things."""

ANSWER_WORDS = 4
"""Words in a row from which on a snippet does."""

LONG_SECTION = 1_000
"""Characters of a section from which on most chunkers cut it, so that any piece of it counts as found."""

ALIKE = 0.8
"""Share of their words that two questions have in common from which on they are nearly the same."""

_Note = tuple[str, str]
_KINDS = {"code": "code", "table": "a table"}


def check_questions(golden: Golden, path: str) -> Iterator[LintFinding]:
    """Check what the cases ask."""
    yield from _twice(golden, path)
    for case in golden.cases:
        yield from leaks(case, path)
    if golden.cases and all(case.answerable for case in golden.cases):
        yield LintFinding("no-unanswerable", path, 1, "", "every question is answerable")


def _twice(golden: Golden, path: str) -> Iterator[LintFinding]:
    first: dict[tuple[str, object], Case] = {}
    distinct: list[Case] = []
    for case in golden.cases:
        earlier = first.setdefault((" ".join(words(case.question)), _scope(case)), case)
        if earlier is case:
            distinct.append(case)
        else:
            message = f"asks the same as question {quoted(earlier.id)} in line {earlier.line}"
            yield LintFinding("duplicate-question", path, case.line, case.id, message)
    for left, right in alike([words(case.question) for case in distinct], ALIKE):
        case, later = distinct[left], distinct[right]
        if _scope(case) == _scope(later) and (case.group is None or case.group != later.group):
            message = f"asks nearly the same as question {quoted(case.id)} in line {case.line}: {quoted(case.question)}"
            yield LintFinding("near-duplicate-question", path, later.line, later.id, message)


def _scope(case: Case) -> object:
    return case.vaults, case.folders, case.modes


def leaks(case: Case, path: str) -> Iterator[LintFinding]:
    """Report the parts of its gold supports that a question quotes; `path` is the golden set's file."""
    question = spaced(case.question)
    quoting = (_quoted_titles(support, question) for support in case.gold_supports)
    if titles := [*dict.fromkeys(chain.from_iterable(quoting))]:
        names = enumerated([*map(quoted, titles)])
        noun = "heading" if len(titles) == 1 else "headings"
        yield LintFinding("leaked-heading", path, case.line, case.id, f"quotes the {noun} {names}")
    for snippet in dict.fromkeys(text for support in case.gold_supports for text in support.snippets):
        if _stands(snippet, question, ANSWER_WORDS):
            yield LintFinding("leaked-answer", path, case.line, case.id, f"quotes the snippet {quoted(snippet)}")


def _quoted_titles(support: Support, question: str) -> list[str]:
    """Return the headings of a gold support that a question repeats, if these are most of what it says."""
    titles = (rendered(without_attributes(title)) for title in elements(support.heading_path or ""))
    standing = [title for title in titles if _stands(title, question, 1)]
    repeated = {word for title in standing for word in words(title)}
    most = len(repeated) > 1 and 2 * len(repeated) >= len(question.split())
    return standing if len(repeated) >= QUOTED_WORDS or most else []


def _stands(text: str, question: str, least: int) -> bool:
    given = words(text)
    return len(given) >= least and spaced(text) in question


def alike(texts: Sequence[Sequence[str]], least: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of texts that have this share of their words in common (Jaccard), by position, the earlier first.

    Two such texts share one of their rarest words: of so few of them that most pairs are never looked at.
    """
    sets = [frozenset(text) for text in texts]
    count = Counter(word for text in sets for word in text)
    holders: dict[str, list[int]] = {}
    for position, text in enumerate(sets):
        rare = sorted(text, key=lambda word: (count[word], word))
        prefix = rare[: len(text) - ceil(least * len(text) - 1e-9) + 1]
        for other in sorted({earlier for word in prefix for earlier in holders.get(word, ())}):
            common = len(text & sets[other])
            if common >= least * (len(text) + len(sets[other]) - common) - 1e-9:
                yield other, position
        for word in prefix:
            holders.setdefault(word, []).append(position)


def check_supports(golden: Golden, vault: Vault, path: str, *, snippets: bool) -> Iterator[LintFinding]:
    """Check where the answers stand; `snippets`: whether they are read at all."""
    sections = sections_of(vault)
    for case in golden.cases:
        for support in case.gold_supports:
            notes = vault.notes_at(support.rel_path, case.vaults_of(support))
            if message := _ambiguity(support, notes, vault, sections):
                yield LintFinding("ambiguous-anchor", path, case.line, case.id, message)
            if snippets and (message := _too_much(support, notes, vault, sections)):
                yield LintFinding("missing-snippet", path, case.line, case.id, message)


def check_notes(golden: Golden, vault: Vault, folders: Mapping[str, str]) -> Iterator[LintFinding]:
    """Check which notes no question is about."""
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


def _ambiguity(support: Support, notes: list[_Note], vault: Vault, sections: SectionsOf) -> str:
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


def _too_much(support: Support, notes: list[_Note], vault: Vault, sections: SectionsOf) -> str:
    """Return why a place alone does not say which text answers; empty if it does, or a snippet does."""
    if support.snippets or not notes:
        return ""
    lines = headings.lines_of(vault.texts[notes[0]])
    named = sections(notes[0]).named(support.heading_path) if support.heading_path else ()
    begin, end = min(((section.begin, section.end) for section in named), default=(0, len(lines)))
    own = [*zip(headings.kinds_of(lines), lines, strict=True)][begin:end]
    length = sum(len(line) for _, line in own)
    mostly = next(
        (noun for kind, noun in _KINDS.items() if 2 * sum(len(line) for its, line in own if its == kind) > length), ""
    )
    if length <= LONG_SECTION and not mostly:
        return ""
    where = f"{quoted(support.rel_path)}{f' {quoted(support.heading_path)}' if support.heading_path else ''}"
    why = f"is mostly {mostly}" if mostly else f"has {length:,} characters"
    return f"{where} {why}, and any piece of it counts as found, as no snippet says which text answers"


def _holds(text: str, support: Support) -> bool:
    return not support.snippets or any(headings.holds(text, snippet) for snippet in support.snippets)


def _starts(text: str, sections: SectionNames, support: Support) -> list[str]:
    """Return the lines, from 1, of the sections of a support's heading that hold one of its snippets."""
    lines = headings.lines_of(text)
    own = {section for section in sections.named(support.heading_path or "") if section.begin < section.end}
    # what stands before the first heading is filed under the title too
    titled = {section for section in own if section.begin > 0 or lines[0].lstrip().startswith("#")}
    begins = {section.begin for section in titled if _holds("\n".join(lines[section.begin : section.end]), support)}
    return [str(begin + 1) for begin in sorted(begins)]
