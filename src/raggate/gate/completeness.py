"""A comparison and the policy -> what is missing from it, as reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.config.retrieval_modes import asked_in
from raggate.gate import judge_advice, wording
from raggate.gate.causes import index_change
from raggate.gate.overview import AnswerCounts
from raggate.models.comparison import Comparison, Delta
from raggate.models.fingerprint import modes_of
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, Operations
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import answer_fields
from raggate.scoring.repeats import times_asked
from raggate.text.numbers import counted


def failed_too_often(operations: Operations, gate: Gate) -> bool:
    """Return whether more calls failed than a run may have and still count as measured."""
    return operations.failed > gate.max_error_rate * operations.calls + EPSILON


def little_overlap(comparison: Comparison, gate: Gate, name: str = "the present baseline") -> str:
    """Say that too few cases are the same for the shared ones to speak for all; empty where that is not so."""
    baseline = comparison.baseline
    if baseline is None or not baseline.paired or comparison.incomparable:
        return ""
    cases = baseline.scorecard.questions
    few = comparison.compared < gate.min_overlap * cases - EPSILON
    return f"only {comparison.compared} of {name}'s {cases} cases are still the same" if few else ""


def not_asked(run: Run, counts: AnswerCounts | None = None) -> tuple[tuple[str, str], ...]:
    """Name the questions of a run's golden set that it has no result for, as mode and case id, by mode.

    A case that names modes is expected in those of them only. A failed call is a result. A question that was to be
    asked several times needs as many results. A run that broke off lacks questions for that reason; this does not
    tell it from one whose results were lost. `counts` are those of the run's answers, None to count them here.
    """
    if counts is None:
        counts = AnswerCounts(run.golden.cases)
        for item in run.answers:
            counts.add(item)
    times = times_asked(run.fingerprint)
    return tuple(
        (mode, case.id)
        for mode in dict.fromkeys([*modes_of(run.fingerprint), *counts.by_mode])
        for place, answers in enumerate(counts.by_mode.get(mode) or bytes(len(run.golden.cases)))
        if answers < times
        for case in [run.golden.cases[place]]
        if asked_in(case.modes, mode)
    )


def idle(run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the questions that are for none of the modes that are asked, and the modes that no question is for."""
    modes = modes_of(run.fingerprint)
    questions = (case.id for case in run.golden.cases if not any(asked_in(case.modes, mode) for mode in modes))
    without = (mode for mode in modes if not any(asked_in(case.modes, mode) for case in run.golden.cases))
    return (tuple(questions), tuple(without)) if modes else ((), ())


def unmeasured(comparison: Comparison, gate: Gate, stopped: str | None) -> Iterator[Reason]:
    """Say what keeps a run from being measured: nothing asked, cut short, questions without a result, failed calls."""
    scorecard = comparison.scorecard
    if not scorecard.cases:
        yield Reason("zero-cases", "no question was asked")
    if stopped is not None:
        yield Reason("stopped", stopped)
    if comparison.not_asked and scorecard.cases and stopped is None:
        yield Reason("not-asked", wording.not_asked(comparison.not_asked))
    operations = scorecard.operations
    left = operations.failures.get("aborted", 0) if operations is not None else 0
    # what a run that was cut short did not come to is told already
    short = stopped is not None and operations is not None and operations.failed == left
    if operations is not None and not short and failed_too_often(operations, gate):
        yield Reason("too-many-errors", wording.failures(operations, gate.max_error_rate))


def incomplete(comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """Say what is missing that keeps an otherwise green comparison from being one."""
    if gate.on_removed_cases == "refuse":
        yield from removed_cases(comparison)
    if comparison.vault_changes and gate.on_vault_change == "refuse":
        yield other_vault(comparison)
    vanished = [row.delta for row in rows if row.status == "vanished"]
    # slices with too few cases are not judged
    yield from _vanished([row for row in vanished if row.slice == OVERALL or before(row) >= gate.min_slice])
    yield from thinned(rows, gate, much=True)
    yield from lost_fields(comparison, gate)
    yield from index_change.documents(comparison, promoting=False)
    yield from judge_advice.reasons(comparison, gate)
    decides = any(row.decides(gate) for row in rows)
    if comparison.baseline is not None and not comparison.incomparable and not decides:
        yield Reason("nothing-gated", "no gated metric has a value in the baseline, so nothing was decided")


def removed_cases(comparison: Comparison) -> Iterator[Reason]:
    """Name the cases that the golden set has lost since the baseline, and the modes with fewer of them."""
    removed = comparison.golden.removed
    if removed:
        them = "it" if len(removed) == 1 else "them"
        advice = f"put {them} back, or promote a run without {them}, with --allow-regression and a --reason"
        yield Reason("removed-cases", f"{wording.removed(removed)}; {advice}")
    yield from fewer_cases(comparison)


def lost_fields(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Name what the baseline's API told and this one does not, but for as many answers as calls may fail."""
    if comparison.baseline is None or comparison.incomparable:
        return
    before, now = comparison.baseline.scorecard.fingerprint, comparison.scorecard.fingerprint
    vanished = [*answer_fields.lost(before.get("fields"), now.get("fields"), gate.max_error_rate)]
    for lost in vanished:
        (filled_before, of_before), (filled, of) = lost.before, lost.now
        message = (
            f"the API returned {lost.field} ({lost.mode}) in {filled_before} of {counted(of_before, 'answer')} of the "
            f"baseline's run and in {filled} of {of} now, so what depends on it is not checked in {of - filled}"
        )
        yield Reason("field-vanished", message)
    yield from index_change.counts(comparison, {lost.field for lost in vanished})


def less_told(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what a baseline made of the run would no longer tell: fields of answers, and parts of the index."""
    yield from lost_fields(comparison, gate)
    yield from index_change.documents(comparison, promoting=True)
    yield from index_change.chunks(comparison, same_chunker=True)


def other_vault(comparison: Comparison) -> Reason:
    """Return which notes are not those of the baseline; there are such."""
    changes = [str(change) for change in comparison.vault_changes]
    differ = f"{wording.differ(len(changes))}: {wording.some(changes)}"
    return Reason("vault-changed", f"the vault is not the one of the baseline, {differ}")


def new_modes(comparison: Comparison) -> tuple[str, ...]:
    """Name the modes that the run was asked in and the baseline it is compared with was not."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable or not baseline.scorecard.slices:
        return ()
    return tuple(mode for mode in comparison.scorecard.slices if mode not in baseline.scorecard.slices)


def modes_without_past(comparison: Comparison) -> tuple[str, ...]:
    """Name the modes of a run that no baseline has: all of them where there is none."""
    return tuple(comparison.scorecard.slices) if comparison.baseline is None else new_modes(comparison)


def emptied(delta: Delta) -> bool:
    """Return whether a slice or mode of the baseline has no case at all any more."""
    return delta.baseline.n > 0 and delta.current.n == 0 and delta.current.unscored == 0


def before(delta: Delta) -> int:
    """Say to how many cases a row's metric applied in the baseline, of those that are compared."""
    # without a case that has a value on both sides, the baseline's own value stands there, over all that had one
    return delta.baseline.n + (delta.unpaired if delta.delta is not None else 0)


def other_questions(delta: Delta) -> bool:
    """Return whether two means of a baseline without cases are over different numbers of questions."""
    return 0 < delta.baseline.n != delta.current.n > 0


def other_denominators(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Name the gated metrics of a baseline without cases whose means are over other numbers of questions."""
    if comparison.baseline is None or comparison.baseline.paired:
        return
    for delta in comparison.deltas:
        if delta.slice == OVERALL and gate.rule(delta.metric) is not None and other_questions(delta):
            now = counted(delta.current.n, "question")
            message = f"{wording.name(delta)} is a mean over {now}, in the baseline over {delta.baseline.n}"
            yield Reason.of_row("other-denominator", message, delta)


def _scored(delta: Delta) -> tuple[int, int]:
    """Say to how many cases of the baseline a metric applies now, and to how many it did, relabelled ones included."""
    others = delta.uncompared
    relabelled, retired = (others.relabelled, len(others.retired)) if others is not None else (0, 0)
    return delta.current.n + relabelled, before(delta) + relabelled + retired


def _vanished(deltas: Sequence[Delta]) -> Iterator[Reason]:
    """Say what is gone, the largest thing only: a mode, else a slice of it, else single metrics."""
    gone = "was measured in the baseline and is not any more"
    modes = {delta.mode for delta in deltas if delta.slice == OVERALL and emptied(delta)}
    left = [delta for delta in deltas if delta.mode not in modes]
    whole = [f"mode {mode}" for mode in sorted(modes)]
    whole += dict.fromkeys(f"slice {delta.slice} ({delta.mode})" for delta in left if emptied(delta))
    yield from (Reason("vanished", f"{name} {gone}") for name in whole)
    metrics = [delta for delta in left if not emptied(delta)]
    for delta in sorted(metrics, key=lambda delta: delta.run_value.n > 0):
        lost = "has a value in none of the cases it had one in before, only in others" if delta.run_value.n else gone
        yield Reason.of_row("vanished", f"{wording.name(delta)} {lost}", delta)


def fewer_cases(comparison: Comparison) -> Iterator[Reason]:
    """Name the modes with fewer cases than a baseline that does not tell which; one that does lists those removed."""
    baseline = comparison.baseline
    if baseline is None or baseline.paired or comparison.incomparable:
        return
    for mode, counts in comparison.scorecard.counts.items():
        before, now = baseline.scorecard.counts.get(mode, {}).get(OVERALL, 0), counts.get(OVERALL, 0)
        if now < before:
            message = f"mode {mode} was asked {counted(now, 'case')}, in the baseline {before}"
            yield Reason("fewer-cases", message, mode=mode)


def thinned(rows: Sequence[GatedMetric], gate: Gate, *, much: bool) -> Iterator[Reason]:
    """Name the metrics over all cases that apply to fewer of them than in the baseline: to much fewer, or not."""
    for delta in (row.delta for row in rows if row.gated and row.status != "vanished"):
        now, was = _scored(delta)
        too_thin = now < gate.min_overlap * was - EPSILON
        if delta.slice == OVERALL and 0 < now < was and too_thin == much:
            over = f"{counted(now, 'case')}, in the baseline to {delta.baseline.n}"
            if delta.unpaired or delta.uncompared is not None:
                over = f"{now} of the {was} cases it applied to before"
            yield Reason.of_row("fewer-scored", f"{wording.name(delta)} applies to {over}", delta)
