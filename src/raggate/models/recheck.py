"""The noun of checking a regression on the build before the change: what was asked there, and its scores. Frozen."""

from __future__ import annotations

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
