"""What a question that must pass lacks: it has to pass in each of its answers. Pure."""

from __future__ import annotations

from raggate.models.metric_names import (
    ABSTENTION_ACCURACY,
    FALSE_ABSTENTION_RATE,
    HIT,
    RECALL_ALL,
    at_depth,
    family,
)
from raggate.models.scorecard import UNANSWERABLE, CaseScore, mostly


def lacking(case: CaseScore, depth: int) -> tuple[str, str] | None:
    """Say what a question that must pass lacks, and by which metric that is seen; None when it passes.

    Args:
        depth: the rank within which it must be found.
    """
    lacks = [_lack(answer, depth) for answer in _answers(case)]
    missed = [lack for lack in lacks if lack is not None]
    if not missed:
        return None
    message, metric = missed[0]
    return f"{message} in {len(missed)} of {len(lacks)} answers" if len(lacks) > 1 else message, metric


def first_miss(case: CaseScore, depth: int) -> int:
    """Return the place of the first answer, from 0, in which a question lacks something; 0 where none does."""
    places = (place for place, answer in enumerate(_answers(case)) if _lack(answer, depth) is not None)
    return next(places, 0)


def _answers(case: CaseScore) -> tuple[CaseScore, ...]:
    return case.answers or (case,)


def _lack(case: CaseScore, depth: int) -> tuple[str, str] | None:
    if case.failure is not None:
        message = "it was not asked" if case.failure == "aborted" else f"the call failed ({case.failure})"
        return message, at_depth(HIT, depth)
    abstained = case.values.get(ABSTENTION_ACCURACY)
    if abstained is not None:
        return None if mostly(abstained) else ("the API answered and should have abstained", ABSTENTION_ACCURACY)
    if mostly(case.values.get(FALSE_ABSTENTION_RATE)):
        return "the API abstained", FALSE_ABSTENTION_RATE
    if UNANSWERABLE in case.slices:
        return "whether the API abstains is not read from its answers", ABSTENTION_ACCURACY
    grouped = any(family(name) == RECALL_ALL and value is not None for name, value in case.values.items())
    rank = case.rank_all if grouped else case.rank
    if rank is not None and rank <= depth:
        return None
    nothing = "not all that it needs is there" if grouped else "nothing expected is"
    return f"{nothing} within rank {depth}", at_depth(RECALL_ALL if grouped else HIT, depth)
