"""The trace that each question of a report was asked with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from raggate.models.comparison import Flip
from raggate.models.run import Run


def with_traces(run: Run, *several: Iterable[Flip]) -> list[tuple[Flip, ...]]:
    """Add to questions the trace id of their first answer, where one was sent; gives each group back."""
    by_question = {(item.result.mode, item.case.id): item.result.trace_id for item in run.results}
    return [
        tuple(replace(flip, trace_id=by_question.get((flip.mode, flip.case_id))) for flip in flips) for flips in several
    ]
