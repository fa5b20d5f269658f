"""The second stage: what an untrusted run measured, judged by the base commit's files, told on its pull request.

The artifact is data: its golden set, thresholds, baseline, verdict and Markdown are not used. What it claims to have
retrieved has to be believed, as the code that retrieved it is the pull request's own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from raggate.config import schema
from raggate.errors import CannotTell, ExitCode, RaggateError, UsageError
from raggate.gate import preview, waivers
from raggate.gate.other_systems import OtherSystem
from raggate.github import bases as base_branches, note_changes, untrusted_run, workflow_files
from raggate.github.note_changes import Vaults
from raggate.github.publish import GitHubReporter, Settings, StepOutcome
from raggate.github.rest import artifacts, pulls
from raggate.github.rest.client import GitHub
from raggate.github.rest.git_objects import Objects
from raggate.github.runner.commands import SUMMARY_BYTES
from raggate.github.runner.event import Event, SourceRun
from raggate.github.step_context import prefix_of
from raggate.inputs import sources, suite_names
from raggate.inputs.committed import Commit
from raggate.inputs.trusted import ConfigHooks, Inputs, InputSource, has_configuration, load_trusted, load_without_notes
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.verdict import Preview, ReportContext, Review
from raggate.pipeline import check
from raggate.pipeline.request import check_command
from raggate.pipeline.trusted_inputs import check_names
from raggate.scoring import score
from raggate.text.quote import cut, quoted

_HOOKS = ConfigHooks(adjust=lambda settings: settings, check=check_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRun:
    """What is commented on: the run that has ended, its artifact, and the configuration that judges it.

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
class CommentResult:
    """What became of one pull request: its verdict, the comment's address, and whether something was not shown."""

    number: int
    outcome: StepOutcome
    url: str
    failed: bool
    summary: str


def fork_run(
    event: Event,
    config_file: Path,
    workspace: Path,
    *,
    artifact: str,
    bases: str = "",
    workflow: str = workflow_files.DEFAULT,
    systems: Sequence[OtherSystem],
) -> ForkRun:
    """Give the run that an event tells of.

    Args:
        event: the event.
        config_file: the configuration, in a checkout of trusted code.
        workspace: the directory that the checkout is, or lies in.
        artifact: the name of the artifact with the run directory.
        bases: the branches beside the default one whose pull requests are judged.
        workflow: the name of the workflow file that must have measured.
        systems: the other systems whose metrics files are taken for baselines.

    Raises:
        UsageError: for another event than `workflow_run`, and when a link leads to the configuration.
    """
    if event.source_run is None:
        raise UsageError(
            f"a comment for a run that has ended needs the event workflow_run, not {event.name}",
            hint="docs/forks.md has the whole workflow.",
        )
    return ForkRun(
        repository=event.repository,
        run=event.source_run,
        artifact=artifact,
        workspace=workspace,
        root=config_file.parent,
        config_name=config_file.name,
        prefix=prefix_of(config_file, workspace),
        default_branch=event.default_branch,
        bases=bases,
        workflow=workflow,
        systems=systems,
    )


def settings_of(fork: ForkRun, *, when: str, token: str, login: str) -> Settings:
    """Give what is shown of the run of a fork.

    Args:
        fork: the run that has ended, and what judges it.
        when: `always`, `on-change` or `never`.
        token: which must stand in nothing that is shown.
        login: who writes with it, where that is an app's own; empty otherwise.
    """
    return Settings(comment=when, prefix=fork.prefix, relayed=True, secrets=(token,), login=login)


def comment(
    github: GitHub, event: Event, fork: ForkRun, settings: Settings, say: Callable[[str], None]
) -> Iterator[CommentResult]:
    """Judge and comment on every open pull request that has the commit.

    Raises:
        UsageError: for a run of another event than `pull_request`.
        GitHubError: when GitHub cannot be asked which these are.
    """
    for pull in find(github, fork):
        outcome = evaluate(github, fork, pull)
        reporter = GitHubReporter(as_pull_request(event, fork.run, pull), github, settings, say)
        url = reporter.finish(outcome)["comment-url"]
        summary = reporter.summary(outcome, limit=SUMMARY_BYTES)
        yield CommentResult(number=pull.number, outcome=outcome, url=url, failed=reporter.failed, summary=summary)


def find(github: GitHub, fork: ForkRun) -> tuple[pulls.Pull, ...]:
    """Find the open pull requests whose head is the commit that was measured. The artifact has no say in this.

    Raises:
        UsageError: for a run of another event than `pull_request`, or of another workflow file than the gate's.
        GitHubError: when GitHub cannot be asked.
    """
    if fork.run.event != "pull_request":
        raise UsageError(
            f"the run that ended was started by {quoted(fork.run.event)}, not by pull_request",
            hint="Let the job start only `if: github.event.workflow_run.event == 'pull_request'`.",
        )
    path = fork.run.path or workflow_files.path_of(github, fork.repository, fork.run.id)
    if not workflow_files.is_of(path, fork.workflow, fork.run.head_branch):
        raise UsageError(
            f"the run that ended is of the workflow {quoted(path)}, not of {quoted(fork.workflow)}: a change can "
            "bring a second workflow of the same name, and what that one left is not judged",
            hint="Where the gate's workflow is another file, name it in the input `workflow`.",
        )
    return pulls.find_all(
        github,
        fork.repository,
        head_sha=fork.run.head_sha,
        head_repository=fork.run.head_repository,
        head_branch=fork.run.head_branch,
    )


def as_pull_request(event: Event, run: SourceRun, pull: pulls.Pull) -> Event:
    """Give the event as if the run that measured were this one."""
    return replace(
        event,
        name="pull_request",
        number=pull.number,
        run_id=run.id,
        attempt=run.attempt,
        head=pull.head_sha,
        base=pull.base_sha,
        base_ref=pull.base_ref,
        open=pull.open,
    )


def evaluate(github: GitHub, fork: ForkRun, pull: pulls.Pull) -> StepOutcome:
    """Evaluate what the run measured by the files of the pull request's base commit.

    Args:
        github: the API.
        fork: the run that has ended, and what judges it.
        pull: the pull request.

    Returns:
        The review, or why there is none.
    """
    trusted: schema.Config | None = None

    def known(settings: schema.Config) -> schema.Config:
        nonlocal trusted
        trusted = settings
        return settings

    def without_verdict(failure: RunFailure) -> StepOutcome:
        """Say why there is no verdict, with the waivers that stand, once the configuration is known."""
        stand = waivers.waiver_statuses(trusted.waivers, datetime.now(UTC).isoformat()) if trusted is not None else ()
        return StepOutcome(code=failure.exit_code, failure=replace(failure, waivers=stand))

    objects = Objects(github, fork.repository)
    remote = sources.Remote(workspace=fork.workspace, objects=objects)
    base = InputSource(root=fork.root, config_name=fork.config_name, against=pull.base_sha, remote=remote)
    try:
        base_branches.check(pull.base_ref, fork.default_branch, fork.bases)
        if not has_configuration(base):
            return without_verdict(_first_run(fork))
        # before the artifact, so that whatever is wrong with that is told in the comment of this suite
        with (
            load_trusted(base, replace(_HOOKS, adjust=known)) as inputs,
            tempfile.TemporaryDirectory(prefix=untrusted_run.SCRATCH) as scratch,
        ):
            waivers.check_cases(inputs.config, inputs.golden, fork.config_name)
            files = _fetched(github, fork)
            if "results.jsonl" not in files:
                return without_verdict(untrusted_run.without_results(files.get("verdict.json"), inputs.config.suite))
            change = Commit(objects, pull.head_sha, fork.prefix, Path(scratch), fork.root)
            review = _evaluated(_read(files, inputs.config), inputs, fork, change)
            review = check.with_preview(review, lambda: _preview(github, fork, change, base, inputs))
            return StepOutcome(code=review.verdict.exit_code, review=review)
    except RaggateError as error:
        return without_verdict(RunFailure.of(error, trusted.suite if trusted is not None else _suite(fork, base)))


def _suite(fork: ForkRun, base: InputSource) -> str:
    """Name the suite of a configuration that cannot be used, so that its one comment tells what is wrong."""
    suite = suite_names.find(base.root, base.config_name, against=base.against, remote=base.remote)
    return suite or fork.config_name


def _first_run(fork: ForkRun) -> RunFailure:
    name = cut(f"{fork.prefix}{fork.config_name}")
    return RunFailure(
        label="cannot tell",
        exit_code=int(ExitCode.CANNOT_TELL),
        lines=(f"This is a first run: the base commit has no {name} yet, so there is nothing to judge this run by.",),
        hint="Merge with this check not yet required, and promote a baseline. From then on it gates.",
        suite=fork.config_name,
    )


def _fetched(github: GitHub, fork: ForkRun) -> Mapping[str, bytes]:
    run = fork.run
    files = artifacts.fetch(github, fork.repository, run.id, fork.artifact, since=run.run_started_at)
    if files is None:
        raise CannotTell(
            f"the run ended ({cut(run.conclusion or 'without a conclusion')}) and left no artifact "
            f"{quoted(fork.artifact)}, so nothing was measured",
            hint="The log of the run says why.",
        )
    return files


def _read(files: Mapping[str, bytes], trusted: schema.Config) -> Run:
    try:
        return untrusted_run.read(files, trusted)
    except UsageError as error:
        raise CannotTell(
            f"the artifact cannot be read: {error.message}",
            hint="Only a run directory is taken, as this version of raggate writes it.",
        ) from None


def _evaluated(claimed: Run, inputs: Inputs, fork: ForkRun, change: Commit) -> Review:
    measured = untrusted_run.accepted(claimed, inputs, reproduce=_reproduce(fork, inputs))
    review = check.evaluate_run(
        measured,
        score.score(measured, inputs.config.score.k),
        check.read_baseline(inputs, fork.systems),
        policy=inputs.config,
        context=ReportContext(
            expired_waivers_resolved=check.expired_waivers_resolved(change, fork.config_name, measured.started)
        ),
    )
    return check.with_source_lines(review, inputs)


def _reproduce(fork: ForkRun, inputs: Inputs) -> str:
    return check_command(f"{fork.prefix}{fork.config_name}", {"against": inputs.against})


def _preview(github: GitHub, fork: ForkRun, change: Commit, base: InputSource, inputs: Inputs) -> Preview:
    """Say what the pull request would make of configuration, questions, baseline and notes; the last by ids alone."""
    after = load_without_notes(change, base, _HOOKS, inputs)
    before, now = (
        Vaults(commit=str(commit), directories={name: f"{fork.prefix}{path}" for name, path in vault.items()})
        for commit, vault in ((inputs.against, inputs.config.vault), (change.commit, after.config.vault))
    )
    changes = preview.changes(inputs, after, score.directions(inputs.config.score.k), fork.systems)
    return replace(changes, vault=note_changes.compare(github, fork.repository, before, now))
