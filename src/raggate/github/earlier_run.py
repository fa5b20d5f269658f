"""A workflow run that measured earlier -> its run, verified to be one that may become the baseline, and the evidence.

What GitHub says of the workflow run is checked first, then the artifact, then the run in it against the trusted inputs
at the head of the target branch. Every refusal says which of them it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from raggate.base.dates import days_between
from raggate.base.errors import CannotTell, UsageError
from raggate.base.jsonio import dumps, fields
from raggate.base.numbers import fixed
from raggate.base.quote import cut, quoted
from raggate.config.schema import Config
from raggate.gate import wording
from raggate.gate.compare import note_changes
from raggate.gate.preview import golden_changes
from raggate.github import untrusted_run, workflow_files
from raggate.github.rest import artifacts, pulls
from raggate.github.rest.artifacts import Artifact
from raggate.github.rest.client import address
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import find
from raggate.inputs.trusted import Inputs
from raggate.models.provenance import Evidence
from raggate.models.run import Run

MEASURE_AGAIN = "Measure again at the head of the branch: promote without `run-id`."
UNCHANGED = "Let no step before raggate change files that are in git."
EVENTS = frozenset(("push", "schedule", "workflow_dispatch", "merge_group"))
"""What may have started the workflow run. A pull request's own run measured a merge that is on no branch."""

MOST_DAYS = 14
"""The age of the oldest run that is taken."""

_QUEUE = "gh-readonly-queue"
_AGAIN = "Promote without `run-id` to measure the head of the branch, or name a run of that branch."


class RunSelector(Struct, frozen=True, kw_only=True):
    """The workflow run that is to be adopted for the branch `target`, whose commit `head` has the trusted inputs.

    If an `attempt` is named it must be the latest.
    """

    target: str
    head: str
    run: int
    attempt: int | None
    artifact: str
    now: str
    workflow: str = workflow_files.DEFAULT


class Downloaded(Struct, frozen=True, kw_only=True):
    """What a verified workflow run left: its artifact, and the run directories in it, not checked yet."""

    selector: RunSelector
    record: Mapping[str, Any]
    artifact: Artifact
    runs: Sequence[Mapping[str, bytes]]


def download(repository: Repository, selector: RunSelector) -> Downloaded:
    """Verify a workflow run, and take the artifact that it left."""
    record = _record(repository, selector)
    _check_origin(record, selector, repository.name.lower())
    _check_outcome(record, selector)
    _check_commit(repository, record, selector)
    artifact = _artifact(repository, record, selector)
    runs = artifacts.download(repository, artifact)
    return Downloaded(selector=selector, record=record, artifact=artifact, runs=runs)


def adopt(downloaded: Downloaded, inputs: Inputs) -> tuple[Run, Evidence]:
    """Return what a workflow run measured of a suite, as its artifact holds it, and what vouches for that."""
    selector, record, artifact = downloaded.selector, downloaded.record, downloaded.artifact
    try:
        files = untrusted_run.UntrustedRuns(downloaded.runs).only(inputs.config.suite)
    except CannotTell as error:
        raise _refusal(selector, error.message, hint=_AGAIN) from None
    if artifacts.RESULTS not in files:
        raise _refusal(selector, "its artifact has no results: nothing was measured", hint=_AGAIN)
    try:
        run = untrusted_run.read(files)
    except UsageError as error:
        raise _refusal(selector, f"the run directory in its artifact cannot be read: {error.message}") from None
    check_measured(run, inputs, str(record["head_sha"]), f"workflow run {selector.run}")
    evidence = Evidence(
        run=selector.run,
        attempt=pulls.attempt_of(record),
        event=str(record["event"]),
        commit=str(record["head_sha"]),
        url=address(record.get("html_url")),
        adopted=True,
        artifact=selector.artifact,
        digest=cut(artifact.digest, limit=100),
        image=image_of(run),
    )
    return run, evidence


def check_measured(run: Run, inputs: Inputs, commit: str, which: str) -> None:
    """Check that a run was measured by the trusted inputs, of an unchanged checkout of one commit."""
    now, fingerprint = inputs.config, run.fingerprint
    own = configuration_hash(run.config) if isinstance(run.config, Config) else None
    for what, value, expected, changed in (
        ("it is of another suite", run.suite, now.suite, None),
        ("the branch has other questions now", fingerprint.get("golden"), inputs.golden.hash, _questions),
        ("its questions do not match the golden set that it names", run.golden.hash, inputs.golden.hash, None),
        ("the branch has other notes now", fingerprint.get("vault"), inputs.vault.hash, _notes),
        ("the branch has another configuration now", own, configuration_hash(now), _sections),
    ):
        if value != expected:
            names = [cut(name, limit=80) for name in changed(run, inputs)] if changed else []
            shown = f"expected {cut(expected, limit=80)}, found {cut(value, limit=80)}"
            raise _refused(which, f"{what}: {wording.some(names) or shown}", MEASURE_AGAIN)
    checkout = run.provenance.checkout
    if checkout.commit != commit:
        found = cut(checkout.commit, limit=12)
        raise _refused(which, f"it measured a checkout of {found}, expected {commit[:12]}", MEASURE_AGAIN)
    if checkout.dirty is not False:
        raise _refused(which, "files of its checkout had been changed", UNCHANGED)


def _questions(run: Run, inputs: Inputs) -> Iterator[str]:
    changes = golden_changes(run.golden, inputs.golden)
    for how, names in (("added", changes.added), ("removed", changes.removed), ("changed", changes.relabelled)):
        yield from (f"{how} {name}" for name in names)


def _notes(run: Run, inputs: Inputs) -> Iterator[str]:
    return map(str, note_changes(fields(run.fingerprint.get("notes")), inputs.vault.notes))


def _sections(run: Run, inputs: Inputs) -> Iterator[str]:
    """Name the sections of the configuration that differ; none if the run has one of another tool."""
    if isinstance(run.config, Config):
        old, new = (one.model_dump(mode="json", exclude=_NOT_JUDGING) for one in (run.config, inputs.config))
        yield from (key for key, value in new.items() if old.get(key) != value)


_NOT_JUDGING: Any = {"waivers": True, "api": {"url": True, "container": {"image", "build"}}}


def configuration_hash(settings: Config) -> str:
    """Return the hash of everything in a configuration that decides what is measured and how it is judged.

    What is waived, and which build of the API is measured are not part of it.
    """
    return hashlib.sha256(dumps(settings.model_dump(mode="json", exclude=_NOT_JUDGING))).hexdigest()


def image_of(run: Run) -> str:
    """Return the API's image: as the engine knew it, or as the configuration names it by digest; empty for neither."""
    if run.provenance.api_image:
        return run.provenance.api_image
    container = run.config.api.container if isinstance(run.config, Config) else None
    image = container.image if container is not None else None
    return image if image is not None and "@sha256:" in image else ""


def _record(repository: Repository, selector: RunSelector) -> dict[str, Any]:
    record = repository.workflow_run(selector.run)
    if record.get("id") != selector.run:
        raise CannotTell(
            f"there is no workflow run {selector.run} in {cut(repository.name)}",
            hint="The number is in the address of the run. The job needs `actions: read`.",
        )
    return record


def _check_origin(record: Mapping[str, Any], selector: RunSelector, home: str) -> None:
    """Check where the run comes from: the repository itself, an event that may be promoted, and the target branch."""
    repository = _full_name(record.get("repository"))
    if repository.lower() != home:
        raise _refusal(selector, f"it belongs to another repository: {quoted(repository)}")
    origin = _full_name(record.get("head_repository"))
    if origin.lower() != home:
        shown = quoted(origin) if origin else "a repository that was deleted"
        raise _refusal(selector, f"it measured code of {shown}: a run from a fork is never promoted")
    event = str(record.get("event"))
    if event not in EVENTS:
        raise _refusal(
            selector, f"it was started by {quoted(event)}; expected one of {', '.join(sorted(EVENTS))}", hint=_AGAIN
        )
    branch = str(record.get("head_branch") or "")
    queued = event == "merge_group" and branch.startswith(f"{_QUEUE}/{selector.target}/")
    if branch != selector.target and not queued:
        raise _refusal(selector, f"it is of the branch {quoted(branch)}, not of {quoted(selector.target)}", hint=_AGAIN)
    path = str(record.get("path") or "")
    if not workflow_files.is_of(path, selector.workflow, branch):
        raise _refusal(
            selector,
            f"it is of the workflow {quoted(path)}, not of {quoted(selector.workflow)}. Another workflow can leave "
            f"anything under the artifact's name {quoted(selector.artifact)}",
            hint=workflow_files.NAME_IT,
        )


def _check_outcome(record: Mapping[str, Any], selector: RunSelector) -> None:
    """Check how the run ended, that no later attempt replaced the one that is meant, and its age."""
    latest = pulls.attempt_of(record)
    if selector.attempt is not None and selector.attempt != latest:
        raise _refusal(selector, f"attempt {selector.attempt} is not its latest, which is {latest}")
    if record.get("status") != "completed":
        raise _refusal(selector, f"it has not ended: it is {quoted(record.get('status'), limit=40)}")
    if record.get("conclusion") != "success":
        ended = quoted(record.get("conclusion"), limit=40)
        raise _refusal(selector, f"it ended with {ended}, not with 'success'", hint=_AGAIN)
    begun = record.get("run_started_at") or record.get("created_at")
    age = days_between(begun, selector.now)
    if age is None or age > MOST_DAYS:
        shown = "of unknown age" if age is None else f"{fixed(age, 1)} days old"
        raise _refusal(selector, f"it is {shown}, and at most {MOST_DAYS} days are allowed", hint=MEASURE_AGAIN)


def _check_commit(repository: Repository, record: Mapping[str, Any], selector: RunSelector) -> None:
    """Check that what ran is merged, and was measured by the workflow file that the target has now."""
    commit = str(record.get("head_sha"))
    if not repository.contains(commit, head=selector.head):
        raise _refusal(
            selector,
            f"its commit {cut(commit, limit=12)} cannot be reached from {cut(selector.target)} at {selector.head[:12]}",
            hint=_AGAIN,
        )
    # a tag of the branch's name looks like the branch, and runs what was merged and undone again
    objects, path = Objects(repository), workflow_files.path_of(selector.workflow)
    ran, now = (find(objects, objects.tree_of(each), path) for each in (commit, selector.head))
    if ran != now:
        raise _refusal(
            selector,
            f"its workflow {quoted(selector.workflow)} differs from the one that {cut(selector.target)} has now",
            hint=MEASURE_AGAIN,
        )


def _artifact(repository: Repository, record: Mapping[str, Any], selector: RunSelector) -> Artifact:
    """Find the artifact of the latest attempt. The run still has those of earlier ones, whatever they ended with."""
    since, name = str(record.get("run_started_at") or ""), quoted(selector.artifact)
    # without the time only the first attempt is known to have left what there is
    known = since or pulls.attempt_of(record) == 1
    artifact = artifacts.find(repository, selector.run, selector.artifact, since=since) if known else None
    if artifact is None:
        hint = f"Those of earlier attempts do not count: run all jobs again, not only those that failed. {_AGAIN}"
        raise _refusal(selector, f"its latest attempt left no artifact {name}", hint=hint)
    if not artifact.digest:
        raise _refusal(
            selector,
            f"GitHub has no digest of its artifact {name}, so the download cannot be verified",
            hint=f"Older versions of GitHub and of actions/upload-artifact record none. {MEASURE_AGAIN}",
        )
    return artifact


def _full_name(repository: object) -> str:
    return str(fields(repository).get("full_name") or "")


def _refusal(selector: RunSelector, why: str, *, hint: str = "") -> CannotTell:
    return _refused(f"workflow run {selector.run}", why, hint)


def _refused(which: str, why: str, hint: str) -> CannotTell:
    return CannotTell(f"{which} cannot become the baseline: {why}", hint=hint)
