"""The step that promotes: runs of the default branch's head, or an earlier one -> a pull request with the baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from raggate.action import promote_suites, steps
from raggate.action.promote_inputs import EVERY_SUITE, PromoteInputs
from raggate.action.promotion_step import Prepared, PromotionStep, signed
from raggate.cli import console
from raggate.errors import CannotTell, ExitCode, UsageError
from raggate.github import earlier_run, promotion
from raggate.github.promotion import Change, PullRequestResult
from raggate.github.rest import commits
from raggate.github.rest.repository import Repository
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState, remote_of
from raggate.inputs import suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.models.publication import Links
from raggate.models.suites import worst
from raggate.reports import promoted_suites, promotion as report
from raggate.reports.parts.markup import link
from raggate.reports.parts.pull_requests import pull_title, title_text
from raggate.text.escape import markdown as safe
from raggate.text.quote import cut, listed, quoted

STARTED_BY = frozenset(("workflow_dispatch", "schedule", "push"))
"""Events that may promote. None of them runs code that has not been merged."""


def promote_baseline(
    inputs: Mapping[str, str],
    event: Event,
    repository: Repository | None,
    runner: Runner,
    state: StepState,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Propose new baselines, or with `dry-run` show what they would be. Returns the exit code of the step.

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
    chosen = _chosen(step, asked)
    if asked.run is None:
        step.check_checkout()

    def download() -> earlier_run.Downloaded:
        return earlier_run.download(repository, step.selector(asked, now()))

    if len(chosen) > 1:
        adopted = None if asked.run is None else download()
        prepared, outcomes = promote_suites.prepare(step, chosen, asked, adopted)
        code = worst(outcome.code for outcome in outcomes)
        if code == ExitCode.PASS:
            code = _proposed(repository, step, asked, prepared)
            state.outputs["suites"] = promote_suites.rows(outcomes, promoted=not asked.dry_run)
        return code
    own = step.of_suite(chosen[0]) if chosen else replace(step, inputs={**inputs, "suite": asked.only_suite})
    return _proposed(repository, step, asked, (own.prepare(asked, None if asked.run is None else download),))


def _proposed(repository: Repository, step: PromotionStep, asked: PromoteInputs, prepared: tuple[Prepared, ...]) -> int:
    """Write the baselines, all of them in one commit, or show them."""
    state = step.state

    def page(commit: commits.Committed | None, *, opened: bool = False) -> str:
        entries = [(suite.proposal, replace(signed(suite.context, commit), opened=opened)) for suite in prepared]
        text = report.render(*entries[0]) if len(entries) == 1 else promoted_suites.render(entries)
        return step.redacted(text)

    if asked.dry_run:
        state.summary = f"> [!NOTE]\n> A dry run: nothing was written.\n\n{page(None)}"
        return int(ExitCode.PASS)
    change = _change(step, prepared, lambda commit: page(commit, opened=True))
    result = (promotion.commit_directly if asked.direct else promotion.propose)(repository, change)
    _report(result, change, state, prepared[0].context.links)
    state.summary += page(result.commit)
    return int(ExitCode.PASS)


def _change(step: PromotionStep, prepared: tuple[Prepared, ...], body: Callable[[commits.Committed], str]) -> Change:
    first, suites = prepared[0], [one.suite for one in prepared]
    provenance, evidence = first.proposal.provenance, first.context.evidence
    lines = [
        *([f"Suites: {', '.join(suites)}"] if len(suites) > 1 else []),
        f"Reason: {provenance.get('reason')}",
        f"Promoted by: {provenance.get('promoted_by')}",
        f"Measured at: {evidence.commit}",
        f"Measured by: workflow run {evidence.run}, attempt {evidence.attempt} ({evidence.event})",
    ]
    alone = len(prepared) == 1
    title = report.title(first.proposal) if alone else promoted_suites.title([suite.proposal for suite in prepared])
    event = step.event
    return Change(
        branch=promotion.branch_of(suites[0]) if alone else promotion.branch_of_several(suites),
        target=step.target,
        head=step.head,
        files=tuple(one.file for one in prepared),
        title=pull_title(title),
        message=promotion.message([title_text(line) for line in lines], run=event.run_id, attempt=event.attempt),
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


def _chosen(step: PromotionStep, asked: PromoteInputs) -> tuple[SuiteFile, ...]:
    """Choose the suites that are promoted, where several are listed; none where `config` is one configuration.

    Raises:
        UsageError: when `suite` names none of them, or others too, and as `suite_list.find`.
    """
    names = step_inputs.entries(step.inputs, "config")
    if not suite_list.several(names):
        return ()
    suites = {suite.suite: suite for suite in suite_list.find(names, against=step.head, remote=step.remote, among=())}
    if asked.suites == (EVERY_SUITE,):
        return tuple(suites.values())
    unknown = [name for name in asked.suites if name not in suites]
    if unknown or not asked.suites:
        wanted = f"not {quoted(unknown[0])}" if unknown else "and the input `suite` is empty"
        raise UsageError(
            f"no such suite is promoted: expected one of {listed([*suites])}, {wanted}",
            hint="Name it in the input `suite`: one, several with commas between, or `*` for all.",
        )
    return tuple(suites[name] for name in asked.suites)


def _report(result: PullRequestResult, change: Change, state: StepState, links: Links) -> None:
    """Put into outputs, log and summary what became of it."""
    commit = result.commit
    state.outputs |= {
        "pull-request-url": result.url,
        "commit": commit.sha if commit is not None else "",
        "verified": str(commit.verified).lower() if commit is not None else "",
    }
    alone, target = len(change.files) == 1, cut(change.target)
    what = "baseline" if alone else f"baselines of {len(change.files)} suites"
    these = "this baseline" if alone else f"these {what}"
    sentence = {
        "created": f"A pull request proposes the {what}",
        "updated": f"The open pull request proposes {these} now",
        "unchanged": f"The open pull request proposes {these} already",
        "committed": f"The {what} {'was' if alone else 'were'} committed onto {target}",
        "nothing": f"The {what} on {target} {'is this one' if alone else 'are these'} already: nothing was written",
    }[result.state]
    for line in (f"{sentence}{': ' + result.url if result.url else ''}", *result.notes):
        console.say(line)
    if commit is not None and not commit.verified:
        steps.warn("the commit is not verified", f"GitHub did not sign {commit.sha[:12]}: {commit.reason}")
    notes = [safe(note, limit=500, middle=True) for note in result.notes]
    lines = [link(safe(sentence), result.url, links) + ".", *notes]
    state.summary = "> [!NOTE]\n" + "<br>\n".join(f"> {line}" for line in lines) + "\n\n"
