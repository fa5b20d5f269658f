"""A comparison and the policy -> what is missing from it, as reasons. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from raggate.base.numbers import counted
from raggate.config.gate_settings import MIN_OVERLAP, Gate
from raggate.config.question_settings import asked_in
from raggate.gate import judge_advice, wording
from raggate.gate.causes import index_change
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta
from raggate.models.provenance import Fingerprint, cutoffs_of, modes_of
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, Operations, Scorecard
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import score
from raggate.scoring.repeats import times_asked

# what a score depends on: a difference here makes means of different things
_MUST_AGREE = {
    "metrics_version": "the definitions of the metrics",
    "adapter": "the adapter",
    "k": "the number of passages requested (ask.k)",
    "headings": "how headings are found (heading_path)",
    "retrieval_only": "whether answers are generated (ask.retrieval_only)",
}
_UNSAID = {"headings": "as the API tells them"}
"""What a fingerprint without such a key means."""


def failed_too_often(operations: Operations, gate: Gate) -> bool:
    """Return whether more calls failed than a run may have and still count as measured."""
    return operations.failed > gate.max_error_rate * operations.calls + EPSILON


def little_overlap(comparison: Comparison, name: str = "the present baseline") -> str:
    """Return that too few cases are the same for the shared ones to speak for all; empty where that is not so."""
    baseline = comparison.baseline
    if baseline is None or not baseline.paired or comparison.incomparable:
        return ""
    cases = baseline.scorecard.questions
    few = comparison.compared < MIN_OVERLAP * cases - EPSILON
    return f"only {comparison.compared} of {name}'s {cases} questions are still the same" if few else ""


def not_asked(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the questions that lack a result, failed or not, for a time and mode they were to be asked in; by mode."""
    counts = Counter((item.result.mode, item.case.id) for item in run.answers)
    times = times_asked(run.fingerprint)
    return tuple(
        (mode, case.id)
        for mode in dict.fromkeys([*modes_of(run.fingerprint), *(mode for mode, _ in counts)])
        for case in run.golden.cases
        if counts[mode, case.id] < times and asked_in(case.modes, mode)
    )


def never_asked(run: Run) -> Iterator[str]:
    """Yield which questions are for none of the modes that are asked, and which modes no question is for."""
    modes, cases = modes_of(run.fingerprint), run.golden.cases
    idle = [case.id for case in cases if not any(asked_in(case.modes, mode) for mode in modes)] if modes else []
    if idle:
        number = f"{counted(len(idle), 'question')} {wording.are(len(idle))}"
        yield f"{number} never asked, because ask.modes lacks their modes: {wording.some(idle)}"
    for mode in modes:
        if not any(asked_in(case.modes, mode) for case in cases):
            yield f"no question is for mode {mode}, so this mode is not measured"


def unmeasured(
    scorecard: Scorecard, missing: Sequence[tuple[str, str]], gate: Gate, stopped: str | None
) -> Iterator[Reason]:
    """Yield what keeps a run from being measured: nothing asked, cut short, questions missing, failed calls."""
    if not scorecard.cases:
        yield Reason("zero-cases", "no question was asked")
    if stopped is not None:
        yield Reason("stopped", stopped)
    if missing and scorecard.cases and stopped is None:
        yield Reason("not-asked", wording.not_asked(missing))
    operations = scorecard.operations
    # the reason that cut the run short covers what it did not ask
    short = (
        stopped is not None and operations is not None and operations.failed == operations.failures.get("aborted", 0)
    )
    if operations is not None and not short and failed_too_often(operations, gate):
        yield Reason("too-many-errors", wording.failures(operations, gate.max_error_rate))


def incomplete(comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """Return what is missing that keeps an otherwise green comparison from being one."""
    yield from removed_cases(comparison)
    if comparison.vault_changes and gate.on_vault_change == "refuse":
        yield other_vault(comparison)
    vanished = [row.delta for row in rows if row.status == "vanished"]
    # slices with too few cases are not judged
    yield from _vanished([row for row in vanished if row.slice == OVERALL or before(row) >= gate.min_cases])
    yield from thinned(rows, much=True)
    yield from lost_fields(comparison, gate)
    yield from index_change.documents(comparison, promoting=False)
    yield from index_change.chunks(comparison, whole=False)
    yield from judge_advice.reasons(comparison, gate)
    decides = any(row.decides(gate) for row in rows)
    if comparison.baseline is not None and not comparison.incomparable and not decides:
        yield Reason("nothing-gated", "no gated metric has a value in the baseline, so there is nothing to compare")


def removed_cases(comparison: Comparison) -> Iterator[Reason]:
    """Return the cases that the golden set has lost since the baseline, and the modes with fewer of them."""
    if removed := comparison.golden.removed:
        them = "it" if len(removed) == 1 else "them"
        advice = f"put {them} back, or promote a run without {them}, with --allow-regression and a --reason"
        yield Reason("removed-cases", f"{wording.removed(removed)}; {advice}")
    yield from fewer_cases(comparison)


def lost_fields(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Return what the baseline's API told and this one does not, but for as many answers as calls may fail."""
    if comparison.baseline is None or comparison.incomparable:
        return
    before, now = (card.fingerprint.get("fields") for card in (comparison.baseline.scorecard, comparison.scorecard))
    vanished = [*score.lost(before, now, gate.max_error_rate)]
    for lost in vanished:
        (filled_before, of_before), (filled, of) = lost.before, lost.now
        # the vault may be found by the ids, which are hashes of the texts
        told = "raggate knew each passage's vault" if lost.field == "vault" else f"the API returned {lost.field}"
        then = f"in {filled_before} of {counted(of_before, 'answer')} of the baseline's run"
        unchecked = f"so raggate cannot check what depends on it in {of - filled} answers"
        yield Reason("field-vanished", f"{told} ({lost.mode}) {then} and in {filled} of {of} now, {unchecked}")
    yield from index_change.counts(comparison, {lost.field for lost in vanished})


def less_told(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Return what a baseline made of the run would no longer tell: fields of answers, and parts of the index."""
    yield from lost_fields(comparison, gate)
    yield from index_change.documents(comparison, promoting=True)
    yield from index_change.chunks(comparison, whole=False)


def other_vault(comparison: Comparison) -> Reason:
    """Return which notes are not those of the baseline; there are such."""
    changes = [str(change) for change in comparison.vault_changes]
    differ = f"{counted(len(changes), 'note differs', 'notes differ')}: {wording.some(changes)}"
    return Reason("vault-changed", f"the notes changed since the baseline: {differ}")


def emptied(delta: Delta) -> bool:
    """Return whether a slice or mode of the baseline has no case at all any more."""
    return delta.baseline.n > 0 and delta.current.n == 0 and delta.current.unscored == 0


def before(delta: Delta) -> int:
    """Return to how many cases a row's metric applied in the baseline, of those that are compared."""
    # without a case that has a value on both sides, the baseline's own value stands there, over all that had one
    return delta.baseline.n + (delta.unpaired if delta.delta is not None else 0)


def other_questions(delta: Delta) -> bool:
    """Return whether two means of a baseline without cases are over different numbers of questions."""
    return 0 < delta.baseline.n != delta.current.n > 0


def other_denominators(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Return the gated metrics of a baseline without cases whose means are over other numbers of questions."""
    if comparison.baseline is None or comparison.baseline.paired:
        return
    for delta in comparison.deltas:
        if delta.slice == OVERALL and gate.rule(delta.metric) is not None and other_questions(delta):
            now = counted(delta.current.n, "question")
            message = f"{wording.name(delta)} is a mean over {now}, but over {delta.baseline.n} in the baseline"
            yield Reason.of_row("incomparable", message, delta)


def _vanished(deltas: Sequence[Delta]) -> Iterator[Reason]:
    gone = "was measured in the baseline, but not now"
    modes = {delta.mode for delta in deltas if delta.slice == OVERALL and emptied(delta)}
    left = [delta for delta in deltas if delta.mode not in modes]
    whole = [f"mode {mode}" for mode in sorted(modes)]
    whole += dict.fromkeys(f"slice {delta.slice} ({delta.mode})" for delta in left if emptied(delta))
    yield from (Reason("vanished", f"{name} {gone}") for name in whole)
    others = "no longer has a value for any of the baseline's questions, only for others"
    metrics = [delta for delta in left if not emptied(delta)]
    for delta in sorted(metrics, key=lambda delta: delta.run_value.n > 0):
        yield Reason.of_row("vanished", f"{wording.name(delta)} {others if delta.run_value.n else gone}", delta)


def fewer_cases(comparison: Comparison) -> Iterator[Reason]:
    """Return the modes with fewer cases than a baseline that does not tell which; one that does lists those removed."""
    baseline = comparison.baseline
    if baseline is None or baseline.paired or comparison.incomparable:
        return
    for mode, counts in comparison.scorecard.counts.items():
        before, now = baseline.scorecard.counts.get(mode, {}).get(OVERALL, 0), counts.get(OVERALL, 0)
        if now < before:
            message = f"mode {mode} was asked {counted(now, 'question')}, but {before} in the baseline"
            yield Reason("removed-cases", message, mode=mode)


def thinned(rows: Sequence[GatedMetric], *, much: bool) -> Iterator[Reason]:
    """Return the metrics over all cases that apply to fewer of them than in the baseline: to much fewer, or not."""
    for delta in (row.delta for row in rows if row.gated and row.status != "vanished"):
        others = delta.uncompared
        relabelled, retired = (others.relabelled, len(others.retired)) if others is not None else (0, 0)
        now, was = delta.current.n + relabelled, before(delta) + relabelled + retired
        too_thin = now < MIN_OVERLAP * was - EPSILON
        if delta.slice == OVERALL and 0 < now < was and too_thin == much:
            over = f"{counted(now, 'question')} ({delta.baseline.n} in the baseline)"
            if delta.unpaired or others is not None:
                over = f"{now} of its {was} questions in the baseline"
            yield Reason.of_row("fewer-scored", f"{wording.name(delta)} now applies to {over}", delta)


def obstacles(scorecard: Scorecard, baseline: Baseline | None) -> tuple[str, ...]:
    """Return why a run must not be compared with a baseline; empty when it may be, or there is none."""
    if baseline is None:
        return ()
    return tuple(setting_obstacles(baseline, scorecard.suite, scorecard.fingerprint, tuple(scorecard.slices)))


def setting_obstacles(baseline: Baseline, suite: str, now: Fingerprint, modes: Sequence[str]) -> Iterator[str]:
    """Yield why a run by some settings must not be compared with a baseline, as far as those tell it."""
    before = baseline.scorecard.fingerprint
    if baseline.scorecard.suite and baseline.scorecard.suite != suite:
        yield f"the baseline is of suite {baseline.scorecard.suite!r}, this run of {suite!r}"
    # a bare metrics file has no fingerprint: nothing is known to differ
    if baseline.paired:
        yield from (text for _, text in changed_settings(before, now))
    if lost := lost_cutoffs(before, cutoffs_of(now)):
        yield f"the baseline has cut-offs that score.k no longer has: {lost}"
    if not set(baseline.scorecard.slices) & set(modes):
        measured, stored = ", ".join(modes), ", ".join(baseline.scorecard.slices)
        yield f"no mode in common: {stored or 'none'} in the baseline, {measured or 'none'} now"


def changed_settings(before: Fingerprint, now: Fingerprint) -> Iterator[tuple[str, str]]:
    """Yield what must agree between two fingerprints and does not: the key, and a clause with both values."""
    for key, meaning in _MUST_AGREE.items():
        if before.get(key) != now.get(key):
            was, is_now = (side.get(key, _UNSAID.get(key)) for side in (before, now))
            yield key, f"{meaning} changed: {was} in the baseline, {is_now} now"


def lost_cutoffs(before: Fingerprint, now: Sequence[int]) -> str:
    """Return the cut-offs of a fingerprint that are not scored any more; empty for none."""
    return ", ".join(str(k) for k in cutoffs_of(before) if k not in now)
