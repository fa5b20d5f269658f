"""The trace that each question of a report was asked with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from raggate.models.comparison import Flip
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore
from raggate.scoring.first_answers import first_answers


def with_traces(run: Run, scores: Sequence[CaseScore], *several: Iterable[Flip]) -> list[tuple[Flip, ...]]:
    """Add to questions the trace id of their first answer, where one was sent; gives each group back.

    `scores` are those of the run.
    """
    groups = [tuple(flips) for flips in several]
    shown = {(flip.mode, flip.case_id) for flips in groups for flip in flips}
    results = (item.result for item in first_answers(run, shown, scores))
    ids = {(result.mode, result.case_id): result.trace_id for result in results}
    return [tuple(replace(flip, trace_id=ids.get((flip.mode, flip.case_id))) for flip in flips) for flips in groups]
