"""The change's own files beside a verdict that others gave: what they would mean if they were merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.config import schema
from raggate.gate import preview, waivers, wording
from raggate.gate.invariants import invariants, list_drift
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs, files_that_judge, load_change
from raggate.models.run import Run
from raggate.models.verdict import Preview, Review
from raggate.pipeline import judging, measure
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import check_names, source_of
from raggate.scoring import score

_NOT_ASKED = "the change's own questions and notes were not measured, because a stored run was judged"

_NOT_COMMITTED = (
    "files of the measured checkout differ from its commit, for example by .gitattributes or a step before the gate"
)


def with_preview(review: Review, look: Callable[[], Preview | None]) -> Review:
    """Add what the change's own files would mean, or why that cannot be said, and what it makes of the verdict."""
    try:
        change = look()
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        change = preview.failed(error)
    return previewed(review, change)


def previewed(review: Review, change: Preview | None) -> Review:
    """Add what the change's own files would mean, and what that makes of the verdict."""
    decided = preview.foreseen(review.verdict, change, review.comparison)
    lowers = review.lowers if decided.outcome == "pass" else ()
    return replace(review, context=replace(review.context, preview=change), verdict=decided, lowers=lowers)


def by_another_commit(inputs: Inputs) -> bool:
    """Return whether another commit's files judge, beside which those of the working tree are a change."""
    return inputs.against is not None and not inputs.first_run


def measured_at(run: Run, *, asking: bool) -> str:
    """Name the commit of a change that was just asked, `asking`: by now something else may be checked out.

    Of a run that was only read its commit is its own word, and what is checked out counts.
    """
    return (run.provenance.checkout.commit if asking else None) or "HEAD"


@contextmanager
def merged(request: Request, revision: str) -> Iterator[sources.Source]:
    """Open what gets merged of a change: in a job with a repository what is committed, else what is on disk."""
    with ExitStack() as stack:
        change: sources.Source = sources.WorkTree(request.root, confined=True)
        if request.in_job:
            with suppress(UsageError):
                change = stack.enter_context(sources.at(request.root, revision, request.remote))
        yield change


def preview_of(request: Request, inputs: Inputs, directory: Path, review: Review, *, asking: bool) -> Preview | None:
    """Preview the working tree's own files; if questions or notes differ, they are asked too."""
    if not by_another_commit(inputs) or review.run.selection is not None:
        return None
    changes, checkout = _looked_at(request, inputs, directory, review, asking=asking), review.run.provenance.checkout
    if not (request.in_job and checkout.dirty):
        return changes
    # the files have names if this checkout is the one that was just asked
    commit = checkout.commit if asking else None
    names = sources.changed_files(request.root, commit, request.remote) if commit else ()
    problem = f"{_NOT_COMMITTED}: {wording.some(names)}" if names else _NOT_COMMITTED
    return replace(changes, problems=(*changes.problems, problem))


def _looked_at(request: Request, inputs: Inputs, directory: Path, review: Review, *, asking: bool) -> Preview:
    with ExitStack() as stack:
        commit, changed, otherwise = _committed(stack, request, inputs, measured_at(review.run, asking=asking))
        if not inputs.ignored and not changed:
            return Preview()
        if request.matched and not (request.root / request.config_name).exists():
            return Preview(retired=True)
        # what is committed gets merged; but what a person has changed and not committed is what they are at. A job
        # reads the commit though the disk has the same: something may write there between comparing and reading
        at_work = not request.in_job and sources.head(request.root).dirty is not False
        merged = commit if changed and (request.in_job or otherwise) and not at_work else None
        changes = _changes(request, inputs, directory, review, asking=asking, merged=merged)
    if not otherwise or merged is not None:
        return changes
    problem = f"the checked-out commit and the working tree differ in {wording.some(otherwise)}"
    return replace(changes, problems=(*changes.problems, problem))


def _committed(
    stack: ExitStack, request: Request, inputs: Inputs, measured: str
) -> tuple[sources.Source | None, Sequence[str], Sequence[str]]:
    """Open the commit that was measured, and name the files that judge and it changes, and those not as on disk.

    By its attributes a change can have git check a file out otherwise than it is committed, even as the base has it.
    """
    root, remote = request.root, request.remote
    try:
        head = stack.enter_context(sources.at(root, measured, remote, request.folder))
        if head.commit == inputs.against:
            return head, (), ()
        base = stack.enter_context(sources.at(root, inputs.against, remote))
    except UsageError:
        # a job may have the files without the repository
        return None, (), ()
    own = _own_files(request, head) if head.identity(request.config_name) != base.identity(request.config_name) else ()
    paths = dict.fromkeys((*files_that_judge(source_of(request), inputs.config), *own))
    new = {path for path in own if head.identity(path) is None}
    changed = [path for path in paths if head.identity(path) != base.identity(path) or path in new]
    for path in changed:
        # as every run after the merge does, which takes less than a disk does
        if not head.directory(path).is_dir():
            with suppress(FileNotFoundError):
                head.read(path)
    names = head.differing(changed) if changed else ()
    ids = ((name, head.identity(name)) for name in names)
    others = tuple(name for name, known in ids if known is not None and known != base.identity(name))
    alone = (path for path in changed if head.identity(path) is None and (root / path).exists())
    return head, changed, (*others, *alone, *head.repositories(changed))


def _own_files(request: Request, head: sources.Source) -> Sequence[str]:
    """Name the files that judge by the change's own settings, as they are committed; none where these are no settings.

    Errors in them are reported when they are read as a whole.
    """
    try:
        name = request.config_name
        settings = request.overrides.apply(schema.load(head.read(name), head.place(name)))
    except (UsageError, FileNotFoundError):
        return ()
    return files_that_judge(source_of(request), settings)


def _changes(
    request: Request, inputs: Inputs, directory: Path, review: Review, *, asking: bool, merged: sources.Source | None
) -> Preview:
    """Compare the files of the change with those that counted: those of a commit, else of the working tree."""
    change = load_change(
        source_of(request),
        lambda settings, name: check_names(request.overrides.apply(settings), name),
        merged,
        trusted=inputs.vault,
    )
    judging.check_files(change)
    waivers.check_cases(change.config, change.golden, request.config_place)
    changes = preview.changes(inputs, change, score.directions(inputs.config.score.k))
    same = (change.golden.hash, change.vault.hash) == (inputs.golden.hash, inputs.vault.hash)
    if same or review.run.stopped is not None:
        return changes
    if not asking:
        return replace(changes, problems=(*changes.problems, _NOT_ASKED))
    mixed = replace(inputs, golden=change.golden, vault=change.vault)
    try:
        return _measured(request, mixed, directory, review, changes)
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        # an API that is not there for the change's own notes must not hide what else the change edits
        return replace(changes, problems=(*changes.problems, error.message))


def _measured(request: Request, mixed: Inputs, directory: Path, review: Review, changes: Preview) -> Preview:
    """Ask the change's own questions over its own notes; add the means, and what does not hold there, to a preview."""
    request.say("also measuring the change's own questions and notes, which do not affect the verdict")
    # its settings have no say, not even here
    once = replace(mixed, config=mixed.config.asking_once(), baseline=None)
    _, again, scorecard = measure.measure(request, once, directory)
    baseline = review.comparison.baseline
    findings = invariants.check_answers(again, once.config.invariants, once.config.gate)
    return replace(
        changes,
        rows=preview.advisory_rows(review.scorecard, scorecard),
        unmet=preview.unmet(list_drift.without_known_depths(findings, scorecard, baseline), review.findings),
        problems=(*changes.problems, *((again.stopped,) if again.stopped else ())),
    )
