"""The step that promotes: a run of the default branch's head, or an earlier one -> a pull request with the baseline."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from raggate.action import steps
from raggate.action.promote_inputs import PromoteInputs
from raggate.cli import console
from raggate.config.overrides import Overrides
from raggate.config.schema import Config
from raggate.errors import CannotTell, ExitCode, UsageError
from raggate.gate import baseline
from raggate.github import earlier_run, eligibility, promotion
from raggate.github.proposal import Change, PullRequestResult
from raggate.github.rest import commits
from raggate.github.rest.repository import Repository
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState, prefix_of, remote_of
from raggate.inputs import sources, suite_list
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.interop.systems import SYSTEMS
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.run import Run
from raggate.pipeline import check as pipeline, run_directory
from raggate.pipeline.trusted_inputs import check_names
from raggate.reports import promotion as report
from raggate.reports.parts.markup import link
from raggate.reports.parts.opened import pull_title, title_text
from raggate.scoring import score
from raggate.text.escape import markdown as safe
from raggate.text.quote import cut, listed, quoted
from raggate.text.redact import redact

STARTED_BY = frozenset(("workflow_dispatch", "schedule", "push"))
"""Events that may promote. None of them runs code that has not been merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promotion:
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
        there = sources.commit_of(self.config.parent, sources.Remote(workspace=self.runner.workspace))
        if there != self.head:
            raise CannotTell(
                f"the checkout is at {cut(there, limit=12)}, and {cut(self.target)} is at {self.head[:12]}: "
                "only the head of the branch is promoted",
                hint="Somebody may have pushed meanwhile. Start the workflow again.",
            )

    def trusted(self) -> AbstractContextManager[Inputs]:
        """Open what the head of the branch holds; the place of its baseline is checked at once."""

        def accept(settings: Config, name: str) -> Config:
            changed = check_names(Overrides(suite=self.inputs["suite"] or None).apply(settings), name)
            commits.check_file(self._baseline_path(changed))
            return changed

        source = InputSource(
            root=self.config.parent, config_name=self.config.name, against=self.head, remote=self.remote
        )
        return load_trusted(source, accept)

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
        return earlier_run.RunSelector(
            target=self.target,
            head=self.head,
            run=asked.run or 0,
            attempt=asked.attempt,
            artifact=self.inputs["artifact"],
            workflow=self.inputs["workflow"],
            max_age_days=asked.max_age_days,
            now=now.isoformat(),
        )

    def context(self, trusted: Inputs, proposal: BaselineCandidate, evidence: Evidence) -> report.PromotionContext:
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

    def change(self, trusted: Inputs, proposal: BaselineCandidate, context: report.PromotionContext) -> Change:
        path = self._baseline_path(trusted.config)
        commits.check_file(path, data := proposal.data.whole())
        provenance, evidence = proposal.provenance, context.evidence
        lines = [
            f"Reason: {provenance.get('reason')}",
            f"Promoted by: {provenance.get('promoted_by')}",
            f"Measured at: {evidence.commit}",
            f"Measured by: workflow run {evidence.run}, attempt {evidence.attempt} ({evidence.event})",
        ]

        def body(commit: commits.Committed) -> str:
            return self.page(proposal, replace(_signed(context, commit), opened=True))

        return Change(
            words=promotion.WORDS,
            branch=promotion.branch_of(trusted.config.suite),
            target=self.target,
            head=self.head,
            path=path,
            present=trusted.baseline.content.whole() if trusted.baseline is not None else None,
            data=data,
            title=pull_title(report.title(proposal)),
            message=promotion.message(
                [title_text(line) for line in lines], run=self.event.run_id, attempt=self.event.attempt
            ),
            body=body,
        )

    def page(self, proposal: BaselineCandidate, context: report.PromotionContext) -> str:
        """Render what people read, without the token."""
        return redact(report.render(proposal, context), (self.inputs["github-token"],))

    def _baseline_path(self, settings: Config) -> str:
        return posixpath.normpath(prefix_of(self.config, self.runner.workspace) + settings.baseline_path)


def promote_baseline(
    inputs: Mapping[str, str],
    event: Event,
    repository: Repository | None,
    runner: Runner,
    state: StepState,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Propose a new baseline, or with `dry-run` show what it would be. Returns the exit code of the step.

    Args:
        inputs: the action's inputs.
        event: what started the run.
        repository: where the baseline stands.
        runner: the runner's side.
        state: is told the run directory, outputs and step summary.
        now: the time.

    Raises:
        RaggateError: for inputs that cannot be used, and every reason not to promote.
    """
    state.fail_on = "regression"  # a promotion has nothing that may be waved through
    asked = PromoteInputs.of(inputs)
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: promote` needs it")
    step = _promotion(inputs, event, repository, runner, state)
    if asked.run is None:
        step.check_checkout()
    # opened first, so that what is wrong with them is told before anything is measured
    with step.trusted() as trusted:
        if asked.run is None:
            run, evidence = step.measure(trusted)
        else:
            run, evidence = earlier_run.adopt(repository, step.selector(asked, now()), trusted)
        proposal = eligibility.propose(run, trusted, asked.terms(event.triggering_actor), SYSTEMS)
        context = step.context(trusted, proposal, evidence)
        change = step.change(trusted, proposal, context)
    if asked.dry_run:
        state.summary = f"> [!NOTE]\n> A dry run: nothing was written.\n\n{step.page(proposal, context)}"
        return int(ExitCode.PASS)
    result = (promotion.commit_directly if asked.direct else promotion.propose)(repository, change)
    _report(result, change, state, context.links)
    state.summary += step.page(proposal, _signed(context, result.commit))
    return int(ExitCode.PASS)


def _promotion(
    inputs: Mapping[str, str], event: Event, repository: Repository, runner: Runner, state: StepState
) -> _Promotion:
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
    config = _configuration(inputs, head, remote)
    return _Promotion(
        inputs={**inputs, "config": config},
        event=event,
        runner=runner,
        state=state,
        remote=remote,
        config=runner.workspace / config,
        target=target,
        head=head,
    )


def _configuration(inputs: Mapping[str, str], head: str, remote: sources.Remote) -> str:
    """Choose the configuration of the suite that is promoted, where several are listed.

    Raises:
        UsageError: when `suite` does not name one of them, and as `suite_list.find`.
    """
    names = step_inputs.entries(inputs, "config")
    if not suite_list.several(names):
        return inputs["config"]
    suites = {suite.suite: suite.config for suite in suite_list.find(names, against=head, remote=remote, among=())}
    if inputs["suite"] not in suites:
        wanted = f"not {quoted(inputs['suite'])}" if inputs["suite"] else "and the input `suite` is empty"
        raise UsageError(
            f"one suite is promoted at a time: expected one of {listed([*suites])}, {wanted}",
            hint="Name it in the input `suite`. Several suites take several runs of the workflow.",
        )
    return suites[inputs["suite"]]


def _signed(context: report.PromotionContext, commit: commits.Committed | None) -> report.PromotionContext:
    unsigned = "" if commit is None or commit.verified else commit.reason
    return replace(context, unsigned=unsigned)


def _report(result: PullRequestResult, change: Change, state: StepState, links: Links) -> None:
    """Put into outputs, log and summary what became of it."""
    commit = result.commit
    state.outputs |= {
        "pull-request-url": result.url,
        "commit": commit.sha if commit is not None else "",
        "verified": str(commit.verified).lower() if commit is not None else "",
    }
    sentence = {
        "created": "A pull request proposes the baseline",
        "updated": "The open pull request proposes this baseline now",
        "unchanged": "The open pull request proposes this baseline already",
        "committed": f"The baseline was committed onto {cut(change.target)}",
        "nothing": f"The baseline on {cut(change.target)} is this one already: nothing was written",
    }[result.state]
    for line in (f"{sentence}{': ' + result.url if result.url else ''}", *result.notes):
        console.say(line)
    if commit is not None and not commit.verified:
        steps.warn("the commit is not verified", f"GitHub did not sign {commit.sha[:12]}: {commit.reason}")
    notes = [safe(note, limit=500, middle=True) for note in result.notes]
    lines = [link(safe(sentence), result.url, links) + ".", *notes]
    state.summary = "> [!NOTE]\n" + "<br>\n".join(f"> {line}" for line in lines) + "\n\n"
