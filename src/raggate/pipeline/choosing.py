"""A golden set and what a command line says of it -> the questions of a partial run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from raggate.errors import UsageError
from raggate.inputs import expressions
from raggate.models.golden import Case, Golden
from raggate.models.selection import Choice, Selection
from raggate.scoring.score import slices_of
from raggate.text.nearest import nearest_few, suggestion
from raggate.text.quote import cut, listed, quoted

Keeps = Callable[[Case], bool]


def selected(choice: Choice, golden: Golden, broken: Callable[[], frozenset[str]]) -> Selection | None:
    """Choose the questions; None where all are asked, so that the run is whole.

    Args:
        broken: gives the questions that were broken when they were last asked.

    Raises:
        UsageError: for an id, a tag or a slice that no question has, for no question at all, and what `broken` raises.
    """
    keeps = [*_keeps(choice, golden)]
    if choice.failed:
        last = broken()
        keeps.append(lambda case: case.id in last)
    asked = [case.id for case in golden.cases if all(keep(case) for keep in keeps)]
    if not asked:
        raise _nothing(choice, golden)
    asked = asked[: choice.limit]
    if len(asked) == len(golden.cases):
        return None
    return Selection(asked=tuple(asked), of=len(golden.cases), words=choice.words)


def _keeps(choice: Choice, golden: Golden) -> Iterator[Keeps]:
    cases, check = golden.cases, partial(_check, golden)
    if choice.matching is not None:
        fits = expressions.compiled(choice.matching)
        yield lambda case: fits(_texts(case))
    if choice.cases:
        check("--case", choice.cases, [case.id for case in cases], "question")
        yield lambda case: case.id in choice.cases
    if choice.tags:
        check("--tag", choice.tags, list(dict.fromkeys(tag for case in cases for tag in case.tags)), "tag")
        yield lambda case: not set(choice.tags).isdisjoint(case.tags)
    if choice.slices:
        names = dict.fromkeys(name for case in cases for name in slices_of(case))
        check("--slice", choice.slices, list(names), "slice")
        for dimension in dict.fromkeys(name.partition("=")[0] for name in choice.slices):
            wanted = {name for name in choice.slices if name.partition("=")[0] == dimension}
            yield lambda case, wanted=wanted: not wanted.isdisjoint(slices_of(case))  # type: ignore[misc]


def _texts(case: Case) -> list[str]:
    return [text.casefold() for text in (case.id, case.question, case.category, *case.tags)]


def _check(golden: Golden, option: str, given: Sequence[str], known: Sequence[str], noun: str) -> None:
    for value in given:
        if value not in known:
            like = ", ".join(map(cut, nearest_few(value, known)))
            some = f"It has {listed([*map(cut, known)], most=10)}." if known else f"There is no {noun} at all."
            hint = f"The nearest: {like}." if like else some
            raise UsageError(f"{option}: {golden.noun} has no {noun} {quoted(value)}", hint=hint)


def _nothing(choice: Choice, golden: Golden) -> UsageError:
    """Say that no question is left, and which ids and words are most like those that were searched for."""
    ids = [case.id for case in golden.cases]
    if choice.matching is None:
        return UsageError(
            f"no question of {_place(golden)} fits {choice.words}: nothing was asked",
            hint="All that is said must hold of a question; say less.",
        )
    searched = expressions.words_of(choice.matching)
    like = list(dict.fromkeys(name for word in searched for name in nearest_few(word, ids)))[:5]
    words = (word.strip(".,:;?!()\"'") for case in golden.cases for text in _texts(case) for word in text.split())
    meant = suggestion(searched[0], dict.fromkeys(words)) if searched else ""
    return UsageError(
        f"no question of {_place(golden)} fits {choice.words}: nothing was asked{meant}",
        hint=f"The nearest ids: {', '.join(map(cut, like))}." if like else "",
    )


def _place(golden: Golden) -> str:
    return golden.name if golden.part_of is None else f"the suite's part of {golden.name}"
