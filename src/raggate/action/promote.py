"""The step that promotes: runs of the default branch's head, or an earlier one -> a pull request with the baselines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.action import steps
from raggate.action.gate import ended
from raggate.base.errors import CannotTell, ExitCode, UsageError
from raggate.base.escape import markdown as safe
from raggate.base.jsonio import dumps
from raggate.base.quote import cut, quoted
from raggate.base.redact import Guarded, redact
from raggate.frontends import console
from raggate.gate import baseline, wording
from raggate.gate.promote import Terms
from raggate.github import earlier_run
from raggate.github.earlier_run import Downloaded
from raggate.github.promotion import Change, ProposedFile, PullRequestResult, branch_of, propose
from raggate.github.rest import commits
from raggate.github.rest.repository import Repository
from raggate.github.runner import results
from raggate.github.runner.event import Event
from raggate.github.step_context import Step, StepState, prefix_of, remote_of
from raggate.inputs import sources, suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.run import Run
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import check as pipeline, run_directory, suites
from raggate.pipeline.trusted_inputs import check_names, read_baseline
from raggate.reports import promotion as report
from raggate.reports.parts.markup import link
from raggate.reports.promotion import pull_title, title_text
from raggate.scoring import score

MOST_REASON = 500
"""Characters."""

NOT_PROMOTED = "not promoted"
"""What stands in the place of the verdict of a suite that passed its checks while nothing was written."""
STARTED_BY = frozenset(("workflow_dispatch", "schedule", "push"))
"""Events that may promote. None of them runs code that has not been merged."""

ALLOW = "`allow-regression: true`, with a reason that says why"
"""What accepts a lower value, in a workflow."""

_RUN = re.compile(r"([1-9][0-9]{0,18})(?:\.([1-9][0-9]{0,8}))?")


class Asked(Struct, frozen=True, kw_only=True):
    """What the inputs ask for. Without a `run` the checkout is measured; without an `attempt` the latest is meant."""

    terms: Terms
    run: int | None
    attempt: int | None

    @classmethod
    def of(cls, inputs: Mapping[str, str], by: str) -> Self:
        """Check the inputs, which somebody typed; raises UsageError naming the first that cannot be used."""
        reason = inputs["reason"].strip()
        if not reason or len(reason) > MOST_REASON or not reason.isprintable():
            raise UsageError(
                f"input 'reason': expected one line of 1 to {MOST_REASON} printable characters, "
                f"found {len(reason)}: {quoted(reason, limit=80)}",
                hint="It says why the baseline changes, and stays in the baseline and in git.",
            )
        run = _RUN.fullmatch(inputs["run-id"])
        if inputs["run-id"] and run is None:
            raise UsageError(
                "input 'run-id': expected the number of a workflow run, optionally followed by `.` and the attempt, "
                f"found {quoted(inputs['run-id'], limit=80)}"
            )
        terms = Terms.of(reason, by, allow_regression=inputs["allow-regression"] == "true")
        return cls(
            terms=replace(terms, permission=ALLOW),
            run=int(run[1]) if run else None,
            attempt=int(run[2]) if run and run[2] else None,
        )


class Prepared(Struct, frozen=True, kw_only=True):
    """The baseline of a suite that passed every check: what it is, how it is reported, and the file."""

    proposal: BaselineCandidate
    context: report.PromotionContext
    file: ProposedFile

    @property
    def suite(self) -> str:
        """The name of the suite."""
        return self.proposal.comparison.scorecard.suite


def promote_baseline(step: Step, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> int:
    """Propose the baselines of all suites that `config` names, or of none. Returns the exit code of the step."""
    step.state.fail_on = "regression"  # a promotion has nothing that may be waved through
    asked = Asked.of(step.inputs, step.event.triggering_actor)
    repository = step.needed_repository()
    target, head = _target(step.event, repository)
    remote = remote_of(step.runner.workspace, repository)
    return _Promotion(step, repository, asked, now, target, head, remote).carry_out()


def _target(event: Event, repository: Repository) -> tuple[str, str]:
    """Find the branch and the commit it is at, on which alone a baseline is promoted."""
    if event.name not in STARTED_BY:
        raise UsageError(
            f"a baseline cannot be promoted on the event {event.name}, because its code may not be merged yet",
            hint="Use `on: workflow_dispatch`. docs/promotion.md has the whole workflow.",
        )
    target = event.default_branch or repository.default_branch()
    if event.head_ref != target:
        raise UsageError(
            f"this workflow was started on {quoted(event.head_ref)}, and a baseline can only be "
            f"promoted on {quoted(target)}",
            hint=f"Choose the branch {cut(target)} when you start the workflow.",
        )
    head = repository.head_of(target)
    if head is None:
        raise CannotTell(f"there is no branch {quoted(target)} in {event.repository}")
    return target, head


class _Promotion(Guarded, Struct):
    """One step that promotes to a branch at the commit it is at. `prepared` are the suites that passed their checks."""

    step: Step
    repository: Repository
    asked: Asked
    now: Callable[[], datetime]
    target: str
    head: str
    remote: sources.Remote
    adopted: Downloaded | None = None
    prepared: list[Prepared] = field(default_factory=list)

    def carry_out(self) -> int:
        """Check every suite, and propose their baselines if all passed. Returns the exit code."""
        names = self.step.configs
        chosen: tuple[SuiteFile, ...] = (SuiteFile(config=self.step.inputs["config"], suite=""),)
        if suite_list.several(names):
            chosen = suite_list.find(names, against=self.head, remote=self.remote, among=())
        if self.asked.run is None:
            self._check_checkout((self.step.runner.workspace / chosen[0].config).parent)
        else:
            self.adopted = self._download()
        if len(chosen) == 1:
            self.prepared = [self._prepare(chosen[0])]
            return self._propose()
        outcomes = suites.check_each(chosen, self._checked, console.say)
        self._tell(outcomes)
        code = worst(outcome.code for outcome in outcomes)
        if code == ExitCode.PASS:
            code = self._propose()
            self.step.state.outputs["suites"] = _rows(outcomes, promoted=True)
        return code

    def _check_checkout(self, folder: Path) -> None:
        """Refuse a checkout that is not the head of the branch, before anything is measured."""
        remote = sources.Remote(workspace=self.step.runner.workspace)
        there = sources.commit_of(folder, remote)
        if there != self.head:
            raise CannotTell(
                f"the checkout is at {cut(there, limit=12)}, and {cut(self.target)} is at {self.head[:12]}: "
                "only the head of the branch is promoted",
                hint="Somebody may have pushed meanwhile. Start the workflow again.",
            )
        if changed := sources.changed_files(folder, self.head, remote):
            raise CannotTell(
                f"the checkout has changed files, and only committed files are promoted: {wording.some(changed)}",
                hint=earlier_run.UNCHANGED,
            )

    def _download(self) -> Downloaded:
        selector = earlier_run.RunSelector(
            target=self.target,
            head=self.head,
            run=self.asked.run or 0,
            attempt=self.asked.attempt,
            artifact=self.step.inputs["artifact"],
            workflow=self.step.inputs["workflow"],
            now=self.now().isoformat(),
        )
        return earlier_run.download(self.repository, selector)

    def _checked(self, suite: SuiteFile) -> SuiteOutcome:
        """Check one of several suites, and tell how that ended."""
        self.step.state.directory = None
        ended = console.of_suite(suite, lambda: self._prepare(suite), self.step.runner.environment, steps.fence)
        directory = self.step.state.directory
        results.give_back(directory, self.step.runner.workspace)
        if isinstance(ended, SuiteOutcome):
            return replace(ended, directory=directory)
        self.prepared.append(ended)
        return suites.passed(suite, directory)

    def _prepare(self, suite: SuiteFile) -> Prepared:
        """Measure a suite, or take what an earlier run measured of it, and check that it may become the baseline."""
        config = self.step.runner.workspace / suite.config
        source = InputSource(
            root=config.parent,
            config_name=config.name,
            against=self.head,
            remote=self.remote,
            folder=posixpath.dirname(suite.config),
        )
        # opened first, so that errors in them are reported before anything is measured
        with load_trusted(source, check_names) as trusted:
            if self.adopted is None:
                run, evidence = self._measure(suite, trusted)
            else:
                run, evidence = earlier_run.adopt(self.adopted, trusted)
            proposal = pipeline.propose(run, trusted.config, self.asked.terms, lambda: read_baseline(trusted))
            prefix = prefix_of(config, self.step.runner.workspace)
            path = posixpath.normpath(prefix + trusted.config.baseline_path)
            present = trusted.baseline.data if trusted.baseline is not None else None
            return Prepared(
                proposal=proposal,
                context=self._context(trusted, proposal, evidence, self.step.event.links(self.head, prefix=prefix)),
                file=ProposedFile(path=path, present=present, data=proposal.data),
            )

    def _measure(self, suite: SuiteFile, trusted: Inputs) -> tuple[Run, Evidence]:
        """Measure the checkout by the files of the head of the branch; give the run as its directory holds it."""
        step = replace(self.step, inputs={**self.step.inputs, "config": suite.config})
        request = steps.request_of(step, against=self.head, remote=self.remote)
        result = pipeline.run(request)
        console.show_run(result)
        run = run_directory.read(result.directory)
        earlier_run.check_measured(run, trusted, self.head, "this run")
        evidence = Evidence(
            run=self.step.event.run_id,
            attempt=self.step.event.attempt,
            event=self.step.event.name,
            commit=self.head,
            url=self.step.event.run_url,
            image=earlier_run.image_of(run),
        )
        return run, evidence

    def _context(
        self, trusted: Inputs, proposal: BaselineCandidate, evidence: Evidence, links: Links
    ) -> report.PromotionContext:
        settings = trusted.config
        written = baseline.read(proposal.data, "the new baseline", score.directions(settings.score.k))
        return report.PromotionContext(
            target=self.target,
            evidence=evidence,
            links=links,
            hashes={
                "golden set": trusted.golden.hash,
                "vault": trusted.vault.hash,
                "configuration": earlier_run.configuration_hash(settings),
            },
            accepted=written.accepted,
            opened=False,
        )

    def _tell(self, outcomes: Sequence[SuiteOutcome]) -> None:
        """Report how the checks of several suites ended, and that nothing is promoted yet."""
        self.step.state.directory = None
        places = [results.path_from_workspace(outcome.directory, self.step.runner.workspace) for outcome in outcomes]
        self.step.state.outputs = {
            "run-directory": "\n".join(filter(None, places)),
            "suites": _rows(outcomes, promoted=False),
        }
        refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
        if refused:
            passed = [outcome.config for outcome in outcomes if outcome.code == ExitCode.PASS]
            console.say(report.refusal(refused, passed))
            self.step.state.summary = self._redacted(report.render_refused(refused, passed))

    def _propose(self) -> int:
        """Propose the baselines, all of them in one commit."""
        change = self._change()
        result = propose(self.repository, change)
        _report(result, change, self.step.state, self.prepared[0].context.links)
        self.step.state.summary += self._page(result.commit)
        return int(ExitCode.PASS)

    def _change(self) -> Change:
        first, names = self.prepared[0], [one.suite for one in self.prepared]
        provenance, evidence = first.proposal.provenance, first.context.evidence
        lines = [
            *([f"Suites: {', '.join(names)}"] if len(names) > 1 else []),
            f"Reason: {provenance.get('reason')}",
            f"Promoted by: {provenance.get('promoted_by')}",
            f"Measured at: {evidence.commit}",
            f"Measured by: workflow run {evidence.run}, attempt {evidence.attempt} ({evidence.event})",
        ]
        return Change(
            branch=branch_of(names),
            target=self.target,
            head=self.head,
            files=tuple(one.file for one in self.prepared),
            title=pull_title(report.title([suite.proposal for suite in self.prepared])),
            message="\n".join(title_text(line) for line in lines),
            body=lambda commit: self._page(commit, opened=True),
        )

    def _page(self, commit: commits.Committed | None, *, opened: bool = False) -> str:
        unsigned = "" if commit is None or commit.verified else commit.reason
        entries = [
            (suite.proposal, replace(suite.context, unsigned=unsigned, opened=opened)) for suite in self.prepared
        ]
        return self._redacted(report.render(entries))

    def _redacted(self, page: str) -> str:
        return redact(page, (self.step.inputs["github-token"],))


def _rows(outcomes: Sequence[SuiteOutcome], *, promoted: bool) -> str:
    """Write the output `suites`: how each suite ended, which is a pass only where all of them were promoted."""
    passed = "pass" if promoted else NOT_PROMOTED
    rows = [ended(outcome) | ({"verdict": passed} if outcome.code == ExitCode.PASS else {}) for outcome in outcomes]
    return dumps(rows).decode()


def _report(result: PullRequestResult, change: Change, state: StepState, links: Links) -> None:
    """Put into outputs, log and summary what became of it."""
    commit = result.commit
    state.outputs["pull-request-url"] = result.url
    what = "baseline" if len(change.files) == 1 else f"baselines of {len(change.files)} suites"
    sentence = {
        "created": f"A pull request proposes the {what}",
        "updated": f"The open pull request now proposes the {what}",
        "unchanged": f"The open pull request already proposes the {what}",
        "nothing": f"{cut(change.target)} already has the {what}: nothing was written",
    }[result.state]
    console.say(f"{sentence}{': ' + result.url if result.url else ''}")
    if commit is not None and not commit.verified:
        steps.warn("the commit is not verified", f"GitHub did not sign {commit.sha[:12]}: {commit.reason}")
    state.summary = f"> [!NOTE]\n> {link(safe(sentence), result.url, links)}.\n\n"
