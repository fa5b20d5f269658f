"""A golden set and what a configuration, or a command line, says of it -> the questions that are asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from raggate.config.question_settings import QuestionChoice
from raggate.errors import UsageError
from raggate.models.golden import Case, Golden, Selection, digest
from raggate.text.numbers import counted, lot
from raggate.text.quote import quoted, suggestion
from raggate.text.yamlio import Path

Refuse = Callable[[Path, str], UsageError]
"""Makes the error of what is wrong with a key of the configuration."""


def asked_of(golden: Golden, selection: Selection | None) -> Golden:
    """Return a golden set with the questions of a partial run alone; its hash stays that of the whole one."""
    if selection is None:
        return golden
    asked = frozenset(selection.asked)
    return replace(golden, cases=tuple(case for case in golden.cases if case.id in asked), part_of=None)


def part_of(whole: Golden, questions: QuestionChoice | None, refuse: Refuse) -> Golden:
    """Return the golden set of a suite: all of it, or the questions that its configuration chooses, in the same order.

    Args:
        questions: the section `questions`; None for all of them.
        refuse: see `Refuse`.

    Raises:
        UsageError: what `refuse` makes of a tag that no question has, and of a choice that no question fits.
    """
    if questions is None:
        return whole
    strange = set(questions.tags).difference(*(case.tags for case in whole.cases))
    kept = tuple(case for case in whole.cases if chosen(case, questions))
    for index, tag in enumerate(questions.tags):
        if tag in strange:
            raise refuse(("questions", "tags", index), _no_tag(tag, whole))
    if not kept:
        text = f"none of the {counted(len(whole.cases), 'question')} of {whole.name} is chosen: nothing would be asked"
        raise refuse(("questions",), text)
    if len(kept) == len(whole.cases):
        return whole
    return replace(whole, cases=kept, hash=digest(kept), part_of=len(whole.cases))


def chosen(case: Case, questions: QuestionChoice) -> bool:
    """Return whether a question is one of a suite. Nothing but the question itself has a say."""
    named = (questions.must_pass and case.must_pass) or any(tag in questions.tags for tag in case.tags)
    return named or _drawn(case.id, questions.sample)


def _drawn(case_id: str, share: float | None) -> bool:
    """Draw by the id alone, so that neither other questions, nor rewording one or moving its line, draw anew."""
    return share is not None and int.from_bytes(lot("sample", case_id)[:8]) / (1 << 64) < share


def _no_tag(tag: str, whole: Golden) -> str:
    known: Iterable[str] = dict.fromkeys(name for case in whole.cases for name in case.tags)
    return f"no question of {whole.name} has the tag {quoted(tag)}{suggestion(tag, known)}"
