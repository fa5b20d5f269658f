"""What a reader must know of a comparison that the policy lets pass. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.base import dates
from raggate.base.numbers import counted, fixed, number_in, percent
from raggate.config.gate_settings import STALE_AFTER_DAYS, Gate
from raggate.gate import completeness, reach, wording
from raggate.gate.causes import index_change
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.metric_names import ABSTENTION_ACCURACY, CONTEXT_CHARS, depth, family
from raggate.models.provenance import IN_PROCESS, notes_of
from raggate.models.scorecard import EPSILON, OVERALL, UNANSWERABLE, CaseScore, Scorecard, mostly
from raggate.models.verdict import GatedMetric, Reason, of_parts
from raggate.scoring import figures, score

SLOWER = 3.0
"""Times the baseline's median answer time from which on a run is slower."""
SLOWER_MS = 50.0
"""Milliseconds that the median must have grown by as well: a busy machine adds less."""
RETRIED = 0.02
"""Retries for each call from which on they are no accident, if there is more than one."""
MORE_TEXT = 1.5
LESS_TEXT = 0.5
"""Times the text that an answer of the baseline brings from which on it is much more, or much less."""
MORE_FOREIGN = 0.1
"""By how much the share of text of other notes, or of repeated passages, must have grown to be told."""
_CLOCKS = 1
"""Days by which the clocks of two machines may differ without a word."""


def in_process(build: str) -> Iterator[Reason]:
    """Warn that what was measured could have changed how it is judged."""
    if build == IN_PROCESS:
        message = (
            "this is no trusted gate: the tested code ran in raggate's own process, where it could change the verdict. "
            "`raggate check` asks the same function as a program"
        )
        yield Reason("same-process", message)


def age(baseline: Baseline | None, at: str) -> Iterator[Reason]:
    """Warn that a baseline is stale, or cannot become it, as it was measured later than at this moment."""
    measured = baseline.provenance.get("measured") if baseline is not None else None
    days = dates.days_between(measured, at)
    if days is None or -_CLOCKS <= days <= STALE_AFTER_DAYS:
        return
    day = f"the baseline was measured on {dates.day(measured)}"
    if days > STALE_AFTER_DAYS:
        advice = f"before this run, and is stale after {STALE_AFTER_DAYS}: promote a newer run"
    else:
        advice = "after this run: if a clock was wrong, set it right and promote a new run"
    yield Reason("stale-baseline", f"{day}, {counted(int(abs(days)), 'day')} {advice}")


def of_baseline(comparison: Comparison, gate: Gate, started: str) -> Iterator[Reason]:
    """Warn of an old baseline, and of what is different on the two sides though the policy lets it be."""
    yield from age(comparison.baseline, started)
    yield from index_change.chunks(comparison, whole=True)
    if comparison.vault_changes and gate.on_vault_change == "warn":
        yield completeness.other_vault(comparison)
    if changed := "; ".join(_changed(comparison)):
        yield Reason("golden-changed", f"the golden set changed since the baseline: {changed}")
    baseline = comparison.baseline
    if baseline is not None and baseline.restate is not None and comparison.deltas:
        whose = f"the definitions of {baseline.provenance['means_of']}"
        message = f"the baseline's means follow {whose}, so this run is compared by the same definitions"
        yield Reason("other-definitions", message)


def _changed(comparison: Comparison) -> Iterator[str]:
    golden = comparison.golden
    parts = {
        "not in the baseline yet": _outcomes(comparison, golden.added),
        "relabelled, so not compared one by one": golden.relabelled,
        "in another category, difficulty, tag or vault": golden.refiled,
        "no longer must-pass": golden.released,
    }
    for how, names in parts.items():
        if names:
            yield f"{counted(len(names), 'question')} {how}: {wording.some(names)}"


def _outcomes(comparison: Comparison, names: Sequence[str]) -> list[str]:
    several = comparison.scorecard.several_modes
    outcomes: dict[str, list[str]] = {name: [] for name in names}
    missed = set()
    for case in comparison.scorecard.cases:
        if case.case_id in outcomes:
            says, passed = _outcome(case)
            outcomes[case.case_id].append(f"{says} in {case.mode}" if several else says)
            missed |= set() if passed else {case.case_id}
    ordered = sorted(names, key=lambda name: name not in missed)
    return [f"{name} ({', '.join(outcomes[name]) or 'not asked'})" for name in ordered]


def _outcome(case: CaseScore) -> tuple[str, bool]:
    if case.failure is not None:
        return "the call failed", False
    abstained = case.values.get(ABSTENTION_ACCURACY)
    if abstained is not None:
        return ("abstained", True) if mostly(abstained) else ("did not abstain", False)
    if UNANSWERABLE in case.slices:
        return "unknown whether it abstained", False
    return (f"found at rank {case.rank}", True) if case.rank else ("not found", False)


def thinner(comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """Warn of metrics that apply to somewhat fewer cases than in the baseline, or that it does not have."""
    yield from completeness.thinned(rows, much=False)
    new = []
    for row in (row for row in rows if row.delta.slice == OVERALL):
        delta, others = row.delta, row.delta.uncompared
        unsure = others is not None and row.allowed is not None and row.status not in {"worse", "below floor"}
        if others is not None and unsure and others.drop > (row.allowed or 0.0) + EPSILON:
            allowed = figures.tolerated(delta.metric, row.allowed or 0.0)
            message = f"{wording.shortfall(delta, others)}, allowed {allowed}; with so few questions it may be chance"
            yield Reason.of_row("perhaps-worse", message, delta)
        if gate.rule(delta.metric) and delta.current.n and not delta.baseline.n and not (others and others.n):
            new.append(delta)
    modes = reach.new_modes(comparison)
    names = [wording.name(delta) for delta in new if delta.mode not in modes]
    if names:
        message = f"the baseline has no value for these, so they are not compared: {wording.some(names)}"
        yield Reason("not-gated", message)
    for mode in modes:
        yield Reason("not-gated", f"mode {mode} has no baseline: it is not gated until you promote a run")


def other_texts(comparison: Comparison) -> Iterator[Reason]:
    """Warn of answers that bring much more text or much less: a model has to read it, and somebody pays for it."""
    texts = [row for row in comparison.deltas if row.slice == OVERALL and family(row.metric) == CONTEXT_CHARS]
    deepest = {row.mode: row for row in sorted(texts, key=lambda row: depth(row.metric) or 0) if row.delta is not None}
    for mode, delta in deepest.items():
        before, now = delta.baseline.value or 0.0, delta.current.value or 0.0
        times = now / before if before else 1.0
        if not LESS_TEXT < times < MORE_TEXT:
            much = f"{fixed(times, 1)} times the text" if times > 1 else f"{percent(times)} of the text"
            figure = f"{figures.both(delta.metric, before, now)} at k {depth(delta.metric)}"
            message = f"answers bring {much}: {figure}{_of_mode(comparison, mode)}"
            yield Reason("context-changed", message, mode=mode)


def foreign_texts(comparison: Comparison) -> Iterator[Reason]:
    """Warn of passages with more text of other notes, and of more that repeat one of their answer."""
    if comparison.baseline is None or comparison.incomparable:
        return
    sides = [side.fingerprint for side in (comparison.baseline.scorecard, comparison.scorecard)]
    # who does not know the notes cannot tell of what note a text is
    before, now = (score.passage_shares(side.get("passages") if notes_of(side) else None) for side in sides)
    for mode in (mode for mode in now if mode in before):
        of_mode = _of_mode(comparison, mode)
        foreign, copies, _ = zip(before[mode], now[mode], strict=True)
        if foreign[1] - foreign[0] > MORE_FOREIGN + EPSILON:
            shares = f"{percent(foreign[0])} → {percent(foreign[1])}"
            message = f"passages hold text that is not of the note they name: {shares} of all text{of_mode}"
            yield Reason("foreign-text", message, mode=mode)
        if copies[1] - copies[0] > MORE_FOREIGN + EPSILON:
            shares = f"{percent(copies[0])} → {percent(copies[1])}"
            yield Reason("repeated-text", f"passages repeat the text of another: {shares} of them{of_mode}", mode=mode)


def _of_mode(comparison: Comparison, mode: str) -> str:
    return f" ({mode})" if comparison.scorecard.several_modes else ""


def of_calls(comparison: Comparison) -> Iterator[Reason]:
    """Warn of what the API's conduct costs in money, time or certainty. None of it is red by itself."""
    operations = comparison.scorecard.operations
    if operations is None:
        return
    rate = operations.rates.get("unasked_answer_rate")
    if rate is not None and rate.value:
        message = (
            f"the API generated an answer in {round(rate.value * rate.n)} of {counted(rate.n, 'call')}, although "
            "raggate asked for retrieval only: you pay for its language model in every run. Switch generation off in "
            "the API, or point it at a stub of the model by `env`"
        )
        yield Reason("unasked-answers", message)
    calls = counted(operations.calls, "call")
    if late := operations.failures.get("timeout", 0):
        message = f"{late} of {calls} timed out: lower ask.concurrency to ask fewer at once, or raise ask.timeout"
        yield Reason("failed-calls", message)
    if operations.retries > max(1, RETRIED * operations.calls):
        often = f"{counted(operations.retries, 'retry', 'retries')} for {calls}"
        message = f"{often}: the API answered 502, 503 or not at all, which a client without retries sees as an error"
        yield Reason("failed-calls", message)
    yield from _slower(comparison)


def median_ms(scorecard: Scorecard) -> float | None:
    """Return the median answer time as raggate saw it; None if nothing was answered."""
    operations = scorecard.operations
    return None if operations is None else operations.latency.get("client_ms", {}).get("p50")


def _slower(comparison: Comparison) -> Iterator[Reason]:
    known = comparison.baseline.provenance.get("median_ms") if comparison.baseline is not None else None
    before, now = number_in(known), median_ms(comparison.scorecard)
    if before is None or before < 0 or now is None or now < SLOWER * before or now < before + SLOWER_MS:
        return
    message = (
        f"the median answer time went from {fixed(before, 0)} to {fixed(now, 0)} ms: "
        "the API is slower, or this machine is slower or busier"
    )
    yield Reason("slower", message)


def slices(rows: Sequence[GatedMetric]) -> Iterator[Reason]:
    """Yield the slices that are worse than allowed, each by its worst metric."""
    worse: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in of_parts(rows):
        if row.status == "worse":
            worse.setdefault((row.delta.mode, row.delta.slice), []).append(row)
    for metrics in worse.values():
        worst = max(metrics, key=lambda row: abs(row.delta.delta or 0.0))
        more = f"; {counted(len(metrics) - 1, 'other metric')} of this slice got worse too" if len(metrics) > 1 else ""
        yield Reason.of_row("slice-worse", wording.change(worst) + more, worst.delta)
