"""Reviews of runs that asked a part of the questions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from builders import make_golden
from raggate.models.golden import Choice, Selection
from raggate.models.run import LabelledResult
from raggate.models.verdict import Review
from reviews import QUESTIONS, from_elsewhere, good
from situations import judged, lost, now, usual


@cache
def partial() -> Review:
    """Three questions were asked, and none of them is worse."""
    return _part(good(), (1, 3, 7))


@cache
def failed_in_part() -> Review:
    """Three questions were asked, one of which is lost."""
    return _part(lost(3), (1, 3, 5))


def _part(items: Sequence[LabelledResult], numbers: tuple[int, ...]) -> Review:
    ids = tuple(QUESTIONS[number].id for number in numbers)
    selection = Selection(asked=ids, of=len(items), words=Choice(cases=ids).words)
    run = now([items[number] for number in numbers], golden=make_golden(*(item.case for item in items)))
    command = f"raggate check --against origin/main {selection.words}"
    return judged(from_elsewhere(replace(run, selection=selection), reproduce=command), usual())


PARTS = {"partial": partial, "failed-in-part": failed_in_part}
