"""The second stage: what an untrusted run measured, judged by the base commit's files, told on its pull request.

Which suites there are, what they are called and which of them need not be run is asked of the base commit and of the
head of the change. What the artifact says of itself chooses which directory is judged for a suite of that list.

The artifact is data: its golden set, thresholds, baseline, verdict and Markdown are not used. What it claims to have
retrieved has to be believed, as the code that retrieved it is the pull request's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.dates import now, within
from raggate.base.errors import CannotTell, ExitCode, RaggateError, UsageError
from raggate.base.files import scratch_directory
from raggate.base.numbers import fixed
from raggate.base.quote import cut, quoted
from raggate.config import schema
from raggate.config.overrides import Overrides
from raggate.gate import preview, waivers
from raggate.gate.evaluation import evaluate_run
from raggate.github import bases as base_branches, untrusted_run, workflow_files
from raggate.github.publish import Settings, StepReporter
from raggate.github.rest import artifacts, pulls
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event, SourceRun
from raggate.github.step_context import prefix_of, shown_prefix
from raggate.inputs import dependencies, sources, suite_list
from raggate.inputs.committed import Commit
from raggate.inputs.suite_list import SuiteFile
from raggate.inputs.trusted import Inputs, InputSource, has_configuration, load_trusted, load_without_notes, with_notes
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Preview, ReportContext, Review
from raggate.pipeline import check, claimed_run, judging, previewing, suites
from raggate.pipeline.request import Request, Voice, command_line
from raggate.pipeline.trusted_inputs import check_names, read_baseline
from raggate.scoring import score

_ARTIFACT_S = 240.0
"""Seconds that reading an artifact may take: a job that is ended for its time writes no comment."""

_NOTES_S = 120.0
"""Seconds that reading the notes of a change may take, with holding questions and private text against them."""

_UNREAD = "its notes were not checked for private text, or whether they can be read"

NOBODY = "no open pull request has the commit that was measured: there is nothing to comment on"


Alone = Callable[[SuiteFile, Callable[[], SuiteOutcome]], SuiteOutcome]
"""Judges one suite by what it is given; what goes wrong meanwhile is how this suite ended."""


class ForkRun(Struct, frozen=True, kw_only=True):
    """The run that has ended, its artifact, and the configurations that judge it.

    `config_file` is in a checkout of trusted code; of a list (`configs`, relative to the workspace) it stands for each.
    `overrides` are those of the workflow that measured. If a pattern named the configuration (`matched`), a change
    without the file has no such suite.
    """

    event: Event
    config_file: Path
    workspace: Path
    artifact: str
    configs: Sequence[str] = ()
    overrides: Overrides = Overrides()
    matched: bool = False
    bases: str = ""
    workflow: str = workflow_files.DEFAULT
    say: Callable[[str], None]

    @property
    def run(self) -> SourceRun:
        """The run that measured."""
        if self.event.source_run is None:
            raise UsageError(
                f"`command: comment` needs the event workflow_run, found {self.event.name}",
                hint="docs/github.md has the whole workflow.",
            )
        return self.event.source_run

    def of_suite(self, suite: SuiteFile) -> ForkRun:
        """Return the same run, judged by one configuration of a list."""
        return replace(self, config_file=self.workspace / suite.config, matched=suite.matched)

    @property
    def prefix(self) -> str:
        """The directory of the configuration in the repository, `` or `folder/`."""
        return prefix_of(self.config_file, self.workspace)

    @property
    def config_path(self) -> str:
        """The configuration in the repository."""
        return f"{self.prefix}{self.config_file.name}"


def comment(
    repository: Repository, fork: ForkRun, settings: Settings, alone: Alone, say: Callable[[str], None]
) -> Iterator[StepReporter]:
    """Judge and comment on every open pull request that has the commit, once for all suites; give what showed it."""
    for pull in find(repository, fork):
        name = fork.artifact if fork.configs else None
        shown = replace(settings, relayed=True)
        reporter = StepReporter(as_pull_request(fork, pull), repository, shown, say, name=name)
        try:
            outcomes = evaluate_all(repository, fork, pull, alone)
        except RaggateError as error:
            # what a push cannot correct is not said to be corrected by one
            failure = replace(RunFailure.of(error, ""), relayed=not isinstance(error, suite_list.OfTheChange))
            outcomes = (SuiteOutcome(config="", suite="", code=failure.exit_code, failure=failure),)
        for outcome in outcomes:
            config = fork.workspace / outcome.config if outcome.config and fork.configs else fork.config_file
            reporter.prefixes[outcome.config] = shown_prefix(config, fork.workspace)
        reporter.finish(outcomes)
        yield reporter


def find(repository: Repository, fork: ForkRun) -> tuple[pulls.Pull, ...]:
    """Find the open pull requests whose head is the commit that was measured. The artifact has no say in this."""
    run = fork.run
    if run.event != "pull_request":
        raise UsageError(
            f"the run that ended was started by {quoted(run.event)}, not by pull_request",
            hint="Let the job start only `if: github.event.workflow_run.event == 'pull_request'`.",
        )
    path = run.path or str(repository.workflow_run(run.id).get("path") or "")
    if not workflow_files.is_of(path, fork.workflow, run.head_branch):
        raise UsageError(
            f"the run that ended is of the workflow {quoted(path)}, not of {quoted(fork.workflow)}. A change can "
            "bring a second workflow of the same name, so its artifact is not judged",
            hint=workflow_files.NAME_IT,
        )
    return pulls.find_all(
        repository, head_sha=run.head_sha, head_repository=run.head_repository, head_branch=run.head_branch
    )


def as_pull_request(fork: ForkRun, pull: pulls.Pull) -> Event:
    """Return the event as if the run that measured were this one."""
    return replace(
        fork.event,
        name="pull_request",
        number=pull.number,
        run_id=fork.run.id,
        attempt=fork.run.attempt,
        head=pull.head_sha,
        base=pull.base_sha,
        base_ref=pull.base_ref,
        open=True,
    )


def evaluate_all(repository: Repository, fork: ForkRun, pull: pulls.Pull, alone: Alone) -> tuple[SuiteOutcome, ...]:
    """Evaluate every suite that base commit and change list, by the files of the base commit.

    A suite with no run in the artifact gets *cannot tell*, unless the change does not concern it.
    """
    if not fork.configs:
        only = SuiteFile(config=fork.config_file.name, suite=fork.config_file.name)
        return (alone(only, lambda: evaluate(repository, fork, pull)),)
    base_branches.check(pull.base_ref, fork.event.default_branch, fork.bases)
    # one for all suites: a server answers few requests an hour
    objects = Objects(repository)
    remote = sources.Remote(workspace=fork.workspace, objects=objects)
    listed = suite_list.find(fork.configs, against=pull.base_sha, remote=remote, among=(pull.head_sha,))
    runs = untrusted_run.runs_of(repository, fork.run, fork.artifact)

    def evaluated(suite: SuiteFile) -> SuiteOutcome:
        run = fork.of_suite(suite)
        if suite.suite not in runs:
            asked = Request(
                config_file=run.config_file,
                environment={},
                voice=Voice(say=fork.say),
                overrides=fork.overrides,
                against=pull.base_sha,
                remote=remote,
                head=pull.head_sha,
            )
            skipped = suites.skipped(suite, suites.not_run(asked, checked_out=False), fork.say)
            if skipped is not None:
                return skipped
        outcome = evaluate(repository, run, pull, runs.of_suite, objects)
        return replace(outcome, config=suite.config, suite=suite.suite)

    def told(suite: SuiteFile) -> SuiteOutcome:
        outcome = alone(suite, lambda: evaluated(suite))
        # what ended without a verdict ended here, not where it was measured
        return outcome if outcome.failure is None else replace(outcome, failure=replace(outcome.failure, relayed=True))

    return suites.check_each(listed, told, fork.say)


def evaluate(
    repository: Repository,
    fork: ForkRun,
    pull: pulls.Pull,
    left: Callable[[str], Mapping[str, bytes]] | None = None,
    objects: Objects | None = None,
) -> SuiteOutcome:
    """Evaluate what the run measured by the files of the pull request's base commit.

    `left` gives the run directory of a suite, and `objects` the repository's objects, if they were read before.
    """
    trusted: schema.Config | None = None

    def accept(settings: schema.Config, name: str) -> schema.Config:
        nonlocal trusted
        trusted = settings
        return check_names(settings, name)

    root, name = fork.config_file.parent, fork.config_file.name
    objects = objects or Objects(repository)
    remote = sources.Remote(workspace=fork.workspace, objects=objects)
    base = InputSource(root=root, config_name=name, against=pull.base_sha, remote=remote, folder=fork.prefix)
    try:
        base_branches.check(pull.base_ref, fork.event.default_branch, fork.bases)
        if not has_configuration(base):
            return _without_verdict(_first_run(fork), trusted, name)
        # before the artifact, so that its errors are in the comment of this suite
        with load_trusted(base, accept) as inputs:
            waivers.check_cases(inputs.config, inputs.golden, name)
            if left is None:
                runs = untrusted_run.runs_of(repository, fork.run, fork.artifact)
                left = runs.of_suite if fork.configs else runs.only
            files = left(inputs.config.suite)
            if artifacts.RESULTS not in files:
                claim = untrusted_run.without_results(files.get("verdict.json"), inputs.config.suite)
                return _without_verdict(claim, trusted, name)
            review = _reviewed(files, inputs, fork, base, pull.head_sha, objects)
            return SuiteOutcome(config=name, suite=review.run.suite, code=review.verdict.exit_code, review=review)
    except RaggateError as error:
        if trusted is not None:
            return _without_verdict(RunFailure.of(error, trusted.suite), trusted, name)
        # the configuration cannot be used: its name tells whose comment says what is wrong
        suite = suite_list.name_of_unusable(root, name, against=base.against, remote=remote)
        return _without_verdict(RunFailure.of(error, suite or name), trusted, name)


def _without_verdict(failure: RunFailure, trusted: schema.Config | None, config: str) -> SuiteOutcome:
    """Return why there is no verdict, with the waivers that stand, once the configuration is known."""
    stand = waivers.waiver_statuses(trusted.waivers, now()) if trusted is not None else ()
    told = replace(failure, waivers=stand, relayed=True)
    return SuiteOutcome(config=config, suite=failure.suite or config, code=failure.exit_code, failure=told)


def _first_run(fork: ForkRun) -> RunFailure:
    name = cut(fork.config_path)
    return RunFailure(
        label="cannot tell",
        exit_code=int(ExitCode.CANNOT_TELL),
        lines=(f"This is a first run: the base commit has no {name} yet, so there is nothing to judge this run by.",),
        hint="Merge this while the check is not required yet, and promote a baseline. If the change "
        "brings no such file, correct `config` in the workflow that judges.",
        suite=fork.config_file.name,
    )


def _reviewed(
    files: Mapping[str, bytes], inputs: Inputs, fork: ForkRun, base: InputSource, head: str, objects: Objects
) -> Review:
    """Judge what the artifact claims, and add what the commit `head` would make of the files that judge."""
    with scratch_directory() as scratch:
        change = Commit(objects.rationed, head, fork.prefix, scratch, base.root)
        review = _evaluated(_read(files, inputs.config), inputs, fork, change)
        review = previewing.with_preview(review, lambda: _preview(fork, change, base, inputs))
        # last, with the requests that are left
        edited = dependencies.of_branch(objects, inputs.against or "", change.objects, head)
        return replace(review, context=replace(review.context, dependencies=edited))


def _read(files: Mapping[str, bytes], trusted: schema.Config) -> Run:
    late = f"the artifact could not be read within {fixed(_ARTIFACT_S, 0)} s"
    try:
        with within(_ARTIFACT_S, CannotTell(late)):
            return untrusted_run.read(files, trusted)
    except UsageError as error:
        raise CannotTell(
            f"the artifact cannot be read: {error.message}",
            hint="raggate reads only a run directory that this version wrote.",
        ) from None


def _evaluated(claimed: Run, inputs: Inputs, fork: ForkRun, change: Commit) -> Review:
    reproduce = command_line("check", fork.config_path, {"against": inputs.against})
    baseline = read_baseline(inputs)
    measured = claimed_run.accepted(claimed, inputs, reproduce=reproduce, hint=untrusted_run.UPDATE)
    review = evaluate_run(
        measured,
        score.score(measured, inputs.config.score.k),
        baseline,
        policy=inputs.config,
        context=ReportContext(
            expired_waivers_resolved=check.expired_waivers_resolved(change, fork.config_file.name, measured.started),
        ),
    )
    return check.with_source_lines(review, inputs)


def _preview(fork: ForkRun, change: Commit, base: InputSource, inputs: Inputs) -> Preview:
    """Return what the pull request would make of configuration, questions, notes and baseline."""
    if fork.matched and change.identity(fork.config_file.name) is None:
        return Preview(retired=True)
    after = load_without_notes(change, base, check_names, inputs)
    judging.check_files(after)
    waivers.check_cases(after.config, after.golden, fork.config_file.name)
    directions = score.directions(inputs.config.score.k)
    try:
        with within(_NOTES_S, CannotTell(f"they could not be read within {fixed(_NOTES_S, 0)} s")):
            return preview.changes(inputs, with_notes(after, change), directions)
    except CannotTell as error:
        changes = preview.changes(inputs, after, directions)
        return replace(changes, unseen=(f"{_UNREAD}: {error.message}",))
