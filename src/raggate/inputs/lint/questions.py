"""Golden set -> questions asked twice, questions that give their answer away, and labels that say too little."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from raggate.inputs.lint.likeness import alike
from raggate.inputs.note_words import words
from raggate.models.golden import Case, Golden, Support
from raggate.models.lint import LintFinding
from raggate.text.anchors import elements
from raggate.text.quote import enumerated, quoted
from raggate.text.titles import rendered, without_attributes

QUOTED_WORDS = 3
"""Words of headings from which on a question that repeats them gives its answer away; fewer are names of things."""

ANSWER_WORDS = 4
"""Words in a row from which on a snippet does."""

ALIKE = 0.8
"""Share of their words that two questions have in common from which on they are nearly the same."""


def check_questions(golden: Golden, path: str) -> Iterator[LintFinding]:
    """Check what the cases ask."""
    yield from _twice(golden, path)
    for case in golden.cases:
        yield from leaks(case, path)
        yield from _ungrouped(case, path)
    if golden.cases and all(case.answerable for case in golden.cases):
        yield LintFinding("no-unanswerable", path, 1, "", "every question is answerable")


def _twice(golden: Golden, path: str) -> Iterator[LintFinding]:
    """Tell of questions that occur twice, and of those that nearly do and are of no common group."""
    first: dict[tuple[str, object], Case] = {}
    distinct: list[Case] = []
    for case in golden.cases:
        earlier = first.setdefault((" ".join(words(case.question)), _scope(case)), case)
        if earlier is case:
            distinct.append(case)
        else:
            message = f"asks the same as case {quoted(earlier.id)} in line {earlier.line}"
            yield LintFinding("duplicate-question", path, case.line, case.id, message)
    for left, right in alike([words(case.question) for case in distinct], ALIKE):
        case, later = distinct[left], distinct[right]
        if _scope(case) == _scope(later) and (case.group is None or case.group != later.group):
            message = f"asks nearly the same as case {quoted(case.id)} in line {case.line}: {quoted(case.question)}"
            yield LintFinding("near-duplicate-question", path, later.line, later.id, message)


def _scope(case: Case) -> object:
    """Return where and how a question is asked: in two scopes it is two questions."""
    return case.vaults, case.folders, case.modes


def leaks(case: Case, path: str) -> Iterator[LintFinding]:
    """Tell what of its gold supports a question quotes; `path` is the golden set's file."""
    question = _spaced(case.question)
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


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def _stands(text: str, question: str, least: int) -> bool:
    given = words(text)
    return len(given) >= least and _spaced(text) in question


def _ungrouped(case: Case, path: str) -> Iterator[LintFinding]:
    notes = {(support.vault, support.rel_path) for support in case.gold_supports if support.rel_path}
    if len(notes) > 1 and case.required_support_groups is None:
        yield LintFinding(
            "ungrouped-supports", path, case.line, case.id, f"{len(notes)} notes, any of which counts as found"
        )
