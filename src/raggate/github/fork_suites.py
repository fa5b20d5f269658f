"""The second stage for a list of suites: one artifact with a run of each, judged by the base commit's own list.

Which suites there are, what they are called and which of them need not be run is asked of the base commit and of the
head of the change. What the artifact says of itself chooses which directory is judged for a suite of that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.overrides import Overrides
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.github import bases as base_branches, fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.publish import Settings
from raggate.github.publish_suites import SuitesReporter
from raggate.github.rest import pulls
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.github.runner.commands import SUMMARY_BYTES
from raggate.github.runner.results import name_of
from raggate.github.untrusted_run import runs_of
from raggate.inputs import sources, suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.models.publication import RunFailure
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import concern, suites
from raggate.pipeline.request import Request
from raggate.reports.suites import overall


class ForkSuites(Struct, frozen=True, kw_only=True):
    """What is commented on: the run that has ended, with its suites.

    Attributes:
        run: the run, and what judges it; its configuration stands for each of the list.
        configs: paths and patterns of the configurations, relative to the workspace.
        overrides: what the workflow that measured has in place of what is configured, such as the directory of a build.
        say: takes a line for the log.
        warn: takes a line about what could not be shown.
        alone: judges one suite by what it is given; what goes wrong meanwhile is how this suite ended.
    """

    run: ForkRun
    configs: Sequence[str]
    overrides: Overrides
    say: Callable[[str], None]
    warn: Callable[[str], None]
    alone: Callable[[SuiteFile, Callable[[], SuiteOutcome]], SuiteOutcome]


class SuitesResult(Struct, frozen=True, kw_only=True):
    """What became of one pull request; see `fork_comment.CommentResult`. Without outcomes no suite could be judged."""

    number: int
    outcomes: tuple[SuiteOutcome, ...]
    code: int
    verdict: str
    url: str
    failed: bool
    summary: str


def comment(repository: Repository, fork: ForkSuites, settings: Settings) -> Iterator[SuitesResult]:
    """Judge and comment on every open pull request that has the commit, once for all suites.

    Args:
        repository: where the pull requests go into.
        fork: the run that has ended, and what judges it.
        settings: how it is shown.

    Raises:
        UsageError: for another event than `workflow_run`, and a run that `fork_comment.find` refuses.
        GitHubError: when GitHub cannot be asked which pull requests these are.
    """
    for pull in fork_comment.find(repository, fork.run):
        event = fork_comment.as_pull_request(fork.run, pull)
        shown = replace(settings, relayed=True)
        reporter = SuitesReporter(event, repository, shown, name=fork.run.artifact, notes=(), say=fork.warn)
        outcomes: tuple[SuiteOutcome, ...] = ()
        failure = None
        try:
            outcomes = evaluate(repository, fork, pull)
        except RaggateError as error:
            # what a push cannot correct is not said to be corrected by one
            failure = replace(RunFailure.of(error, ""), relayed=not isinstance(error, suite_list.OfTheChange))
        code = failure.exit_code if failure is not None else worst(outcome.code for outcome in outcomes)
        verdict = overall(outcomes) if code == ExitCode.PASS else name_of(code)
        for outcome in outcomes:
            reporter.of_suite(outcome.suite, "", _prefix(fork, outcome))
        url = reporter.finish(outcomes, failure, verdict)
        yield SuitesResult(
            number=pull.number,
            outcomes=outcomes,
            code=code,
            verdict=verdict,
            url=url,
            failed=reporter.failed,
            summary=reporter.summary(limit=SUMMARY_BYTES) if outcomes else f"{verdict}: no suite was judged.\n",
        )


def evaluate(repository: Repository, fork: ForkSuites, pull: pulls.Pull) -> tuple[SuiteOutcome, ...]:
    """Evaluate every suite that base commit and change list, by the files of the base commit.

    A suite of which the artifact has no run, or more than one, cannot be told. One that the change does not concern
    need not have a run.

    Raises:
        UsageError: for a base branch that is not judged, and as `suite_list.find`.
    """
    base_branches.check(pull.base_ref, fork.run.event.default_branch, fork.run.bases)
    # one for all suites: a server answers few requests an hour
    objects = Objects(repository)
    remote = sources.Remote(workspace=fork.run.workspace, objects=objects)
    listed = suite_list.find(fork.configs, against=pull.base_sha, remote=remote, among=(pull.head_sha,))
    runs = runs_of(repository, fork.run.run, fork.run.artifact)

    def evaluated(suite: SuiteFile) -> SuiteOutcome:
        if suite.suite not in runs:
            skipped = _unconcerned(fork, suite, pull, remote)
            if skipped is not None:
                return skipped
        run = fork.run.of_suite(suite.config, matched=suite.matched)
        outcome = fork_comment.evaluate(repository, run, pull, runs.of_suite, objects)
        return SuiteOutcome(
            config=suite.config,
            suite=suite.suite,
            code=outcome.code,
            review=outcome.review,
            failure=None if outcome.review is not None else outcome.reason,
        )

    return suites.check_each(listed, lambda suite: _relayed(fork.alone(suite, lambda: evaluated(suite))), fork.say)


def _relayed(outcome: SuiteOutcome) -> SuiteOutcome:
    """Say of a suite without a verdict that it ended here, not where it was measured."""
    return outcome if outcome.failure is None else replace(outcome, failure=replace(outcome.failure, relayed=True))


def _unconcerned(fork: ForkSuites, suite: SuiteFile, pull: pulls.Pull, remote: sources.Remote) -> SuiteOutcome | None:
    """Tell of a suite that need not be run, as the head of the change has what the base has; None for any other."""
    request = Request(
        config_file=fork.run.workspace / suite.config,
        environment={},
        say=fork.say,
        overrides=fork.overrides,
        against=pull.base_sha,
        remote=remote,
        head=pull.head_sha,
    )
    return suites.skipped(suite, concern.not_run(request, checked_out=False), fork.say)


def _prefix(fork: ForkSuites, outcome: SuiteOutcome) -> str:
    try:
        return fork.run.of_suite(outcome.config).prefix
    except UsageError:
        # a link, for which the suite is refused anyway
        return ""
