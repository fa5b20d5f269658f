"""The change's own files beside a verdict that others gave: what they would mean if they were merged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from raggate.errors import ExitCode, RaggateError
from raggate.gate import merge_effects, preview
from raggate.inputs.trusted import Inputs, load_worktree
from raggate.models.verdict import Preview, Review
from raggate.pipeline import judging, measure
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import check_names, source_of
from raggate.scoring import score

_NOT_ASKED = "the change's own questions and notes were not measured: the run was read, not asked"


def with_preview(review: Review, look: Callable[[], Preview | None]) -> Review:
    """Add what the change's own files would mean, or why that cannot be said, and what it makes of the verdict.

    Raises:
        RaggateError: when looking was interrupted; any other error is a part of the preview.
    """
    try:
        change = look()
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        change = preview.failed(error)
    return previewed(review, change)


def previewed(review: Review, change: Preview | None) -> Review:
    """Add what the change's own files would mean, and what that makes of the verdict."""
    decided = merge_effects.foreseen(review.verdict, change, review.comparison)
    lowers = review.lowers if decided.outcome == "pass" else ()
    return replace(review, context=replace(review.context, preview=change), verdict=decided, lowers=lowers)


def by_another_commit(inputs: Inputs) -> bool:
    """Say whether another commit's files judge, beside which those of the working tree are a change."""
    return inputs.against is not None and not inputs.first_run


def preview_of(request: Request, inputs: Inputs, directory: Path, review: Review, *, asking: bool) -> Preview | None:
    """Say what the working tree's own files would mean; where questions or notes differ, they are asked too."""
    if not by_another_commit(inputs) or review.run.selection is not None:
        return None
    if not inputs.ignored:
        return Preview()
    if request.matched and not (request.root / request.config_name).exists():
        return Preview(retired=True)
    change = load_worktree(
        replace(source_of(request), baseline_file=None),
        lambda settings, name: check_names(request.overrides.apply(settings), name),
    )
    judging.check_files(change)
    changes = preview.changes(inputs, change, score.directions(inputs.config.score.k), request.systems)
    same = (change.golden.hash, change.vault.hash) == (inputs.golden.hash, inputs.vault.hash)
    if same or review.run.stopped is not None:
        return changes
    if not asking:
        return replace(changes, problems=(*changes.problems, _NOT_ASKED))
    request.say("measuring the change's own questions and notes too, which decides nothing")
    # its settings have no say, not even here
    once = replace(inputs, config=inputs.config.asking_once())
    mixed = replace(once, golden=change.golden, vault=change.vault, baseline=None)
    _, again, scorecard = measure.measure(request, mixed, directory)
    problems = (again.stopped,) if again.stopped else ()
    rows = preview.advisory_rows(review.scorecard, scorecard)
    return replace(changes, rows=rows, problems=(*changes.problems, *problems))
