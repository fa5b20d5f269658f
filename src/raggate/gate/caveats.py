"""What a reader must know of a comparison that the policy lets pass: differences, and what was not asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.gate import completeness, wording
from raggate.gate.causes import index_losses
from raggate.models.comparison import Comparison
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.scorecard import EPSILON, OVERALL, UNANSWERABLE, CaseScore, mostly
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import figures
from raggate.text.numbers import counted


def differences(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what the policy lets be different between the two sides, for warnings."""
    yield from _other_index(comparison, gate)
    yield from _other_questions(comparison, gate)
    yield from _limits_of_the_baseline(comparison)


def _other_index(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    yield from index_losses.chunks(comparison, same_chunker=False)
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


def asked_again(comparison: Comparison) -> Iterator[Reason]:
    """Say that calls failed first and were asked again, where there are such."""
    if calls := comparison.asked_again:
        were = "was" if calls == 1 else "were"
        yield Reason("asked-again", f"{counted(calls, 'call')} failed first and {were} asked again")
