"""Several suites of a list that are promoted together: all of them or none, so that no part passes for the whole."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from raggate.action import steps
from raggate.action.promote_inputs import PromoteInputs
from raggate.action.promotion_step import Prepared, PromotionStep
from raggate.cli import console
from raggate.errors import ExitCode
from raggate.github.earlier_run import Downloaded
from raggate.github.runner import results
from raggate.inputs.suite_list import SuiteFile
from raggate.models.suites import SuiteOutcome, worst
from raggate.pipeline import suites
from raggate.reports import promoted_suites
from raggate.text.escape import plain
from raggate.text.jsonio import dumps

NOT_PROMOTED = "not promoted"
"""What stands in the place of the verdict of a suite that passed its checks while nothing was written."""


def prepare(
    step: PromotionStep, chosen: Sequence[SuiteFile], asked: PromoteInputs, adopted: Downloaded | None
) -> tuple[tuple[Prepared, ...], tuple[SuiteOutcome, ...]]:
    """Measure and check every suite. What is wrong with one keeps none of the others from being checked.

    Args:
        adopted: what the earlier run left; None to measure now.

    Returns:
        The baselines, and how the checks of each suite ended. The state of the step is told so, and that nothing is
        promoted yet.
    """
    work = _Suites(step, asked, adopted)
    outcomes = suites.check_each(chosen, work.check, console.say)
    step.state.directory = None
    places = [results.path_from_workspace(outcome.directory, step.runner.workspace) for outcome in outcomes]
    step.state.outputs = {
        "run-directory": "\n".join(filter(None, places)),
        "suites": rows(outcomes, promoted=False),
    }
    if worst(outcome.code for outcome in outcomes) != ExitCode.PASS:
        refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
        passed = [outcome.suite for outcome in outcomes if outcome.code == ExitCode.PASS]
        console.say(promoted_suites.refusal(refused, passed))
        step.state.summary = step.redacted(promoted_suites.render_refused(refused, passed))
    return tuple(work.prepared), outcomes


def rows(outcomes: Sequence[SuiteOutcome], *, promoted: bool) -> str:
    """Return the output `suites`: how each suite ended, which is a pass only where all of them were promoted."""
    return dumps([_row(outcome, promoted=promoted) for outcome in outcomes]).decode()


class _Suites:
    """The suites of one promotion, as they are checked one after another.

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


def _row(outcome: SuiteOutcome, *, promoted: bool) -> dict[str, str | int]:
    passed = "pass" if promoted else NOT_PROMOTED
    verdict = passed if outcome.code == ExitCode.PASS else outcome.verdict
    config = plain(outcome.config, limit=1000)
    return {"suite": outcome.suite, "config": config, "verdict": verdict, "exit-code": outcome.code}
