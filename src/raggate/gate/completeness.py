"""A comparison and the policy -> what is missing from it and what is not the same on both sides, as reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.retrieval_modes import asked_in
from raggate.config.schema import Gate
from raggate.gate import judged_metrics, wording
from raggate.gate.causes import index_losses
from raggate.gate.overview import AnswerCounts
from raggate.models.comparison import Comparison, Delta
from raggate.models.fingerprint import modes_of
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.provenance import KeptFrom, commit_words
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, UNANSWERABLE, CaseScore, Operations, mostly
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import answer_fields
from raggate.scoring.repeats import times_asked
from raggate.text.numbers import counted, setting
from raggate.text.quote import cut


def failed_too_often(operations: Operations, gate: Gate) -> bool:
    """Say whether more calls failed than a run may have and still count as measured."""
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
    asked several times needs as many results. A run that stopped early lacks questions for that reason; this does not
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


def incomplete(comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """Say what is missing that keeps an otherwise green comparison from being one."""
    if gate.on_removed_cases == "refuse":
        yield from _removed(comparison)
    if comparison.vault_changes and gate.on_vault_change == "refuse":
        yield _other_vault(comparison)
    vanished = [row.delta for row in rows if row.status == "vanished"]
    # slices with too few cases are not judged
    yield from _vanished([row for row in vanished if row.slice == OVERALL or before(row) >= gate.min_slice])
    yield from _thinned(rows, gate, much=True)
    yield from lost_fields(comparison, gate)
    yield from index_losses.documents(comparison, promoting=False)
    yield from judged_metrics.kept_from_judging(comparison)
    decides = [row for row in rows if row.gated and (row.delta.slice == OVERALL or gate.slices == "fail")]
    if comparison.baseline is not None and not comparison.incomparable and not decides:
        yield Reason("nothing-gated", "no gated metric has a value in the baseline, so nothing was decided")


def _removed(comparison: Comparison) -> Iterator[Reason]:
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
        answers = counted(lost.answers, "answer")
        message = (
            f"the API returned {lost.field} ({lost.mode}) in the baseline's run, but not in {lost.missing} of "
            f"{answers}, so what depends on it is not checked"
        )
        yield Reason("field-vanished", message)
    yield from index_losses.counts(comparison, {lost.field for lost in vanished})


def less_told(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what a baseline made of the run would no longer tell: fields of answers, and parts of the index."""
    yield from lost_fields(comparison, gate)
    yield from index_losses.documents(comparison, promoting=True)
    yield from index_losses.chunks(comparison, same_chunker=True)


def _other_index(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    yield from index_losses.chunks(comparison, same_chunker=False)
    if comparison.vault_changes and gate.on_vault_change == "warn":
        yield _other_vault(comparison)


def _other_vault(comparison: Comparison) -> Reason:
    changes = [str(change) for change in comparison.vault_changes]
    differ = f"{wording.differ(len(changes))}: {wording.some(changes)}"
    return Reason("vault-changed", f"the vault is not the one of the baseline, {differ}")


def unwatched(comparison: Comparison) -> Iterator[Reason]:
    """Say what the golden set and the modes leave out: questions never asked, modes without any, or without a past."""
    if comparison.idle:
        cases = f"{counted(len(comparison.idle), 'question')} {wording.are(len(comparison.idle))}"
        message = f"{cases} for other modes than those of ask.modes and never asked: {wording.some(comparison.idle)}"
        yield Reason("never-asked", message)
    for mode in comparison.idle_modes:
        yield Reason("idle-mode", f"no question is for mode {mode}, so nothing of it is measured")
    for mode in new_modes(comparison):
        yield Reason("new-mode", f"mode {mode} has no baseline, so nothing of it is gated until a run is promoted")


def new_modes(comparison: Comparison) -> tuple[str, ...]:
    """Name the modes that the run was asked in and the baseline it is compared with was not."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable or not baseline.scorecard.slices:
        return ()
    return tuple(mode for mode in comparison.scorecard.slices if mode not in baseline.scorecard.slices)


def modes_without_past(comparison: Comparison) -> tuple[str, ...]:
    """Name the modes of a run that no baseline has: all of them where there is none."""
    return tuple(comparison.scorecard.slices) if comparison.baseline is None else new_modes(comparison)


def drift(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what the policy lets be different between the two sides, for warnings."""
    yield from _other_index(comparison, gate)
    baseline, golden = comparison.baseline, comparison.golden
    if baseline is not None and baseline.restate is not None and comparison.deltas:
        whose = baseline.provenance["means_of"]
        message = f"the means of the baseline are by the definitions of {whose}, and so is what they are held against"
        yield Reason("other-definitions", message)
    if gate.on_removed_cases == "warn":
        yield from _removed(comparison)
    if golden.relabelled:
        cases = f"{counted(len(golden.relabelled), 'case')} {'was' if len(golden.relabelled) == 1 else 'were'}"
        message = f"{cases} relabelled and not compared one by one: {wording.some(golden.relabelled)}"
        yield Reason("relabelled-cases", message)
    if baseline is not None and baseline.early and any("-" in case.hash for case in comparison.scorecard.cases):
        message = "the baseline is from before expected_key_facts were compared; promote a run to have them gated too"
        yield Reason("early-baseline", message)
    if golden.refiled:
        cases = counted(len(golden.refiled), "case")
        message = f"{cases} filed under another category, difficulty, tag or vault: {wording.some(golden.refiled)}"
        yield Reason("refiled-cases", message)
    if golden.released:
        cases = counted(len(golden.released), "case")
        yield Reason("released-cases", f"{cases} no longer must-pass: {wording.some(golden.released)}")
    known = baseline.scorecard.fingerprint if baseline is not None else {}
    if known and "fields" not in known and not comparison.incomparable:
        message = (
            "the baseline does not record which fields the API returned, so a missing one cannot be noticed; promote a "
            "run to record them"
        )
        yield Reason("fields-unknown", message)
    if golden.added:
        cases = f"{counted(len(golden.added), 'case')} {wording.are(len(golden.added))}"
        outcomes = wording.some(_stand(comparison, golden.added))
        yield Reason("added-cases", f"{cases} not in the baseline yet: {outcomes}")


def _stand(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Say of cases, by mode where there are several, whether what they expect was found; those that miss it first."""
    several = len(comparison.scorecard.slices) > 1
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
    whole = new_modes(comparison)
    yield from _thinned(rows, gate, much=False)
    for row in rows:
        others = row.delta.uncompared
        if others is None or row.allowed is None or row.delta.slice != OVERALL:
            continue
        if row.status not in {"worse", "below floor"} and others.drop > row.allowed + EPSILON:
            message = (
                f"{wording.shortfall(row.delta, others)}, allowed {setting(row.allowed)}; by so few it may be chance"
            )
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


def emptied(delta: Delta) -> bool:
    """Say whether a slice or mode of the baseline has no case at all any more."""
    return delta.baseline.n > 0 and delta.current.n == 0 and delta.current.unscored == 0


def before(delta: Delta) -> int:
    """Say to how many cases a row's metric applied in the baseline, of those that are compared."""
    # without a case that has a value on both sides, the baseline's own value stands there, over all that had one
    return delta.baseline.n + (delta.unpaired if delta.delta is not None else 0)


def other_questions(delta: Delta) -> bool:
    """Say whether two means of a baseline without cases are over different numbers of questions."""
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


def asked_again(comparison: Comparison) -> Iterator[Reason]:
    """Say that calls failed first and were asked again, where there are such."""
    if calls := comparison.asked_again:
        were = "was" if calls == 1 else "were"
        yield Reason("asked-again", f"{counted(calls, 'call')} failed first and {were} asked again")


def kept_answers(comparison: Comparison) -> Iterator[Reason]:
    """Say which answers were not asked for in this run, or why all were though there were some."""
    operations = comparison.scorecard.operations
    if operations is not None and operations.kept:
        yield Reason(
            "kept-answers",
            f"{_were(operations.kept)} not asked now: {_source(comparison.kept_from)} had the same images, notes and "
            f"requests, and its answers count; of {counted(operations.calls, 'question')} that were asked, those that "
            "it had answered came out alike, and times are of these calls alone",
        )
    elif comparison.kept_aside:
        yield Reason("kept-aside", f"kept answers had no part in it: {cut(comparison.kept_aside)}")


def _were(number: int) -> str:
    return f"{counted(number, 'question')} {'was' if number == 1 else 'were'}"


def _source(origin: KeptFrom | None) -> str:
    if origin is None:
        return "an earlier run"
    at = f" at {commit_words(origin.commit)}" if origin.commit else ""
    return f"run {cut(origin.run, limit=40)} of {cut(origin.asked, limit=25)}{at}"


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


def _thinned(rows: Sequence[GatedMetric], gate: Gate, *, much: bool) -> Iterator[Reason]:
    """Name the metrics over all cases that apply to fewer of them than in the baseline: to much fewer, or not."""
    for delta in (row.delta for row in rows if row.gated and row.status != "vanished"):
        now, was = _scored(delta)
        too_thin = now < gate.min_overlap * was - EPSILON
        if delta.slice == OVERALL and 0 < now < was and too_thin == much:
            over = f"{counted(now, 'case')}, in the baseline to {delta.baseline.n}"
            if delta.unpaired or delta.uncompared is not None:
                over = f"{now} of the {was} cases it applied to before"
            yield Reason.of_row("fewer-scored", f"{wording.name(delta)} applies to {over}", delta)
