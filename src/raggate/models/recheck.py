"""The noun of checking a regression on the build before the change: what was asked there, and its scores. Frozen."""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from raggate.models.scorecard import CaseScore
from raggate.text.shapes import Stored


class Recheck(Stored, frozen=True, kw_only=True):
    """What counts against a change, asked on the base build in the same job.

    Attributes:
        asked: those questions, by mode and case id, in the order of the golden set.
        build: what was booted as the base, such as `commit 0123456789ab`; empty when nothing was.
        base: the scores there, of each time they were asked; a question that was not answered has a failure.
        problem: why the base build could not be asked; empty when it was, or was not to be.
        gained: the questions that got better, which are asked again too where the API is known to be noisy.
        again: the change's scores, of each time it was asked again; empty when it was not.
    """

    asked: tuple[tuple[str, str], ...]
    build: str = ""
    base: tuple[tuple[CaseScore, ...], ...] = ()
    problem: str = ""
    gained: tuple[tuple[str, str], ...] = ()
    again: tuple[tuple[CaseScore, ...], ...] = ()


class RecheckOutcome(Struct, frozen=True, kw_only=True):
    """What came of it, in numbers of questions.

    Attributes:
        build: what was booted as the base; empty when nothing was.
        asked: those that count against the change.
        failing: those of them that the base answers no better.
        unanswered: those of which the base tells nothing.
        problem: why the base build could not be asked; empty when it was.
        times: how often they were asked again of the change, as the API is known to be noisy.
        lost_again: those that did not come back as good as before each time.
    """

    build: str = ""
    asked: int = 0
    failing: int = 0
    unanswered: int = 0
    problem: str = ""
    times: int = 0
    lost_again: int = 0


class LatencyCheck(Stored, frozen=True, kw_only=True):
    """How long base build and change took for the same questions, each booted for it alone in the same job.

    Attributes:
        allowed: how many times as long as the base the change may take.
        build: what was booted as the base.
        base: the milliseconds there, question by question, of each time it was booted: once more where the first time
            speaks against the change.
        change: those of the change, in the same order.
        base_first: as `base`, of the answers when each question was first asked, which no memory of them shortens.
        change_first: as `change`, of these.
        problem: why there are none; empty when there are.

    Raises:
        ValueError: for times that cannot be, or not of the same questions.
    """

    allowed: float
    build: str = ""
    base: tuple[tuple[float, ...], ...] = ()
    change: tuple[float, ...] = ()
    base_first: tuple[tuple[float, ...], ...] = ()
    change_first: tuple[float, ...] = ()
    problem: str = ""

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        times = [time for _, bases, own in self.askings for side in (own, *bases) for time in side]
        if not all(isfinite(time) and time > 0 for time in (self.allowed, *times)):
            raise ValueError("expected times above 0")
        for _, bases, own in self.askings:
            known = set() if self.problem else {len(own)}
            if {len(side) for side in bases} != known or len(own) != len(self.change):
                raise ValueError("expected the times of the same questions on both sides, or a problem")

    @property
    def askings(self) -> tuple[tuple[str, tuple[tuple[float, ...], ...], tuple[float, ...]], ...]:
        """Give what is said of each asking, and both sides' times; what was timed before the first was kept has one."""
        again = ("", self.base, self.change)
        return (again, (" when first asked", self.base_first, self.change_first)) if self.base_first else (again,)
