"""The step that promotes: runs of the default branch's head, or an earlier one -> a pull request with the baselines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from raggate.action import steps
from raggate.cli import console
from raggate.errors import CannotTell, ExitCode, UsageError
from raggate.gate import baseline
from raggate.gate.promote import Terms
from raggate.github import earlier_run, eligibility, promotion
from raggate.github.earlier_run import Downloaded
from raggate.github.promotion import Change, ProposedFile, PullRequestResult
from raggate.github.rest import commits
from raggate.github.rest.repository import Repository
from raggate.github.runner import results, step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState, prefix_of, remote_of
from raggate.inputs import sources, suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.run import Run
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import check as pipeline, run_directory, suites
from raggate.pipeline.trusted_inputs import check_names
from raggate.reports import promotion as report
from raggate.reports.parts.markup import link
from raggate.reports.promotion import pull_title, title_text
from raggate.scoring import score
from raggate.text.escape import markdown as safe, plain
from raggate.text.jsonio import dumps
from raggate.text.quote import cut, quoted
from raggate.text.redact import Guarded, redact

MOST_REASON = 500
"""Characters."""

NOT_PROMOTED = "not promoted"
"""What stands in the place of the verdict of a suite that passed its checks while nothing was written."""
STARTED_BY = frozenset(("workflow_dispatch", "schedule", "push"))
"""Events that may promote. None of them runs code that has not been merged."""

_RUN = re.compile(r"([1-9][0-9]{0,18})(?:\.([1-9][0-9]{0,8}))?")


class PromoteInputs(Struct, frozen=True, kw_only=True):
    """What the inputs ask for, each of them of a known shape.

    Attributes:
        reason: why, one line.
        run: the workflow run to adopt; None to measure now.
        attempt: its attempt; None for the latest.
        allow_regression: whether lower values and fewer cases are accepted.
    """

    reason: str
    run: int | None
    attempt: int | None
    allow_regression: bool

    def terms(self, by: str) -> Terms:
        """Return the terms of the promotion, for whoever promotes."""
        return Terms.of(self.reason, by, allow_regression=self.allow_regression)

    @classmethod
    def of(cls, inputs: Mapping[str, str]) -> Self:
        """Check the inputs, which somebody typed.

        Raises:
            UsageError: naming the first that cannot be used.
        """
        reason = inputs["reason"].strip()
        if not reason or len(reason) > MOST_REASON or not reason.isprintable():
            raise UsageError(
                f"input 'reason': expected one line of 1 to {MOST_REASON} printable characters; "
                f"found {len(reason)}: {quoted(reason, limit=80)}",
                hint="It says why the baseline changes, and stays in the baseline and in git.",
            )
        run = _RUN.fullmatch(inputs["run-id"])
        if inputs["run-id"] and run is None:
            raise UsageError(
                "input 'run-id': expected the number of a workflow run, optionally followed by `.` and the attempt; "
                f"found {quoted(inputs['run-id'], limit=80)}"
            )
        return cls(
            reason=reason,
            run=int(run[1]) if run else None,
            attempt=int(run[2]) if run and run[2] else None,
            allow_regression=inputs["allow-regression"] == "true",
        )


class Prepared(Struct, frozen=True, kw_only=True):
    """The baseline of a suite that passed every check: what it is, what is told of it, and the file."""

    proposal: BaselineCandidate
    context: report.PromotionContext
    file: ProposedFile

    @property
    def suite(self) -> str:
        """The name of the suite."""
        return self.proposal.comparison.scorecard.suite


class PromotionStep(Guarded, Struct, frozen=True, kw_only=True):
    """One step that promotes: what it was asked for, and the branch it goes to at the commit that is at.

    `config` is the configuration in the checkout.
    """

    inputs: Mapping[str, str]
    event: Event
    runner: Runner
    state: StepState
    remote: sources.Remote
    config: Path
    target: str
    head: str

    def check_checkout(self) -> None:
        """Refuse a checkout that is not the head of the branch; raises CannotTell."""
        there = sources.commit_of(self.config.parent, sources.Remote(workspace=self.runner.workspace))
        if there != self.head:
            raise CannotTell(
                f"the checkout is at {cut(there, limit=12)}, and {cut(self.target)} is at {self.head[:12]}: "
                "only the head of the branch is promoted",
                hint="Somebody may have pushed meanwhile. Start the workflow again.",
            )

    def trusted(self) -> AbstractContextManager[Inputs]:
        """Open what the head of the branch holds."""
        source = InputSource(
            root=self.config.parent,
            config_name=self.config.name,
            against=self.head,
            remote=self.remote,
            folder=posixpath.dirname(self.inputs["config"]),
        )
        return load_trusted(source, check_names)

    def prepare(self, asked: PromoteInputs, adopted: Callable[[], Downloaded] | None) -> Prepared:
        """Measure the suite, or take what an earlier run measured of it, and check that it may become the baseline.

        Args:
            adopted: gives what the earlier run left; None to measure now.

        Raises:
            RaggateError: every reason why it may not.
        """
        # opened first, so that what is wrong with them is told before anything is measured
        with self.trusted() as trusted:
            run, evidence = self.measure(trusted) if adopted is None else earlier_run.adopt(adopted(), trusted)
            proposal = eligibility.propose(run, trusted, asked.terms(self.event.triggering_actor))
            context = self.context(trusted, proposal, evidence)
            return Prepared(proposal=proposal, context=context, file=self.file(trusted, proposal))

    def measure(self, trusted: Inputs) -> tuple[Run, Evidence]:
        """Measure the checkout by the files of the head of the branch; give the run as its directory holds it."""
        request = steps.request_of(self.inputs, self.runner, self.state, against=self.head, remote=self.remote)
        result = pipeline.run(request)
        console.show_run(result)
        run = run_directory.read(result.directory)
        eligibility.check_measured(run, trusted, self.head, "this run")
        evidence = Evidence(
            run=self.event.run_id,
            attempt=self.event.attempt,
            event=self.event.name,
            commit=self.head,
            url=self.event.run_url,
            image=eligibility.image_of(run),
        )
        return run, evidence

    def selector(self, asked: PromoteInputs, now: datetime) -> earlier_run.RunSelector:
        """Return the earlier run that is asked for."""
        return earlier_run.RunSelector(
            target=self.target,
            head=self.head,
            run=asked.run or 0,
            attempt=asked.attempt,
            artifact=self.inputs["artifact"],
            workflow=self.inputs["workflow"],
            now=now.isoformat(),
        )

    def of_suite(self, suite: SuiteFile) -> PromotionStep:
        """Return the same for one suite of a list."""
        inputs = {**self.inputs, "config": suite.config}
        return replace(self, inputs=inputs, config=self.runner.workspace / suite.config)

    def context(self, trusted: Inputs, proposal: BaselineCandidate, evidence: Evidence) -> report.PromotionContext:
        """Return what is told beside the values."""
        settings = trusted.config
        links = self.event.links(self.head, prefix=prefix_of(self.config, self.runner.workspace))
        written = baseline.read(proposal.data, "the new baseline", score.directions(settings.score.k))
        return report.PromotionContext(
            target=self.target,
            evidence=evidence,
            links=links,
            hashes={
                "golden set": trusted.golden.hash,
                "vault": trusted.vault.hash,
                "configuration": eligibility.configuration_hash(settings),
            },
            accepted=written.accepted,
            opened=False,
        )

    def file(self, trusted: Inputs, proposal: BaselineCandidate) -> ProposedFile:
        """Return the file that the baseline is to be, in place of the present one."""
        path = posixpath.normpath(prefix_of(self.config, self.runner.workspace) + trusted.config.baseline_path)
        present = trusted.baseline.data if trusted.baseline is not None else None
        return ProposedFile(path=path, present=present, data=proposal.data)

    def redacted(self, page: str) -> str:
        """Return what people read without the token."""
        return redact(page, (self.inputs["github-token"],))


def signed(context: report.PromotionContext, commit: commits.Committed | None) -> report.PromotionContext:
    """Tell in a promotion's page whether its commit is signed."""
    unsigned = "" if commit is None or commit.verified else commit.reason
    return replace(context, unsigned=unsigned)


def promote_baseline(
    inputs: Mapping[str, str],
    event: Event,
    repository: Repository | None,
    runner: Runner,
    state: StepState,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Propose new baselines. Returns the exit code of the step.

    Args:
        state: is told the run directories, outputs and step summary.

    Raises:
        RaggateError: for inputs that cannot be used, and every reason not to promote a suite alone.
    """
    state.fail_on = "regression"  # a promotion has nothing that may be waved through
    asked = PromoteInputs.of(inputs)
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: promote` needs it")
    step = _step(inputs, event, repository, runner, state)
    chosen = _chosen(step)
    if asked.run is None:
        step.check_checkout()

    def download() -> Downloaded:
        return earlier_run.download(repository, step.selector(asked, now()))

    if len(chosen) == 1:
        adopted = None if asked.run is None else download
        return _proposed(repository, step, (step.of_suite(chosen[0]).prepare(asked, adopted),))
    work = _Suites(step, asked, None if asked.run is None else download())
    outcomes = suites.check_each(chosen, work.check, console.say)
    _tell(step, outcomes)
    code = worst(outcome.code for outcome in outcomes)
    if code == ExitCode.PASS:
        code = _proposed(repository, step, tuple(work.prepared))
        state.outputs["suites"] = _rows(outcomes, promoted=True)
    return code


class _Suites:
    """Several suites of one promotion, as they are checked one after another: all of them are promoted, or none.

    Attributes:
        prepared: the baselines of those that passed.
    """

    def __init__(self, step: PromotionStep, asked: PromoteInputs, adopted: Downloaded | None) -> None:
        self._step, self._asked, self._adopted = step, asked, adopted
        self.prepared: list[Prepared] = []

    def check(self, suite: SuiteFile) -> SuiteOutcome:
        """Check one suite, and tell how that ended."""
        self._step.state.directory = None
        ended = console.of_suite(suite, lambda: self._prepared(suite), self._step.runner.environment, steps.fence)
        directory = self._step.state.directory
        results.give_back(directory, self._step.runner.workspace)
        if isinstance(ended, SuiteOutcome):
            return replace(ended, directory=directory)
        self.prepared.append(ended)
        return suites.passed(suite, directory)

    def _prepared(self, suite: SuiteFile) -> Prepared:
        adopted = self._adopted
        prepared = self._step.of_suite(suite).prepare(self._asked, None if adopted is None else lambda: adopted)
        others = {other.suite: other.file.path for other in self.prepared}
        suites.check_baseline(prepared.suite, prepared.file.path, others)
        return prepared


def _tell(step: PromotionStep, outcomes: Sequence[SuiteOutcome]) -> None:
    """Tell the state of the step how the checks of several suites ended, and that nothing is promoted yet."""
    step.state.directory = None
    places = [results.path_from_workspace(outcome.directory, step.runner.workspace) for outcome in outcomes]
    step.state.outputs = {
        "run-directory": "\n".join(filter(None, places)),
        "suites": _rows(outcomes, promoted=False),
    }
    refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
    if refused:
        passed = [outcome.config for outcome in outcomes if outcome.code == ExitCode.PASS]
        console.say(report.refusal(refused, passed))
        step.state.summary = step.redacted(report.render_refused(refused, passed))


def _rows(outcomes: Sequence[SuiteOutcome], *, promoted: bool) -> str:
    """Write the output `suites`: how each suite ended, which is a pass only where all of them were promoted."""
    return dumps([_row(outcome, promoted=promoted) for outcome in outcomes]).decode()


def _row(outcome: SuiteOutcome, *, promoted: bool) -> dict[str, str | int]:
    passed = "pass" if promoted else NOT_PROMOTED
    verdict = passed if outcome.code == ExitCode.PASS else outcome.verdict
    config = plain(outcome.config, limit=1000)
    return {"suite": outcome.suite, "config": config, "verdict": verdict, "exit-code": outcome.code}


def _proposed(repository: Repository, step: PromotionStep, prepared: tuple[Prepared, ...]) -> int:
    """Write the baselines, all of them in one commit."""
    state = step.state

    def page(commit: commits.Committed | None, *, opened: bool = False) -> str:
        entries = [(suite.proposal, replace(signed(suite.context, commit), opened=opened)) for suite in prepared]
        return step.redacted(report.render(entries))

    change = _change(step, prepared, lambda commit: page(commit, opened=True))
    result = promotion.propose(repository, change)
    _report(result, change, state, prepared[0].context.links)
    state.summary += page(result.commit)
    return int(ExitCode.PASS)


def _change(step: PromotionStep, prepared: tuple[Prepared, ...], body: Callable[[commits.Committed], str]) -> Change:
    first, names = prepared[0], [one.suite for one in prepared]
    provenance, evidence = first.proposal.provenance, first.context.evidence
    lines = [
        *([f"Suites: {', '.join(names)}"] if len(names) > 1 else []),
        f"Reason: {provenance.get('reason')}",
        f"Promoted by: {provenance.get('promoted_by')}",
        f"Measured at: {evidence.commit}",
        f"Measured by: workflow run {evidence.run}, attempt {evidence.attempt} ({evidence.event})",
    ]
    return Change(
        branch=promotion.branch_of(names),
        target=step.target,
        head=step.head,
        files=tuple(one.file for one in prepared),
        title=pull_title(report.title([suite.proposal for suite in prepared])),
        message="\n".join(title_text(line) for line in lines),
        body=body,
    )


def _step(
    inputs: Mapping[str, str], event: Event, repository: Repository, runner: Runner, state: StepState
) -> PromotionStep:
    """Find the branch and the commit it is at, on which alone a baseline is promoted.

    Raises:
        UsageError: for an event or a branch that must not promote.
        CannotTell: for a branch that is not there.
    """
    if event.name not in STARTED_BY:
        raise UsageError(
            f"a baseline is not promoted on the event {event.name}: it could be code that nobody has merged",
            hint="Use `on: workflow_dispatch`; docs/promotion.md has the whole workflow.",
        )
    target = event.default_branch or repository.default_branch()
    if event.head_ref != target:
        raise UsageError(
            f"this workflow was started on {quoted(event.head_ref)}; a baseline is promoted on {quoted(target)} only",
            hint=f"Choose the branch {cut(target)} where the workflow is started.",
        )
    head = repository.head_of(target)
    if head is None:
        raise CannotTell(f"there is no branch {quoted(target)} in {event.repository}")
    remote = remote_of(runner.workspace, repository)
    return PromotionStep(
        inputs=inputs,
        event=event,
        runner=runner,
        state=state,
        remote=remote,
        config=runner.workspace / inputs["config"],
        target=target,
        head=head,
    )


def _chosen(step: PromotionStep) -> tuple[SuiteFile, ...]:
    """Return the suites that are promoted: every one that `config` names."""
    names = step_inputs.entries(step.inputs, "config")
    if not suite_list.several(names):
        return (SuiteFile(config=step.inputs["config"], suite=""),)
    return suite_list.find(names, against=step.head, remote=step.remote, among=())


def _report(result: PullRequestResult, change: Change, state: StepState, links: Links) -> None:
    """Put into outputs, log and summary what became of it."""
    commit = result.commit
    state.outputs["pull-request-url"] = result.url
    alone, target = len(change.files) == 1, cut(change.target)
    what = "baseline" if alone else f"baselines of {len(change.files)} suites"
    these = "this baseline" if alone else f"these {what}"
    sentence = {
        "created": f"A pull request proposes the {what}",
        "updated": f"The open pull request proposes {these} now",
        "unchanged": f"The open pull request proposes {these} already",
        "nothing": f"The {what} on {target} {'is this one' if alone else 'are these'} already: nothing was written",
    }[result.state]
    for line in (f"{sentence}{': ' + result.url if result.url else ''}", *result.notes):
        console.say(line)
    if commit is not None and not commit.verified:
        steps.warn("the commit is not verified", f"GitHub did not sign {commit.sha[:12]}: {commit.reason}")
    notes = [safe(note, limit=500, middle=True) for note in result.notes]
    lines = [link(safe(sentence), result.url, links) + ".", *notes]
    state.summary = "> [!NOTE]\n" + "<br>\n".join(f"> {line}" for line in lines) + "\n\n"
