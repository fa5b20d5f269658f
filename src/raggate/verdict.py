"""A comparison and the policy -> the verdict with its reasons. Pure: no I/O, no clock, no randomness.

Order of the clauses: what could not be measured (3), what the API must never do (4), what got worse (1), what is
missing from an otherwise green comparison (3), pass (0). So a red run names its worst cause first, and nothing that
is incomplete can be green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config import Gate, Rule
from raggate.errors import ExitCode
from raggate.models import OVERALL, CaseScore, Comparison, Delta, Finding, Judged, Outcome, Reason, Status, Verdict

EPSILON = 1e-9
"""A boundary is crossed only beyond this, so that sums of floats cannot decide."""

_EXIT_CODES: dict[Outcome, ExitCode] = {
    "pass": ExitCode.PASS,
    "regression": ExitCode.REGRESSION,
    "cannot tell": ExitCode.CANNOT_TELL,
    "invariant broken": ExitCode.INVARIANT,
    "interrupted": ExitCode.INTERRUPTED,
}


def decide(comparison: Comparison, findings: Sequence[Finding], gate: Gate, *, stopped: str | None = None) -> Verdict:
    """Decide.

    Args:
        comparison: the run held against the baseline.
        findings: invariants that do not hold.
        gate: the policy.
        stopped: why the run ended early, None when every question was asked.
    """
    rows = tuple(judge(delta, gate) for delta in comparison.deltas)
    warnings = [*_finding_reasons(findings, "warn"), *_drift(comparison, gate), *_slice_warnings(rows, gate)]
    clauses: tuple[tuple[Outcome, list[Reason]], ...] = (
        ("cannot tell", list(_not_measured(comparison, gate, stopped))),
        ("invariant broken", list(_finding_reasons(findings, "error"))),
        ("regression", [*_must_pass(comparison.scorecard.cases, gate), *_worse(rows, gate)]),
        ("cannot tell", list(_incomplete(comparison, rows, gate))),
    )
    outcome: Outcome = next((name for name, reasons in clauses if reasons), "pass")
    # what else is wrong is told too, after the clause that decided
    reasons = [reason for name, found in clauses if name == outcome for reason in found]
    reasons += [reason for name, found in clauses if name != outcome for reason in found]
    return Verdict(
        outcome=outcome,
        exit_code=_EXIT_CODES[outcome],
        headline=_headline(outcome, reasons, comparison, warnings),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        rows=rows,
    )


def judge(delta: Delta, gate: Gate) -> Judged:
    """Say what the policy makes of one row. Slices other than overall share the metric's tolerance, not its floor."""
    rules = gate.rules()
    rule = rules.get(delta.metric)
    overall = delta.slice == OVERALL
    gated = rule is not None and (overall or (gate.slices != "off" and delta.baseline.n >= gate.min_slice))
    floor = _limit(rule, delta) if rule is not None and overall else None
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
    if floor is not None and value is not None and sign * (value - floor) < -EPSILON:
        return "below floor"
    change = sign * (delta.delta or 0.0)
    if change < -((rule.tolerance or 0.0) + EPSILON):
        return "worse"
    if change > EPSILON:
        return "better"
    return "same" if change >= -EPSILON else "within"


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
            message=f"{operations.failed} of {operations.calls} calls failed ({kinds}); "
            f"allowed is a share of {gate.max_error_rate:g}",
        )
    if comparison.baseline is None:
        yield Reason(code="no-baseline", message="there is no baseline to compare with")
    for cause in comparison.incomparable:
        yield Reason(code="incomparable", message=cause)
    if comparison.baseline is not None and comparison.baseline.paired and not comparison.incomparable:
        known = len({case.case_id for case in comparison.baseline.scorecard.cases})
        if comparison.compared < gate.min_overlap * known:
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
                message=f"does not hold: {finding.message.rstrip('.')}{times}; {finding.examples[0]}",
            )


def _must_pass(cases: Sequence[CaseScore], gate: Gate) -> Iterator[Reason]:
    for case in cases:
        if case.must_pass and not _passes(case, gate.flip_at):
            yield Reason(
                code="must-pass",
                message=f"must-pass question {case.case_id} is not answered within rank {gate.flip_at} ({case.mode})",
            )


def _passes(case: CaseScore, depth: int) -> bool:
    if case.values.get("abstention_accuracy") is not None:
        return case.values["abstention_accuracy"] == 1
    grouped = any(name.startswith("recall_all_at_") and value is not None for name, value in case.values.items())
    rank = case.rank_all if grouped else case.rank
    return rank is not None and rank <= depth


def _worse(rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    for row in rows:
        if row.delta.slice != OVERALL and gate.slices != "fail":
            continue
        if row.gated and row.status == "worse":
            yield Reason(code="worse", message=_change(row))
        if row.gated and row.status == "below floor":
            limit = "floor" if row.delta.current.direction == "higher" else "ceiling"
            yield Reason(
                code="below-floor",
                message=f"{_name(row.delta)} is {row.delta.current.value:.4f}, beyond its {limit} {row.floor:g}",
            )


def _incomplete(comparison: Comparison, rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    removed = comparison.golden.removed
    if removed and gate.on_removed_cases == "refuse":
        yield Reason(code="removed-cases", message=f"{len(removed)} cases of the baseline are gone: {_some(removed)}")
    if comparison.vault_changes and gate.on_vault_change == "refuse":
        yield Reason(code="vault-changed", message=f"the vault changed: {_some(comparison.vault_changes)}")
    vanished = [row.delta for row in rows if row.status == "vanished"]
    whole = dict.fromkeys(f"slice {delta.slice} ({delta.mode})" for delta in vanished if _emptied(delta))
    single = [_name(delta) for delta in vanished if not _emptied(delta)]
    for name in [*whole, *single]:
        yield Reason(code="vanished", message=f"{name} was measured in the baseline and is not any more")
    if comparison.baseline is not None and comparison.deltas and not any(row.gated for row in rows):
        yield Reason(code="nothing-gated", message="no metric is gated, so nothing was decided")


def _drift(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    removed, relabelled = comparison.golden.removed, comparison.golden.relabelled
    if comparison.vault_changes and gate.on_vault_change == "warn":
        changes = comparison.vault_changes
        yield Reason(
            code="vault-changed",
            message=f"the vault is not the one of the baseline, {len(changes)} note(s) differ: {_some(changes)}",
        )
    if removed and gate.on_removed_cases == "warn":
        yield Reason(code="removed-cases", message=f"{len(removed)} cases of the baseline are gone: {_some(removed)}")
    if relabelled:
        yield Reason(
            code="relabelled-cases",
            message=f"{len(relabelled)} cases were relabelled and not compared: {_some(relabelled)}",
        )
    if comparison.golden.added:
        added = comparison.golden.added
        yield Reason(code="added-cases", message=f"{len(added)} cases are not in the baseline yet: {_some(added)}")


def _slice_warnings(rows: Sequence[Judged], gate: Gate) -> Iterator[Reason]:
    if gate.slices == "warn":
        for row in rows:
            if row.gated and row.delta.slice != OVERALL and row.status == "worse":
                yield Reason(code="slice-worse", message=_change(row))


def _change(row: Judged) -> str:
    before, after = row.delta.baseline.value or 0.0, row.delta.current.value or 0.0
    return (
        f"{_name(row.delta)} went from {before:.4f} to {after:.4f} "
        f"({row.delta.delta or 0.0:+.4f}, allowed {row.allowed or 0.0:g})"
    )


def _name(delta: Delta) -> str:
    where = "" if delta.slice == OVERALL else f" for {delta.slice}"
    return f"{delta.metric} ({delta.mode}){where}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown}, …" if len(names) > 5 else shown


def _headline(outcome: Outcome, reasons: Sequence[Reason], comparison: Comparison, warnings: Sequence[Reason]) -> str:
    asked = len({case.case_id for case in comparison.scorecard.cases})
    if outcome == "pass":
        note = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
        return f"Nothing gated is worse than allowed, over {asked} questions{note}."
    if outcome == "regression":
        broke = sum(flip.kind == "broke" for flip in comparison.flips)
        worse = sum(reason.code in {"worse", "below-floor"} for reason in reasons)
        lost = sum(reason.code == "must-pass" for reason in reasons)
        parts = [f"{worse} gated metric{'s' if worse != 1 else ''} fell"] if worse else []
        parts += [f"{lost} must-pass question{'s' if lost != 1 else ''} failed"] if lost else []
        parts += [f"{broke} question{'s' if broke != 1 else ''} broke"] if broke else []
        return f"Retrieval got worse: {', '.join(parts)}."
    if outcome == "invariant broken":
        return f"The API's answers cannot be right: {reasons[0].message}."
    return f"No verdict is possible: {reasons[0].message}."
