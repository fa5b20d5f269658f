"""How the API behaved beside what it found: answers nobody asked for, other answers to the same, none in time. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.gate import noise
from raggate.models.comparison import Comparison
from raggate.models.scorecard import Operations, Scorecard
from raggate.models.verdict import Reason
from raggate.text.numbers import counted, fixed, number_in

FOLDERS_MS = 100.0
"""Median milliseconds of folder selection from which on a language model may be behind it."""

SLOWER = 3.0
"""Times the baseline's median answer time from which on a run is slower."""

SLOWER_MS = 50.0
"""Milliseconds that the median must have grown by as well: a busy machine adds less."""

RETRIED = 0.02
"""Retries for each call from which on they are no accident, where there is more than one."""


def warnings(comparison: Comparison) -> Iterator[Reason]:
    """Say what of the API's conduct costs money, time or certainty. None of it is red by itself."""
    operations = comparison.scorecard.operations
    if operations is not None:
        yield from _paid_for(operations)
        yield from _late(operations)
        yield from _again(operations)
        yield from _slower(comparison)
    yield from noise.unsteady(comparison)


def median_ms(scorecard: Scorecard) -> float | None:
    """Return the median answer time as raggate saw it; None if nothing was answered."""
    operations = scorecard.operations
    return None if operations is None else operations.latency.get("client_ms", {}).get("p50")


def _slower(comparison: Comparison) -> Iterator[Reason]:
    """Warn if the median answer time is a multiple of the baseline's, which anybody may have written."""
    known = comparison.baseline.provenance.get("median_ms") if comparison.baseline is not None else None
    before, now = number_in(known), median_ms(comparison.scorecard)
    if before is None or before < 0 or now is None or now < SLOWER * before or now < before + SLOWER_MS:
        return
    message = (
        f"the median answer time is {fixed(now, 0)} ms, in the baseline it is {fixed(before, 0)} ms: "
        "the API got slower, or this machine is slower or busier"
    )
    yield Reason("slower", message)


def _paid_for(operations: Operations) -> Iterator[Reason]:
    rate = operations.rates.get("unasked_answer_rate")
    if rate is not None and rate.value:
        times = operations.latency.get("generation_ms", {})
        took = f" (generation p50 {fixed(times['p50'], 0)} ms)" if times.get("p50") else ""
        message = (
            f"the API generated an answer in {round(rate.value * rate.n)} of {counted(rate.n, 'call')}{took} "
            "although only retrieval was asked for: it does not honour retrieval_only, and every run costs what its "
            "language model costs; switch generation off on its side, or give it a stub of the model in `env`"
        )
        yield Reason("unasked-answers", message)
    folders = operations.latency.get("folder_selection_ms", {})
    if folders.get("p50", 0.0) >= FOLDERS_MS:
        message = (
            f"choosing folders took p50 {fixed(folders['p50'], 0)} ms: a language model may rank them, which costs one "
            "of its calls for each question and may give another answer each time; give the API a stub of it in `env`"
        )
        yield Reason("slow-folders", message)


def _late(operations: Operations) -> Iterator[Reason]:
    late = operations.failures.get("timeout", 0)
    if late:
        message = (
            f"{late} of {counted(operations.calls, 'call')} timed out: lower ask.concurrency, so that fewer are "
            "under way at once, or raise ask.read_timeout and ask.total_timeout"
        )
        yield Reason("timeouts", message)


def _again(operations: Operations) -> Iterator[Reason]:
    if operations.retries > max(1, RETRIED * operations.calls):
        often = f"{counted(operations.retries, 'retry', 'retries')} for {counted(operations.calls, 'call')}"
        message = (
            f"{often}: the API failed so often with 502, 503 or no connection, and whoever asks it once gets that; "
            "with `ask.retries: 0` such calls count as failed"
        )
        yield Reason("retried", message)
