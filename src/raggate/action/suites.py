"""The step that gates several suites: each as a step of its own would, one comment, one exit code. See `steps.gate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from raggate.action import steps
from raggate.cli import console
from raggate.cli.console import say
from raggate.errors import ExitCode, UsageError
from raggate.github import bases
from raggate.github.publish import Settings
from raggate.github.publish_suites import SuitesReporter, of_step
from raggate.github.rest.repository import Repository
from raggate.github.runner import commands, results, step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState, prefix_of
from raggate.inputs import suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import suites
from raggate.pipeline.report_files import Files
from raggate.pipeline.request import Request
from raggate.reports.suites import overall
from raggate.text.escape import plain
from raggate.text.jsonio import dumps

T = TypeVar("T")

_OF_ONE = ("suite", "baseline", "run")
"""Inputs that are about one suite."""

_OF_LISTS = frozenset(("check", "comment", "promote", "respond"))
"""Commands that take a list of configurations."""

_LINES = ("run-directory", "metrics-file", "summary-file", "verdict-file")
_COUNTS = ("cases", "results", "questions", "broke", "fixed", "warnings")


def listed(inputs: Mapping[str, str]) -> bool:
    """Say whether the step is for a list of suites, however many are in it.

    Raises:
        UsageError: for a list where the command is for one suite.
    """
    if not suite_list.several(step_inputs.entries(inputs, "config")):
        return False
    if inputs["command"] not in _OF_LISTS:
        raise UsageError(
            f"command: {inputs['command']} is for one suite, and `config` names a list of them",
            hint="Name the configuration of the suite. docs/suites.md says how to go about several.",
        )
    return True


def gate(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Gate every suite that the step lists. Returns the exit code of the worst.

    Raises:
        UsageError: for inputs that are about one suite, and as `steps.gate`.
    """
    suites.refuse_single({f"input {name!r}": inputs[name] for name in _OF_ONE}, "a list of configurations")
    notes = [] if inputs["fail-on"] == "regression" else [f"fail-on: {inputs['fail-on']} may keep the step green."]
    settings = Settings(
        comment=inputs["comment"],
        issue=steps.tells_issue(inputs, event),
        secrets=step_inputs.secrets(inputs),
        login=inputs["token-login"],
    )
    reporter = SuitesReporter(
        event, repository, settings, name=inputs["artifact"], notes=notes, say=steps.warn_not_shown
    )
    if repository is None and settings.comments_on(event):
        say("no comment: the input github-token is empty")
    step = _Step(inputs, event, repository, runner, state, reporter)
    code, error = console.guarded(step.evaluate, runner.environment, steps.fence)
    state.error = error
    if not step.outcomes:
        failure = state.outcome(code, inputs["config"]).reason
        state.outputs = {"comment-url": reporter.finish((), failure, results.name_of(code))}
        return code
    state.suites = reporter
    verdict = overall(step.outcomes) if code == ExitCode.PASS else results.name_of(code)
    url = reporter.finish(step.outcomes, None, verdict)
    # each has its own: what is told of a step with one suite is told of all of them
    state.directory = None
    state.outputs = _outputs(step.outcomes, runner.workspace) | {"comment-url": url, "verdict": verdict}
    return code


class _Step:
    """The suites of one step, as they are judged one after another."""

    def __init__(
        self,
        inputs: Mapping[str, str],
        event: Event,
        repository: Repository | None,
        runner: Runner,
        state: StepState,
        reporter: SuitesReporter,
    ) -> None:
        self._inputs = inputs
        self._event = event
        self._runner = runner
        self._state = state
        self._reporter = reporter
        self._request = steps.request(inputs, event, repository, runner, state)
        self._files: Mapping[str, Files] = {}
        self.outcomes: tuple[SuiteOutcome, ...] = ()

    def evaluate(self) -> int:
        """Judge all of them, and give the exit code of the worst."""
        event, inputs = self._event, self._inputs
        bases.check(event.base_ref, event.default_branch, inputs["bases"])
        names = step_inputs.entries(inputs, "config")
        request = self._request
        suites_of_step = suites.listed(request, names)
        self._files = suites.reports_of(step_inputs.entries(inputs, "reports"), suites_of_step, "input 'reports'")
        for files in self._files.values():
            steps.check_inside("reports", files.formats, self._runner.workspace)
        self.outcomes = suites.check_each(suites_of_step, self._check, say)
        return worst(outcome.code for outcome in self.outcomes)

    def _check(self, suite: SuiteFile) -> SuiteOutcome:
        """Judge one suite. Whatever goes wrong for it is how it ended, and keeps none of the others from a verdict."""
        return self._alone(suite, lambda: self._shown(suite))

    def _alone(self, suite: SuiteFile, work: Callable[[], T]) -> T | SuiteOutcome:
        return console.of_suite(suite, work, self._runner.environment, steps.fence)

    def _shown(self, suite: SuiteFile) -> SuiteOutcome:
        """Judge one suite, with a check run of its own that is open only meanwhile."""
        runner, name = self._runner, self._check_name(suite)
        shown = self._reporter.of_suite(suite.suite, name, self._prefix(suite))
        request = suites.request_of(self._request, suite)
        # a group's base is the change before it in the queue, which a queue may merge although its own checks failed
        known: SuiteOutcome | None = None
        if self._event.name != "merge_group":
            known = self._alone(suite, lambda: suites.unconcerned(request, suite))
        if known is not None and known.not_run:
            shown.skip(f"{known.verdict}: {known.not_run}")
            return known
        check = shown.begin()
        if check is not None:
            commands.set_values(runner.state, {"CHECK_RUN": str(check), "CHECK_NAME": name})
        outcome = self._alone(suite, lambda: self._measured(request, suite)) if known is None else known
        shown.finish(of_step(outcome))
        if check is not None and shown.check is None:
            commands.set_values(runner.state, {"CHECK_RUN": ""})
        return outcome

    def _measured(self, request: Request, suite: SuiteFile) -> SuiteOutcome:
        outcome = console.check_suite(request, suite, self._files[suite.suite], fence=steps.fence)
        # before it is told as a verdict: what the job cannot read and delete afterwards is a trouble of its own
        results.give_back(outcome.directory, self._runner.workspace)
        return outcome

    def _check_name(self, suite: SuiteFile) -> str:
        name = self._inputs["check-run"]
        own = {**self._inputs, "check-run": f"{name} / {plain(suite.suite, limit=100)}" if name else ""}
        return steps.check_name(own, self._event)

    def _prefix(self, suite: SuiteFile) -> str:
        try:
            return prefix_of(self._runner.workspace / suite.config, self._runner.workspace)
        except UsageError:
            # a link, for which the suite is refused anyway
            return ""


def ended(outcome: SuiteOutcome) -> dict[str, str | int]:
    """Give how a suite ended, for the output `suites`."""
    config = plain(outcome.config, limit=1000)
    return {"suite": outcome.suite, "config": config, "verdict": outcome.verdict, "exit-code": outcome.code}


def _outputs(outcomes: Sequence[SuiteOutcome], workspace: Path) -> dict[str, str]:
    """Give the outputs: what is a path, one a line; what is counted, of all; and each suite as JSON."""
    each = [(outcome, results.outputs(outcome.directory, outcome.code, workspace)) for outcome in outcomes]
    rows = [
        {
            **ended(outcome),
            "run-directory": own["run-directory"],
            **{name: int(own[name]) for name in _COUNTS},
        }
        for outcome, own in each
    ]
    return {
        **{name: "\n".join(own[name] for _, own in each if own[name]) for name in _LINES},
        **{name: str(sum(int(own[name]) for _, own in each)) for name in _COUNTS},
        "suites": dumps(rows).decode(),
    }
