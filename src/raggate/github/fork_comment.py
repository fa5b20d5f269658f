"""The second stage: what an untrusted run measured, judged by the base commit's files, told on its pull request.

The artifact is data: its golden set, thresholds, baseline, verdict and Markdown are not used. What it claims to have
retrieved has to be believed, as the code that retrieved it is the pull request's own.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from raggate.config import schema
from raggate.errors import CannotTell, ExitCode, RaggateError, UsageError
from raggate.gate import preview, waivers
from raggate.gate.other_systems import OtherSystem
from raggate.github import bases as base_branches
from raggate.github import note_changes, untrusted_run, workflow_files
from raggate.github.note_changes import Vaults
from raggate.github.publish import Settings, Surface, Told
from raggate.github.rest import artifacts, pulls
from raggate.github.rest.client import GitHub
from raggate.github.rest.git_objects import Objects
from raggate.github.runner.commands import SUMMARY_BYTES
from raggate.github.runner.event import Event, SourceRun
from raggate.github.step_context import prefix_of
from raggate.inputs import sources, suite_names
from raggate.inputs.committed import Commit
from raggate.inputs.trusted import ConfigHooks, Inputs, InputSource, has_configuration, load_trusted, load_without_notes
from raggate.models.publication import Ended
from raggate.models.run import Run
from raggate.models.verdict import Preview
from raggate.pipeline import check, run_directory
from raggate.scoring import score
from raggate.text.escape import plain

_SCRATCH = "raggate-"
_UNPACKED = Path()  # where an artifact was unpacked says nothing to anybody
_CHECKS = ConfigHooks(adjust=lambda settings: settings, check=check.check_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """What is relayed: the run that has ended, its artifact, and the configuration that judges it.

    Attributes:
        repository: `owner/name` of the repository that the pull request goes into.
        run: the run that measured.
        artifact: the name of its artifact with the run directory.
        workspace: the directory that the checkout is, or lies in.
        root: directory of the configuration in a checkout of trusted code.
        config_name: the configuration's name in it.
        prefix: that directory in the repository, `` or `folder/`.
        default_branch: of that repository; empty where the event does not tell it.
        workflow: name of the workflow file that must have measured.
        bases: the branches beside it whose pull requests are judged; see `bases.check`.
        systems: the other systems whose metrics files are taken for baselines.
    """

    repository: str
    run: SourceRun
    artifact: str
    workspace: Path
    root: Path
    config_name: str
    prefix: str
    default_branch: str = ""
    bases: str = ""
    workflow: str = workflow_files.DEFAULT
    systems: Sequence[OtherSystem]


NOBODY = "no open pull request has the commit that was measured: there is nothing to comment on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """What became of one pull request: its verdict, the comment's address, and whether something was not shown."""

    number: int
    told: Told
    url: str
    failed: bool
    summary: str


def of(
    happened: Event,
    config_file: Path,
    workspace: Path,
    *,
    artifact: str,
    bases: str = "",
    workflow: str = workflow_files.DEFAULT,
    systems: Sequence[OtherSystem],
) -> Relay:
    """Say what is relayed for an event.

    Args:
        happened: the event.
        config_file: the configuration, in a checkout of trusted code.
        workspace: the directory that the checkout is, or lies in.
        artifact: the name of the artifact with the run directory.
        bases: the branches beside the default one whose pull requests are judged.
        workflow: the name of the workflow file that must have measured.
        systems: the other systems whose metrics files are taken for baselines.

    Raises:
        UsageError: for another event than `workflow_run`, and when a link leads to the configuration.
    """
    if happened.source_run is None:
        raise UsageError(
            f"a comment for a run that has ended needs the event workflow_run, not {happened.name}",
            hint="docs/forks.md has the whole workflow.",
        )
    return Relay(
        repository=happened.repository,
        run=happened.source_run,
        artifact=artifact,
        workspace=workspace,
        root=config_file.parent,
        config_name=config_file.name,
        prefix=prefix_of(config_file, workspace),
        default_branch=happened.default_branch,
        bases=bases,
        workflow=workflow,
        systems=systems,
    )


def settings_of(relay: Relay, *, when: str, token: str, login: str) -> Settings:
    """Give how the surface of a relayed run is set up.

    Args:
        relay: what is relayed.
        when: `always`, `on-change` or `never`.
        token: which must stand in nothing that is shown.
        login: who writes with it, where that is an app's own; empty otherwise.
    """
    return Settings(comment=when, prefix=relay.prefix, relayed=True, secrets=(token,), login=login)


def comment(
    github: GitHub, happened: Event, relay: Relay, settings: Settings, unshown: Callable[[str], None]
) -> Iterator[Relayed]:
    """Judge and comment on every open pull request that has the commit.

    Raises:
        UsageError: for a run of another event than `pull_request`.
        GitHubError: when GitHub cannot be asked which these are.
    """
    for pull in find(github, relay):
        told = judge(github, relay, pull)
        surface = Surface(as_pull_request(happened, relay.run, pull), github, settings, unshown)
        url = surface.finish(told)["comment-url"]
        summary = surface.summary(told, limit=SUMMARY_BYTES)
        yield Relayed(number=pull.number, told=told, url=url, failed=surface.failed, summary=summary)


def find(github: GitHub, relay: Relay) -> tuple[pulls.Pull, ...]:
    """Find the open pull requests whose head is the commit that was measured. The artifact has no say in this.

    Raises:
        UsageError: for a run of another event than `pull_request`, or of another workflow file than the gate's.
        GitHubError: when GitHub cannot be asked.
    """
    if relay.run.event != "pull_request":
        raise UsageError(
            f"the run that ended was started by {plain(relay.run.event)!r}, not by pull_request",
            hint="Let the job start only `if: github.event.workflow_run.event == 'pull_request'`.",
        )
    path = relay.run.path or workflow_files.path_of(github, relay.repository, relay.run.id)
    if not workflow_files.is_of(path, relay.workflow, relay.run.head_branch):
        raise UsageError(
            f"the run that ended is of the workflow {plain(path)!r}, not of {plain(relay.workflow)!r}: a change can "
            "bring a second workflow of the same name, and what that one left is not judged",
            hint="Where the gate's workflow is another file, name it in the input `workflow`.",
        )
    return pulls.find_all(
        github,
        relay.repository,
        head_sha=relay.run.head_sha,
        head_repository=relay.run.head_repository,
        head_branch=relay.run.head_branch,
    )


def as_pull_request(happened: Event, run: SourceRun, pull: pulls.Pull) -> Event:
    """Give the event as if the run that measured were this one."""
    return replace(
        happened,
        name="pull_request",
        number=pull.number,
        run_id=run.id,
        attempt=run.attempt,
        head=pull.head_sha,
        base=pull.base_sha,
        base_ref=pull.base_ref,
        head_repository=pull.head_repository,
        fork=pull.fork,
        open=pull.open,
        locked=pull.locked,
    )


def judge(github: GitHub, relay: Relay, pull: pulls.Pull) -> Told:
    """Judge what the run measured by the files of the pull request's base commit.

    Args:
        github: the API.
        relay: what is relayed.
        pull: the pull request.

    Returns:
        The review, or why there is none.
    """
    trusted: schema.Config | None = None

    def known(settings: schema.Config) -> schema.Config:
        nonlocal trusted
        trusted = settings
        return settings

    def without(ended: Ended) -> Told:
        """Say why there is no verdict, with the waivers that stand, once the configuration is known."""
        stand = waivers.standing(trusted.waivers, datetime.now(UTC).isoformat()) if trusted is not None else ()
        return Told(code=ended.exit_code, ended=replace(ended, waivers=stand))

    objects = Objects(github, relay.repository)
    remote = sources.Remote(workspace=relay.workspace, objects=objects)
    where = InputSource(root=relay.root, config_name=relay.config_name, against=pull.base_sha, remote=remote)
    try:
        base_branches.check(pull.base_ref, relay.default_branch, relay.bases)
        if not has_configuration(where):
            return without(_first_run(relay))
        # before the artifact, so that whatever is wrong with that is told in the comment of this suite
        with load_trusted(where, replace(_CHECKS, adjust=known)) as inputs, _scratch() as scratch:
            waivers.check_cases(inputs.config, inputs.golden, relay.config_name)
            files = _fetched(github, relay)
            if "results.jsonl" not in files:
                return without(untrusted_run.without_results(files.get("verdict.json"), inputs.config.suite))
            change = Commit(objects, pull.head_sha, relay.prefix, Path(scratch), relay.root)
            told = _judged(_read(files, inputs.config), inputs, relay, change)
            return _previewed(told, lambda: _preview(github, relay, change, where, inputs))
    except RaggateError as error:
        return without(Ended.of(error, trusted.suite if trusted is not None else _suite(relay, where)))


def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=_SCRATCH)


def _suite(relay: Relay, where: InputSource) -> str:
    """Name the suite of a configuration that cannot be used, so that its one comment tells what is wrong."""
    found = suite_names.find(where.root, where.config_name, against=where.against, remote=where.remote)
    return found or relay.config_name


def _first_run(relay: Relay) -> Ended:
    name = plain(f"{relay.prefix}{relay.config_name}")
    return Ended(
        label="cannot tell",
        exit_code=int(ExitCode.CANNOT_TELL),
        lines=(f"This is a first run: the base commit has no {name} yet, so there is nothing to judge this run by.",),
        hint="Merge with this check not yet required, and promote a baseline. From then on it gates.",
        suite=relay.config_name,
    )


def _fetched(github: GitHub, relay: Relay) -> Mapping[str, bytes]:
    run = relay.run
    files = artifacts.fetch(github, relay.repository, run.id, relay.artifact, since=run.run_started_at)
    if files is None:
        raise CannotTell(
            f"the run ended ({plain(run.conclusion or 'without a conclusion')}) and left no artifact "
            f"{plain(relay.artifact)!r}, so nothing was measured",
            hint="The log of the run says why.",
        )
    return files


def _read(files: Mapping[str, bytes], trusted: schema.Config) -> Run:
    with _scratch() as scratch:
        directory = Path(scratch)
        artifacts.write_run(files, directory)
        try:
            return run_directory.read(directory, named=_UNPACKED, config=trusted)
        except UsageError as error:
            raise CannotTell(
                f"the artifact cannot be read: {error.message}",
                hint="Only a run directory is taken, as this version of raggate writes it.",
            ) from None


def _judged(claimed: Run, inputs: Inputs, relay: Relay, change: Commit) -> Told:
    measured = untrusted_run.accepted(claimed, inputs, reproduce=_reproduce(relay, inputs))
    review = check.judge(
        measured,
        score.score(measured, inputs.config.score.k),
        check.read_baseline(inputs, relay.systems),
        policy=inputs.config,
        waivers_settled=_waivers_settled(change, relay, measured.started),
    )
    places = check.places(review, inputs)
    return Told(code=review.verdict.exit_code, review=replace(review, places=places))


def _reproduce(relay: Relay, inputs: Inputs) -> str:
    name = f"{relay.prefix}{relay.config_name}"
    words = [] if name == "raggate.yml" else ["--config", name]
    return shlex.join(["raggate", "check", *words, "--against", str(inputs.against)])


def _waivers_settled(change: Commit, relay: Relay, started: str) -> bool:
    """Say whether the head commit's configuration has no waiver left that has expired; it has no other say."""
    try:
        settings = schema.load(change.read(relay.config_name), change.describe(relay.config_name))
    except (RaggateError, OSError):
        return False
    return all(one.state != "expired" for one in waivers.standing(settings.waivers, started))


def _preview(github: GitHub, relay: Relay, change: Commit, where: InputSource, inputs: Inputs) -> Preview:
    """Say what the pull request would make of configuration, questions, baseline and notes; the last by ids alone."""
    after = load_without_notes(change, where, _CHECKS, inputs)
    before, now = (
        Vaults(commit=str(commit), directories={name: f"{relay.prefix}{path}" for name, path in vault.items()})
        for commit, vault in ((inputs.against, inputs.config.vault), (change.commit, after.config.vault))
    )
    seen = preview.changes(inputs, after, score.directions(inputs.config.score.k), relay.systems)
    return replace(seen, vault=note_changes.compare(github, relay.repository, before, now))


def _previewed(told: Told, look: Callable[[], Preview]) -> Told:
    if told.review is None:
        return told
    try:
        seen = look()
    except RaggateError as error:
        seen = preview.failed(error)
    review = check.previewed(told.review, seen)
    return replace(told, code=review.verdict.exit_code, review=review)
