"""What must hold of the API's answers, and what of it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from typing import Literal

from raggate.base.numbers import counted, setting
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants, sentences
from raggate.config.schema import Config
from raggate.gate.invariants.answer_invariants import CHECKS, answers_of, breach, principals_of
from raggate.models.comparison import Finding
from raggate.models.run import ProbeAnswer, Run
from raggate.models.scorecard import EPSILON
from raggate.scoring.repeats import Repeated

SHOWN_EXAMPLES = 5

Gap = tuple[bool, str]
"""Whether nothing at all was seen, and why not."""


def check_answers(run: Run, levels: Invariants, gate: Gate) -> tuple[Finding, ...]:
    """Check every invariant that is not off; findings that break the gate come first."""
    answers = answers_of(run)
    findings = []
    for name, (check, _) in CHECKS.items():
        level = getattr(levels, name)
        examples = [] if level == "off" else list(check(run, answers))
        if examples:
            shortest = tuple(nsmallest(SHOWN_EXAMPLES, examples, key=len))
            findings.append(_finding(name, level, shortest, len(examples)))
    for name, level, why in _coverage_gaps(run, levels, gate):
        findings.append(_finding(name, level, (why,), unseen=True))
    return tuple(sorted(findings, key=lambda finding: finding.level))


def _finding(
    name: str, level: Literal["error", "warn"], examples: tuple[str, ...], count: int = 1, *, unseen: bool = False
) -> Finding:
    message = sentences()[name] if unseen else breach(name, count)
    return Finding(invariant=name, level=level, message=message, count=count, examples=examples, unseen=unseen)


def _coverage_gaps(run: Run, levels: Invariants, gate: Gate) -> Iterator[tuple[str, Literal["error", "warn"], str]]:
    """Name each invariant that is switched on and that was not wholly seen, with a level and why.

    The level is its own if nothing was seen of it, else a warning. A run that was cut short, or a part of one, has not
    come to it.
    """
    if run.stopped is not None or run.selection is not None:
        return
    gaps = {
        "private_withheld": _private_gap(run),
        "principals_isolated": _principals_gap(run),
        "must_be_deterministic": _repeats_gap(run, gate),
    }
    for name, gap in gaps.items():
        level = getattr(levels, name)
        if gap is not None and level != "off":
            nothing_seen, why = gap
            yield name, level if nothing_seen else "warn", why


def _repeats_gap(run: Run, gate: Gate) -> Gap | None:
    """The finding for repeated questions without an answer: failing could hide that an API ranks them differently."""
    repeated = Repeated.of(run.fingerprint)
    if repeated is None or not repeated.compared:
        return True, "no question was answered twice, so nothing shows"
    # of questions that are all asked several times, each may be answered twice and some not every time
    later, lost = len(run.repeats), sum(item.result.response is None for item in run.repeats)
    asked = counted(repeated.asked, "question") + repeated.counting
    questions = f"{repeated.failed} of {asked} got no answer when asked again"
    calls = f"{lost} of {counted(later, 'later call')} failed"
    for failed, number, why in ((repeated.failed, repeated.asked, questions), (lost, later, calls)):
        if failed > gate.max_error_rate * number + EPSILON:
            return True, f"{why}; gate.max_error_rate allows {setting(gate.max_error_rate)}"
    return None


def _private_gap(run: Run) -> Gap | None:
    # the suite's own answers are looked at too, and are all there is of a program
    if not isinstance(run.config, Config) or not run.config.private.marks or run.config.ask.runs_program:
        return None
    if not run.probes.private:
        return True, "no note of the vaults is marked as private or deleted"
    asked = run.probes.of("private")
    return _unanswered(asked) if asked else (True, "no private note was asked for")


def _principals_gap(run: Run) -> Gap | None:
    unseen = []
    for name in principals_of(run):
        own = [answer for answer in run.probes.of("principal") if answer.probe.principal == name]
        if not any(answer.result.chunks for answer in own):
            gap = _unanswered(own)
            why = f": {gap[1]}" if gap else ""
            unseen.append(f"{name} got no passage for {counted(len(own), 'question')}{why}")
    return (True, "; ".join(unseen)) if unseen else None


def _unanswered(asked: Sequence[ProbeAnswer]) -> Gap | None:
    failures = [answer.result.failure.message for answer in asked if answer.result.failure is not None]
    if not failures:
        return None
    why = f"{len(failures)} of {counted(len(asked), 'question')} got no answer: {failures[0]}"
    return len(failures) * 2 > len(asked), why
