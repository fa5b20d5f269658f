"""How long the same questions took on the base build and on the change -> what of it a verdict is told. Pure.

What is allowed is exceeded where most questions exceed it, more than chance would have, each time the base was asked:
machines have slow seconds, and a mean of few calls is that of the slowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from raggate.gate.statistics.beta import binomial_tail
from raggate.models.recheck import LatencyCheck
from raggate.models.verdict import Reason, Verdict
from raggate.scoring.metrics.operations import percentile
from raggate.text.numbers import counted, fixed, setting
from raggate.text.quote import cut

LEAST_QUESTIONS = 20
"""From so many questions on latency may gate."""

LEAST_MS = 5.0
"""A question that takes at most so much longer is not slower: a clock and a busy machine make as much."""

_ALPHA = 0.01

_NOT_RED = (
    " That is more than allowed and not red, as chance, a slow minute of the machine or 5 ms explain as many questions."
)


def slower(base: Sequence[float], change: Sequence[float], allowed: float) -> bool:
    """Say whether most questions take longer than allowed, by a one-sided sign test at 1%.

    Args:
        base: the milliseconds of each question on the base build.
        change: those on the change, in the same order.
        allowed: how many times as long it may take.
    """
    pairs = list(zip(base, change, strict=True))
    late = sum(own > allowed * before and own > before + LEAST_MS for before, own in pairs)
    return len(pairs) >= LEAST_QUESTIONS and binomial_tail(late, len(pairs), 1 / 2) < _ALPHA


def with_latency(verdict: Verdict, check: LatencyCheck | None) -> Verdict:
    """Add to a pass or a regression what was measured of the latency; one that is too long is a regression."""
    if check is None or verdict.outcome not in {"pass", "regression"}:
        return verdict
    measured = replace(verdict, latency=check)
    if check.problem or len(check.change) < LEAST_QUESTIONS:
        why = check.problem or (
            f"only {counted(len(check.change), 'question')} were answered every time, and {LEAST_QUESTIONS} are needed"
        )
        reason = Reason("latency-not-compared", f"the latency could not be compared with the base build's: {why}")
        if verdict.outcome == "regression":
            return replace(measured, reasons=(*verdict.reasons, reason))
        sentence = f"No verdict is possible: {reason.message}."
        return replace(measured, outcome="cannot tell", reasons=(reason,), sentences=(sentence,))
    late = next((asking for asking in check.askings if _late(check.allowed, *asking[1:])), None)
    if late is None:
        _, bases, change = check.askings[0]
        note = f"Latency, both builds asked alike on this machine: {_both(check, *check.askings[0])}."
        return replace(measured, latency_note=f"{note}{_NOT_RED if _ratio(bases, change) > check.allowed else ''}")
    reason = Reason("slower", f"slower than allowed: {_both(check, *late)}")
    before = verdict.sentences if verdict.outcome == "regression" else ()
    sentences = (*before, "Slower than allowed.")
    return replace(measured, outcome="regression", reasons=(*verdict.reasons, reason), sentences=sentences)


def _late(allowed: float, bases: Sequence[Sequence[float]], change: Sequence[float]) -> bool:
    return all(slower(base, change, allowed) for base in bases)


def _both(check: LatencyCheck, when: str, bases: Sequence[Sequence[float]], change: Sequence[float]) -> str:
    """Write both sides' latency; of two times that the base was asked, the last one."""
    base, ratio = bases[-1], _ratio(bases, change)
    return (
        f"{counted(len(change), 'answer')}{when} took p50 {_ms(change, 0.5)}, p95 {_ms(change, 0.95)} on the change "
        f"and p50 {_ms(base, 0.5)}, p95 {_ms(base, 0.95)} on the base build ({cut(check.build)}), a median ratio of "
        f"{fixed(ratio, 2)} where {setting(check.allowed)} is allowed"
    )


def _ratio(bases: Sequence[Sequence[float]], change: Sequence[float]) -> float:
    return median(own / before for before, own in zip(bases[-1], change, strict=True))


def _ms(times: Sequence[float], share: float) -> str:
    return f"{fixed(percentile(times, share), 0)} ms"
