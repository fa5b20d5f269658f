"""The trace that each question of a report was asked with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from raggate.models.comparison import Flip
from raggate.models.run import Run


def with_traces(run: Run, *several: Iterable[Flip]) -> list[tuple[Flip, ...]]:
    """Add to questions the trace id of their first answer, where one was sent; gives each group back."""
    groups = [tuple(flips) for flips in several]
    shown = {(flip.mode, flip.case_id) for flips in groups for flip in flips}
    results = (item.result for item in run.results) if shown else ()
    ids = {key: result.trace_id for result in results if (key := (result.mode, result.case_id)) in shown}
    return [tuple(replace(flip, trace_id=ids.get((flip.mode, flip.case_id))) for flip in flips) for flips in groups]
