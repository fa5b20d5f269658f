"""What a reader must know of a comparison that the policy lets pass: differences, and what was not asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.gate import completeness, noise, wording
from raggate.gate.causes import index_change
from raggate.models.comparison import Comparison
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.scorecard import EPSILON, OVERALL, UNANSWERABLE, CaseScore, Operations, Scorecard, mostly
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import figures
from raggate.text.numbers import counted, fixed, number_in

FOLDERS_MS = 100.0
"""Median milliseconds of folder selection from which on a language model may be behind it."""
SLOWER = 3.0
"""Times the baseline's median answer time from which on a run is slower."""
SLOWER_MS = 50.0
"""Milliseconds that the median must have grown by as well: a busy machine adds less."""
RETRIED = 0.02
"""Retries for each call from which on they are no accident, where there is more than one."""


def differences(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what the policy lets be different between the two sides, for warnings."""
    yield from _other_index(comparison, gate)
    yield from _other_questions(comparison, gate)
    yield from _limits_of_the_baseline(comparison)


def _other_index(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    yield from index_change.chunks(comparison, same_chunker=False)
    if comparison.vault_changes and gate.on_vault_change == "warn":
        yield completeness.other_vault(comparison)


def _other_questions(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield how the questions differ from those of the baseline: gone, of other labels, filed otherwise, or new."""
    golden = comparison.golden
    if gate.on_removed_cases == "warn":
        yield from completeness.removed_cases(comparison)
    if golden.relabelled:
        cases = f"{counted(len(golden.relabelled), 'case')} {'was' if len(golden.relabelled) == 1 else 'were'}"
        message = f"{cases} relabelled and not compared one by one: {wording.some(golden.relabelled)}"
        yield Reason("relabelled-cases", message)
    if golden.refiled:
        cases = counted(len(golden.refiled), "case")
        message = f"{cases} filed under another category, difficulty, tag or vault: {wording.some(golden.refiled)}"
        yield Reason("refiled-cases", message)
    if golden.released:
        cases = counted(len(golden.released), "case")
        yield Reason("released-cases", f"{cases} no longer must-pass: {wording.some(golden.released)}")
    if golden.added:
        cases = f"{counted(len(golden.added), 'case')} {wording.are(len(golden.added))}"
        outcomes = wording.some(_stand(comparison, golden.added))
        yield Reason("added-cases", f"{cases} not in the baseline yet: {outcomes}")


def _limits_of_the_baseline(comparison: Comparison) -> Iterator[Reason]:
    """Say what the baseline does not hold, or holds by other definitions, so that it is not compared as usual."""
    baseline = comparison.baseline
    if baseline is None:
        return
    if baseline.restate is not None and comparison.deltas:
        whose = baseline.provenance["means_of"]
        message = f"the means of the baseline are by the definitions of {whose}, and so is what they are held against"
        yield Reason("other-definitions", message)


def _stand(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Say of cases, by mode where there are several, whether what they expect was found; those that miss it first."""
    several = comparison.scorecard.several_modes
    outcomes: dict[str, list[str]] = {name: [] for name in names}
    missed = set()
    for case in comparison.scorecard.cases:
        if case.case_id in outcomes:
            says, passed = _outcome(case)
            outcomes[case.case_id].append(f"{says} in {case.mode}" if several else says)
            missed |= set() if passed else {case.case_id}
    ordered = sorted(names, key=lambda name: name not in missed)
    return [f"{name} ({', '.join(outcomes[name])})" if outcomes[name] else f"{name} (not asked)" for name in ordered]


def _outcome(case: CaseScore) -> tuple[str, bool]:
    if case.failure is not None:
        return "the call failed", False
    abstained = case.values.get(ABSTENTION_ACCURACY)
    if abstained is not None:
        return ("abstained", True) if mostly(abstained) else ("did not abstain", False)
    if UNANSWERABLE in case.slices:
        return "not known to abstain", False
    return (f"found at rank {case.rank}", True) if case.rank else ("not found", False)


def thinner(comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """Name the metrics that apply to somewhat fewer cases than in the baseline, and those new since it."""
    whole = completeness.new_modes(comparison)
    yield from completeness.thinned(rows, gate, much=False)
    for row in rows:
        others = row.delta.uncompared
        if others is None or row.allowed is None or row.delta.slice != OVERALL:
            continue
        if row.status not in {"worse", "below floor"} and others.drop > row.allowed + EPSILON:
            allowed = figures.tolerated(row.delta.metric, row.allowed)
            message = f"{wording.shortfall(row.delta, others)}, allowed {allowed}; by so few it may be chance"
            yield Reason.of_row("uncompared", message, row.delta)
    new = [
        wording.name(row.delta)
        for row in rows
        if row.delta.slice == OVERALL
        and gate.rule(row.delta.metric)
        and row.delta.current.n
        and not row.delta.baseline.n
        and not (row.delta.uncompared and row.delta.uncompared.n)
        and row.delta.mode not in whole
    ]
    if new:
        yield Reason("new-metrics", f"without a value in the baseline, so not compared: {wording.some(new)}")


def unwatched(comparison: Comparison) -> Iterator[Reason]:
    """Say what the golden set and the modes leave out: questions never asked, modes without any, or without a past."""
    if comparison.idle:
        cases = f"{counted(len(comparison.idle), 'question')} {wording.are(len(comparison.idle))}"
        message = f"{cases} for other modes than those of ask.modes and never asked: {wording.some(comparison.idle)}"
        yield Reason("never-asked", message)
    for mode in comparison.idle_modes:
        yield Reason("idle-mode", f"no question is for mode {mode}, so nothing of it is measured")
    for mode in completeness.new_modes(comparison):
        yield Reason("new-mode", f"mode {mode} has no baseline, so nothing of it is gated until a run is promoted")


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
            "under way at once, or raise ask.timeout"
        )
        yield Reason("timeouts", message)


def _again(operations: Operations) -> Iterator[Reason]:
    if operations.retries > max(1, RETRIED * operations.calls):
        often = f"{counted(operations.retries, 'retry', 'retries')} for {counted(operations.calls, 'call')}"
        message = f"{often}: the API failed so often with 502, 503 or no connection, and whoever asks it once gets that"
        yield Reason("retried", message)
