"""A comparison and the policy -> the verdict with its reasons. Pure: no I/O, no clock, no randomness.

Order of the clauses: what could not be measured (3), what the API must never do (4), what got worse (1), what is
missing from an otherwise green comparison (3), pass (0). So a red run names its worst cause first, and nothing that
is incomplete can be green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate import wording
from raggate.config import Gate, Rule
from raggate.errors import ExitCode
from raggate.outcomes import (
    EPSILON,
    OVERALL,
    CaseScore,
    Comparison,
    Delta,
    Finding,
    Judged,
    Outcome,
    Reason,
    Status,
    Verdict,
)

_EXIT_CODES: dict[Outcome, ExitCode] = {
    "pass": ExitCode.PASS,
    "regression": ExitCode.REGRESSION,
    "cannot tell": ExitCode.CANNOT_TELL,
    "invariant broken": ExitCode.INVARIANT,
    "interrupted": ExitCode.INTERRUPTED,
}


def decide(
    comparison: Comparison,
    findings: Sequence[Finding],
    gate: Gate,
    *,
    stopped: str | None = None,
    interrupted: bool = False,
) -> Verdict:
    """Decide.

    Args:
        comparison: the run held against the baseline.
        findings: invariants that do not hold.
        gate: the policy.
        stopped: why the run ended early, None when every question was asked.
        interrupted: whether a signal is why.
    """
    rows = tuple(judge(delta, gate) for delta in comparison.deltas)
    warnings = [
        *_finding_reasons(findings, "warn"),
        *_drift(comparison, gate),
        *_coverage_warnings(rows, gate),
        *_slice_warnings(rows, gate),
    ]
    clauses: tuple[tuple[Outcome, list[Reason]], ...] = (
        ("cannot tell", list(_not_measured(comparison, gate, stopped))),
        ("invariant broken", list(_finding_reasons(findings, "error"))),
        ("regression", [*_must_pass(comparison.scorecard.cases, gate), *_worse(rows, gate)]),
        # a run that was cut short lacks cases and slices for that reason alone
        ("cannot tell", list(_incomplete(comparison, rows, gate)) if stopped is None else []),
    )
    first: Outcome = next((name for name, reasons in clauses if reasons), "pass")
    outcome: Outcome = "interrupted" if interrupted and first == "cannot tell" else first
    # what else is wrong is told too, after the clause that decided
    reasons = [reason for name, found in clauses if name == first for reason in found]
    reasons += [reason for name, found in clauses if name != first for reason in found]
    return Verdict(
        outcome=outcome,
        exit_code=_EXIT_CODES[outcome],
        headline=wording.headline(outcome, reasons, comparison, warnings),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        rows=rows,
    )


def judge(delta: Delta, gate: Gate) -> Judged:
    """Say what the policy makes of one row. Slices other than overall share the metric's tolerance, not its floor.

    A row without a value in the baseline and without a floor is not gated, whatever the rules: nothing can be decided.
    """
    rule = gate.rule(delta.metric)
    overall = delta.slice == OVERALL
    floor = _limit(rule, delta) if rule is not None and overall else None
    enough = delta.baseline.n > 0 if overall else gate.slices != "off" and delta.baseline.n >= gate.min_slice
    gated = rule is not None and (enough or (floor is not None and delta.current.n > 0))
    return Judged(
        delta=delta,
        status=_status(delta, rule, floor) if gated and rule is not None else _ungated_status(delta),
        allowed=rule.tolerance if gated and rule is not None else None,
        floor=floor,
        gated=gated,
    )


def _status(delta: Delta, rule: Rule, floor: float | None) -> Status:
    if delta.baseline.n and not delta.current.n:
        return "vanished"
    value = delta.current.value
    sign = 1 if delta.current.direction == "higher" else -1
    # written so that a NaN, which no comparison is true of, ends up as bad
    if floor is not None and value is not None and not sign * (value - floor) >= -EPSILON:
        return "below floor"
    change = sign * (delta.delta or 0.0)
    if change > EPSILON:
        return "better"
    if change >= -EPSILON:
        return "same"
    return "within" if change >= -((rule.tolerance or 0.0) + EPSILON) else "worse"


def _ungated_status(delta: Delta) -> Status:
    return "vanished" if _emptied(delta) else "not gated"


def _emptied(delta: Delta) -> bool:
    """Say whether a slice or mode of the baseline has no case at all any more."""
    return delta.baseline.n > 0 and delta.current.n == 0 and delta.current.unscored == 0


def _limit(rule: Rule, delta: Delta) -> float | None:
    return rule.floor if delta.current.direction == "higher" else rule.ceiling


def _not_measured(comparison: Comparison, gate: Gate, stopped: str | None) -> Iterator[Reason]:
    scorecard = comparison.scorecard
    if not scorecard.cases:
        yield Reason(code="zero-cases", message="no question was asked")
    if stopped is not None:
        yield Reason(code="stopped", message=stopped)
    operations = scorecard.operations
    if operations is not None and operations.failed > gate.max_error_rate * operations.calls + EPSILON:
        kinds = ", ".join(f"{count} {kind}" for kind, count in operations.failures.items())
        yield Reason(
            code="too-many-errors",
            message=f"{operations.failed} of {operations.calls} calls failed ({kinds}), "
            f"more than the allowed share of {gate.max_error_rate:g}",
        )
    if comparison.baseline is None:
        yield Reason(code="no-baseline", message="there is no baseline to compare with; review this run and promote it")
    for cause in comparison.incomparable:
        yield Reason(code="incomparable", message=cause)
    if comparison.baseline is not None and comparison.baseline.paired and not (comparison.incomparable or stopped):
        known = len({case.case_id for case in comparison.baseline.scorecard.cases})
        if comparison.compared < gate.min_overlap * known - EPSILON:
            yield Reason(
                code="little-overlap",
                message=f"only {comparison.compared} of the baseline's {known} cases are still the same",
            )


def _finding_reasons(findings: Sequence[Finding], level: str) -> Iterator[Reason]:
    for finding in findings:
        if finding.level == level:
            times = f" ({finding.count} times)" if finding.count > 1 else ""
            yield Reason(
                code=f"invariant-{finding.invariant}",
                message=f"“{finding.message.rstrip('.')}” does not hold{times}: {finding.examples[0]}",
            )


def _must_pass(cases: Sequence[CaseScore], gate: Gate) -> Iterator[Reason]:
    for case in cases:
        missed = _missed(case, gate.flip_at) if case.must_pass else None
        if missed is not None:
            yield Reason(code="must-pass", message=f"must-pass question {case.case_id} ({case.mode}): {missed}")


def _missed(case: CaseScore, depth: int) -> str | None:
    """Say what a question that must pass lacks, None when it passes."""
    if case.failure is not None:
        return f"the call failed ({case.failure})"
    if case.values.get("abstention_accuracy") is not None:
        return None if case.values["abstention_accuracy"] == 1 else "the API answered and should have abstained"
    if case.values.get("false_abstention_rate") == 1:
        return "the API abstained"
    grouped = any(name.startswith("recall_all_at_") and value is not None for name, value in case.values.items())
    rank = case.rank_all if grouped else case.rank
    if rank is not None and rank <= depth:
        return None
    what = "not all that it needs stands" if grouped else "nothing expected stands"
    return f"{what} within rank {depth}"


def _worse(rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    for row in rows:
        if row.delta.slice != OVERALL and gate.slices != "fail":
            continue
        if row.gated and row.status == "worse":
            yield Reason(code="worse", message=wording.change(row))
        if row.gated and row.status == "below floor":
            limit = "floor" if row.delta.current.direction == "higher" else "ceiling"
            yield Reason(
                code="below-floor",
                message=f"{wording.name(row.delta)} is {row.delta.current.value:.4f}, beyond its {limit} {row.floor:g}",
            )


def _incomplete(comparison: Comparison, rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    removed = comparison.golden.removed
    if removed and gate.on_removed_cases == "refuse":
        yield Reason(code="removed-cases", message=wording.removed(removed))
    if comparison.vault_changes and gate.on_vault_change == "refuse":
        yield Reason(code="vault-changed", message=f"the vault changed: {wording.some(comparison.vault_changes)}")
    if gate.on_removed_cases == "refuse":
        for message in _fewer_cases(comparison):
            yield Reason(code="fewer-cases", message=message)
    for name in _vanished([row.delta for row in rows if row.status == "vanished" and not _small(row.delta, gate)]):
        yield Reason(code="vanished", message=f"{name} was measured in the baseline and is not any more")
    for row in _thinned(rows):
        if row.delta.current.n < gate.min_overlap * row.delta.baseline.n - EPSILON:
            yield Reason(code="fewer-scored", message=_thinning(row.delta))
    decides = [row for row in rows if row.gated and (row.delta.slice == OVERALL or gate.slices == "fail")]
    if comparison.baseline is not None and not comparison.incomparable and not decides:
        yield Reason(
            code="nothing-gated", message="no gated metric has a value in the baseline, so nothing was decided"
        )


def _small(delta: Delta, gate: Gate) -> bool:
    """Say whether a row is of a slice with too few cases to be judged."""
    return delta.slice != OVERALL and delta.baseline.n < gate.min_slice


def _vanished(deltas: Sequence[Delta]) -> dict[str, None]:
    """Name what is gone, the largest thing only: a mode, else a slice of it, else single metrics."""
    modes = {delta.mode for delta in deltas if delta.slice == OVERALL and _emptied(delta)}
    whole = dict.fromkeys(f"mode {mode}" for mode in sorted(modes))
    left = [delta for delta in deltas if delta.mode not in modes]
    whole |= dict.fromkeys(f"slice {delta.slice} ({delta.mode})" for delta in left if _emptied(delta))
    return whole | dict.fromkeys(wording.name(delta) for delta in left if not _emptied(delta))


def _fewer_cases(comparison: Comparison) -> Iterator[str]:
    """Name the modes with fewer cases than a baseline that does not tell which; one that does lists those removed."""
    baseline = comparison.baseline
    if baseline is None or baseline.paired or comparison.incomparable:
        return
    for mode, counts in comparison.scorecard.counts.items():
        before, now = baseline.scorecard.counts.get(mode, {}).get(OVERALL, 0), counts.get(OVERALL, 0)
        if now < before:
            yield f"mode {mode} was asked {wording.count(now, 'case')}, in the baseline {before}"


def _thinned(rows: Sequence[Judged]) -> list[Judged]:
    """Give the rows of all cases whose metric applies to fewer of them than in the baseline."""
    return [
        row
        for row in rows
        if row.gated and row.delta.slice == OVERALL and 0 < row.delta.current.n < row.delta.baseline.n
    ]


def _thinning(delta: Delta) -> str:
    now = wording.count(delta.current.n, "case")
    return f"{wording.name(delta)} applies to {now}, in the baseline to {delta.baseline.n}"


def _drift(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    removed, relabelled = comparison.golden.removed, comparison.golden.relabelled
    if comparison.vault_changes and gate.on_vault_change == "warn":
        changes = comparison.vault_changes
        differ = f"{wording.differ(len(changes))}: {wording.some(changes)}"
        yield Reason(code="vault-changed", message=f"the vault is not the one of the baseline, {differ}")
    if gate.on_removed_cases == "warn":
        if removed:
            yield Reason(code="removed-cases", message=wording.removed(removed))
        for message in _fewer_cases(comparison):
            yield Reason(code="fewer-cases", message=message)
    if relabelled:
        cases = f"{wording.count(len(relabelled), 'case')} {'was' if len(relabelled) == 1 else 'were'}"
        message = f"{cases} relabelled and not compared: {wording.some(relabelled)}"
        yield Reason(code="relabelled-cases", message=message)
    refiled, released = comparison.golden.refiled, comparison.golden.released
    if refiled:
        cases = wording.count(len(refiled), "case")
        message = f"{cases} filed under another category, difficulty, tag or vault: {wording.some(refiled)}"
        yield Reason(code="refiled-cases", message=message)
    if released:
        message = f"{wording.count(len(released), 'case')} no longer must-pass: {wording.some(released)}"
        yield Reason(code="released-cases", message=message)
    if comparison.golden.added:
        added = comparison.golden.added
        cases = f"{wording.count(len(added), 'case')} {wording.are(len(added))}"
        yield Reason(code="added-cases", message=f"{cases} not in the baseline yet: {wording.some(added)}")


def _coverage_warnings(rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    for row in _thinned(rows):
        if row.delta.current.n >= gate.min_overlap * row.delta.baseline.n - EPSILON:
            yield Reason(code="fewer-scored", message=_thinning(row.delta))
    new = [
        wording.name(row.delta)
        for row in rows
        if row.delta.slice == OVERALL
        and gate.rule(row.delta.metric)
        and row.delta.current.n
        and not row.delta.baseline.n
    ]
    if new:
        yield Reason(
            code="new-metrics", message=f"without a value in the baseline, so not compared: {wording.some(new)}"
        )


def _slice_warnings(rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    """One warning a slice, by its worst metric; a slice of all cases would only repeat what is said of them."""
    whole = {(row.delta.mode, row.delta.metric): row.delta.current.n for row in rows if row.delta.slice == OVERALL}
    slices: dict[tuple[str, str], list[Judged]] = {}
    for row in rows if gate.slices == "warn" else ():
        delta = row.delta
        part = delta.slice != OVERALL and delta.current.n != whole.get((delta.mode, delta.metric))
        if part and row.gated and row.status == "worse":
            slices.setdefault((delta.mode, delta.slice), []).append(row)
    for found in slices.values():
        worst = max(found, key=lambda row: abs(row.delta.delta or 0.0))
        more = f"; {wording.count(len(found) - 1, 'other metric')} of it got worse too" if len(found) > 1 else ""
        yield Reason(code="slice-worse", message=wording.change(worst) + more)
