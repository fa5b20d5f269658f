"""The step that gates: each suite by itself, with one comment and one exit code for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.action import steps
from raggate.base.errors import ExitCode, UsageError
from raggate.base.escape import plain
from raggate.base.jsonio import dumps
from raggate.base.redact import Guarded
from raggate.frontends import console
from raggate.frontends.console import say
from raggate.github import bases
from raggate.github.publish import Settings, StepReporter
from raggate.github.runner import results, step_inputs
from raggate.github.step_context import Step, shown_prefix
from raggate.inputs import suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import report_files, suites
from raggate.pipeline.report_files import Files
from raggate.pipeline.request import Request

T = TypeVar("T")

_OF_LISTS = frozenset(("check", "comment", "promote", "respond"))
"""Commands that take a list of configurations."""

_COUNTS = ("cases", "broke", "fixed", "warnings")


def listed(step: Step) -> bool:
    """Return whether the step is for a list of suites, however many are in it."""
    if not suite_list.several(step.configs):
        return False
    if (command := step.inputs["command"]) not in _OF_LISTS:
        raise UsageError(
            f"`command: {command}` works with one suite, and `config` lists several",
            hint="Name one configuration. docs/suites.md explains several.",
        )
    return True


def gate(step: Step, *, measured: Callable[[Request], Path | None] = lambda asked: None) -> int:
    """Gate every suite of the step, and show on GitHub how it went. Returns the exit code of the worst.

    `measured` returns the run directory to judge in place of asking, if there is one beside that of the inputs.
    """
    inputs, state = step.inputs, step.state
    several = listed(step)
    if several:
        suites.refuse_single({"input 'run'": inputs["run"]}, "a list of configurations")
    settings = Settings(
        comment=inputs["comment"],
        issue=steps.tells_issue(inputs, step.event),
        secrets=step_inputs.secrets(inputs),
    )
    name = inputs["artifact"] if several else None
    reporter = state.reporter = StepReporter(step.event, step.repository, settings, steps.warn_not_shown, name=name)
    if step.repository is None and settings.comments_on(step.event):
        say("no comment: the input github-token is empty")
    gating = _Gating(step, reporter, measured, several, steps.request(step))
    code, error = console.guarded(gating.evaluate, step.runner.environment, steps.fence)
    outcomes = gating.outcomes or (suites.ended(SuiteFile(config=inputs["config"], suite=""), code, error),)
    state.error = outcomes[0].error
    reporter.finish(outcomes)
    state.outputs = {"comment-url": reporter.url, "verdict": reporter.verdict}
    if several:
        # each suite has its own, and says what a step with one suite says
        state.directory = None
        state.outputs |= _outputs(gating.outcomes, step.runner.workspace)
    return code


class _Gating(Guarded, Struct):
    """The suites of one step, as they are judged one after another."""

    step: Step
    reporter: StepReporter
    stored: Callable[[Request], Path | None]
    several: bool
    request: Request
    files: Mapping[str, Files] = {}
    outcomes: tuple[SuiteOutcome, ...] = ()

    @property
    def workspace(self) -> Path:
        """The checkouts of the job."""
        return self.step.runner.workspace

    def evaluate(self) -> int:
        """Judge all of them, and return the exit code of the worst."""
        suites_of_step = self._listed() if self.several else (self._only(),)
        # whatever goes wrong for one is how it ended, and keeps none of the others from a verdict
        self.outcomes = suites.check_each(suites_of_step, lambda suite: self._alone(suite, self._shown), say)
        return worst(outcome.code for outcome in self.outcomes)

    def _listed(self) -> tuple[SuiteFile, ...]:
        self._check_base()
        suites_of_step = suites.listed(self.request, self.step.configs)
        self.files = suites.reports_of(self._wanted, suites_of_step, "input 'reports'")
        for files in self.files.values():
            steps.check_inside("reports", files.formats, self.workspace)
        return suites_of_step

    def _only(self) -> SuiteFile:
        """Name the suite, also of a configuration that cannot be used, so that its one comment tells what is wrong."""
        name, request = self.step.inputs["config"], self.request
        config = self.workspace / name
        suite = suite_list.name_of_unusable(config.parent, config.name, against=request.against, remote=request.remote)
        return SuiteFile(config=name, suite=suite or name)

    @property
    def _wanted(self) -> list[str]:
        return step_inputs.entries(self.step.inputs, "reports")

    def _check_base(self) -> None:
        event = self.step.event
        bases.check(event.base_ref, event.default_branch, self.step.inputs["bases"])

    def _alone(self, suite: SuiteFile, work: Callable[[SuiteFile], T]) -> T | SuiteOutcome:
        return console.of_suite(suite, lambda: work(suite), self.step.runner.environment, steps.fence)

    def _shown(self, suite: SuiteFile) -> SuiteOutcome:
        self.reporter.prefixes[suite.config] = shown_prefix(self.workspace / suite.config, self.workspace)
        known: SuiteOutcome | None = None
        # a group's base is the change before it in the queue, which a queue may merge although its own checks failed
        if self.several and self.step.event.name != "merge_group":
            request = suites.request_of(self.request, suite)
            known = self._alone(suite, lambda _: suites.unconcerned(request, suite))
        if known is not None and known.not_run:
            return known
        outcome = self._alone(suite, self._measured) if known is None else known
        fail_on = self.step.inputs["fail-on"]
        if fail_on != "regression" and outcome.review is not None and outcome.code != ExitCode.PASS:
            outcome = replace(outcome, notes=(f"fail-on: {fail_on} may keep the step itself green.",))
        self.reporter.finish_suite(outcome)
        return outcome

    def _measured(self, suite: SuiteFile) -> SuiteOutcome:
        request, files, stored = suites.request_of(self.request, suite), self.files.get(suite.suite), None
        if files is None:
            # told like every other way to end, on the pull request too
            self._check_base()
            files = report_files.parsed(self._wanted, "input 'reports'")
            steps.check_inside("reports", files.formats, self.workspace)
            stored = self.stored(request) or self.step.path("run")
        outcome = console.check_suite(request, suite, files, stored, fence=steps.fence)
        # before the verdict: files that the job cannot read or delete afterwards are a trouble of their own
        results.give_back(outcome.directory, self.workspace)
        return outcome


def ended(outcome: SuiteOutcome) -> dict[str, str | int]:
    """Return how a suite ended, for the output `suites`."""
    config = plain(outcome.config, limit=1000)
    return {"suite": outcome.suite, "config": config, "verdict": outcome.verdict, "exit-code": outcome.code}


def _outputs(outcomes: Sequence[SuiteOutcome], workspace: Path) -> dict[str, str]:
    """Return the outputs: what is a path, one a line; what is counted, of all; and each suite as JSON."""
    each = [(outcome, results.outputs(outcome.directory, outcome.code, workspace)) for outcome in outcomes]
    rows = [
        {**ended(outcome), "run-directory": own["run-directory"], **{name: int(own[name]) for name in _COUNTS}}
        for outcome, own in each
    ]
    return {
        "run-directory": "\n".join(own["run-directory"] for _, own in each if own["run-directory"]),
        **{name: str(sum(int(own[name]) for _, own in each)) for name in _COUNTS},
        "suites": dumps(rows).decode(),
    }
