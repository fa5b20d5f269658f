"""The suites of one step: how each of them ended, and how all of them together did. Frozen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from raggate.base.errors import ExitCode, RaggateError
from raggate.models.publication import RunFailure
from raggate.models.verdict import Review

WORST_FIRST: tuple[int, ...] = (
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.USAGE,
    ExitCode.CANNOT_TELL,
    ExitCode.INVARIANT,
    ExitCode.REGRESSION,
    ExitCode.PASS,
)
"""How suites are ranked. What nobody could measure stands before what got worse: a leniency of the step may let a
regression through, and must not let through with it what was not measured."""


NOT_RUN = "not run"
"""What stands in the place of the verdict of a suite that the change does not concern. Nothing of it was measured."""


def severity(code: int) -> int:
    """Return the place of an exit code among `WORST_FIRST`; of one that nobody knows, that of an internal error."""
    return WORST_FIRST.index(code if code in WORST_FIRST else ExitCode.INTERNAL)


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of a step by those of its suites.

    Raises:
        ValueError: when there are none: nothing was measured, and no code says so.
    """
    return min(codes, key=severity)


class SuiteOutcome(Struct, frozen=True, kw_only=True):
    """How one suite of a step ended.

    Attributes:
        config: its configuration, as the step names it; a foreign text where a change brings it.
        suite: its name, or its configuration where that gives none.
        review: its verdict; None where there is none.
        failure: why there is none.
        directory: its run directory; None where nothing was started.
        not_run: why it was not run, as nothing that concerns it changed; its exit code is 0 then, and it is no pass.
        error: what ended it without a verdict, if that was raised.
        notes: trusted sentences that belong under the verdict.
    """

    config: str
    suite: str
    code: int
    review: Review | None = None
    failure: RunFailure | None = None
    directory: Path | None = None
    not_run: str = ""
    error: RaggateError | None = None
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict in words, or the label of what came instead."""
        if self.review is not None:
            return self.review.verdict.outcome
        if self.not_run:
            return NOT_RUN
        return self.failure.label if self.failure is not None else "internal error"

    @property
    def reason(self) -> RunFailure:
        """Why there is no review."""
        return self.failure or RunFailure(label=self.verdict, exit_code=self.code, lines=("The log says more.",))

    @property
    def ended(self) -> Review | RunFailure:
        """The verdict, or why there is none."""
        return self.review if self.review is not None else self.reason

    @property
    def notable(self) -> bool:
        """Whether there is anything to tell: no pass, or something that moved."""
        review = self.review
        if self.code != ExitCode.PASS or review is None:
            return not self.not_run
        moved = any(row.delta.delta for row in review.verdict.rows if row.gated and row.status != "same")
        previewed = review.context.preview is not None and not review.context.preview.empty
        return bool(moved or previewed or review.verdict.warnings or review.comparison.flips)

    @property
    def headline(self) -> str:
        """One sentence of why, not escaped."""
        if self.review is not None:
            return self.review.verdict.headline
        if self.not_run:
            return self.not_run
        return self.failure.lines[0] if self.failure is not None else ""


def ranked(outcomes: Sequence[SuiteOutcome]) -> list[SuiteOutcome]:
    """Order suites from worst to best, with those that were not run last; of equals as they were named."""
    return sorted(outcomes, key=lambda outcome: (severity(outcome.code), bool(outcome.not_run)))
