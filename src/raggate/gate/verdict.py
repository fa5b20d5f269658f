"""A comparison and the policy -> the verdict with its reasons. Pure: no I/O, no clock, no randomness.

Order of the clauses: what could not be measured (3), what the API must never do (4), a part of the index (3), what got
worse (1), what is missing from an otherwise green comparison (3), pass (0). So a red run names its worst cause first,
and nothing that is incomplete can be green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from raggate.config.schema import Gate
from raggate.gate import behaviour, completeness, ratchet, waivers, wording
from raggate.gate.row_status import classify_row
from raggate.models.comparison import Comparison, Finding
from raggate.models.metric_names import (
    ABSTENTION_ACCURACY,
    FALSE_ABSTENTION_RATE,
    HIT,
    RECALL_ALL,
    at_depth,
    family,
)
from raggate.models.scorecard import OVERALL, CaseScore
from raggate.models.verdict import GatedMetric, Reason, Verdict, VerdictKind
from raggate.models.waiver import WaiverStatus
from raggate.text import dates
from raggate.text.numbers import counted


def decide(
    comparison: Comparison,
    findings: Sequence[Finding],
    gate: Gate,
    *,
    stopped: str | None = None,
    interrupted: bool = False,
    first_run: bool = False,
    started: str = "",
    waived: Sequence[WaiverStatus] = (),
    expired_waivers_resolved: bool = False,
) -> Verdict:
    """Decide.

    Args:
        comparison: the run held against the baseline.
        findings: invariants that do not hold.
        gate: the policy.
        stopped: why the run ended early, None when every question was asked.
        interrupted: whether a signal is why.
        first_run: whether there is no baseline because the trusted commit does not have raggate yet.
        started: when the run started, ISO 8601; empty when that is not known.
        waived: the waivers as they stand on that day.
        expired_waivers_resolved: whether the change itself removes or renews every waiver that has expired.
    """
    rows = tuple(_excuse(classify_row(delta, gate), gate, waived) for delta in comparison.deltas)
    complaints = [*_must_pass(comparison, gate, waived), *_worse(rows, gate, waived)]
    complaints += _creep(comparison, rows, gate, waived)
    statuses = _used(comparison, complaints, waived, stopped)
    complaints += _left_over(statuses, resolved=expired_waivers_resolved)
    warnings = list(_warnings(comparison, findings, rows, gate, started, complaints))
    clauses: tuple[tuple[VerdictKind, list[Reason]], ...] = (
        ("cannot tell", list(_not_measured(comparison, gate, stopped, first_run=first_run))),
        ("invariant broken", list(_finding_reasons(findings, "error", unseen=False))),
        ("cannot tell", list(_partly_seen(comparison, findings))),
        ("regression", [item.reason for item in complaints if item.red]),
        # a run that was cut short lacks cases and slices for that reason alone
        ("cannot tell", list(completeness.incomplete(comparison, rows, gate)) if stopped is None else []),
    )
    outcome, reasons = _first(clauses, interrupted=interrupted)
    return Verdict(
        outcome=outcome,
        sentences=wording.headline(outcome, reasons, comparison, warnings),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        rows=rows,
        waivers=statuses,
        fell=_fell(complaints),
        missed=dict(item.missed for item in complaints if item.missed is not None),
    )


def _fell(complaints: Sequence[_Complaint]) -> dict[tuple[str, str], str]:
    """Name the cases that got worse in the metrics that are complained of, each with the first such metric."""
    metrics: dict[tuple[str, str], str] = {}
    for delta in (item.row.delta for item in complaints if item.red and item.row is not None):
        for case in sorted(delta.fell):
            metrics.setdefault((delta.mode, case), delta.metric)
    return metrics


def _warnings(
    comparison: Comparison,
    findings: Sequence[Finding],
    rows: Sequence[GatedMetric],
    gate: Gate,
    started: str,
    complaints: Sequence[_Complaint],
) -> Iterator[Reason]:
    """Say what a reader must know of but the policy lets pass."""
    yield from _finding_reasons(findings, "warn")
    yield from _stale(comparison, gate, started)
    yield from completeness.drift(comparison, gate)
    yield from completeness.thinner(comparison, rows, gate)
    yield from completeness.unwatched(comparison)
    yield from behaviour.warnings(comparison)
    yield from _slice_warnings(rows, gate)
    yield from (item.reason for item in complaints if not item.red)


def _first(
    clauses: Sequence[tuple[VerdictKind, list[Reason]]], *, interrupted: bool
) -> tuple[VerdictKind, list[Reason]]:
    """Give the outcome of the first clause that applies, and every reason, those of that outcome first."""
    first: VerdictKind = next((name for name, reasons in clauses if reasons), "pass")
    # what else is wrong is told too, after the clause that decided
    reasons = [reason for name, group in clauses if name == first for reason in group]
    reasons += [reason for name, group in clauses if name != first for reason in group]
    return "interrupted" if interrupted and first == "cannot tell" else first, reasons


def _not_measured(comparison: Comparison, gate: Gate, stopped: str | None, *, first_run: bool) -> Iterator[Reason]:
    problems = list(_incomplete(comparison, gate, stopped))
    yield from problems
    if first_run:
        message = "this is a first run: the commit that would judge the change does not have raggate yet"
        yield Reason("first-run", message)
    elif comparison.baseline is None:
        yield Reason("no-baseline", wording.no_baseline(comparison.uncommitted, promotable=not problems))
    for cause in comparison.incomparable:
        yield Reason("incomparable", f"{cause}; {wording.instead(comparison)}")
    yield from completeness.other_denominators(comparison, gate)
    few = "" if stopped else completeness.little_overlap(comparison, gate, "the baseline")
    if few:
        yield Reason("little-overlap", few)


def _incomplete(comparison: Comparison, gate: Gate, stopped: str | None) -> Iterator[Reason]:
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
    if operations is not None and not short and completeness.failed_too_often(operations, gate):
        yield Reason("too-many-errors", wording.failures(operations, gate.max_error_rate))


def _partly_seen(comparison: Comparison, findings: Sequence[Finding]) -> Iterator[Reason]:
    yield from _finding_reasons(findings, "error", unseen=True)
    yield from completeness.smaller_index(comparison, same_chunker=True)


def _finding_reasons(findings: Sequence[Finding], level: str, *, unseen: bool | None = None) -> Iterator[Reason]:
    for finding in findings:
        if finding.level == level and unseen in {None, finding.unseen}:
            times = f" ({finding.count} times)" if finding.count > 1 else ""
            yield Reason(
                f"invariant-{finding.invariant}",
                f"“{wording.clause(finding.message)}” {finding.state}{times}: {finding.examples[0]}",
                invariant=finding.invariant,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complaint:
    """Something that got worse: red, unless a waiver or the policy makes it a warning."""

    reason: Reason
    red: bool = True
    waiver: WaiverStatus | None = None
    row: GatedMetric | None = None
    missed: tuple[tuple[str, str], str] | None = None


def _used(
    comparison: Comparison, complaints: Sequence[_Complaint], waived: Sequence[WaiverStatus], stopped: str | None
) -> tuple[WaiverStatus, ...]:
    """Say how each waiver stands after all; where nothing was compared, none counts as unused."""
    if comparison.baseline is None or comparison.incomparable or stopped is not None:
        return tuple(waived)
    return waivers.mark_unused(waived, {item.waiver for item in complaints if item.waiver})


def _complain(reason: Reason, waiver: WaiverStatus | None, row: GatedMetric | None = None) -> _Complaint:
    if waiver is None:
        return _Complaint(reason=reason, row=row)
    excused = replace(reason, code="waived", message=f"{reason.message}; {wording.waived(waiver)}")
    return _Complaint(reason=excused, red=False, waiver=waiver)


def _must_pass(comparison: Comparison, gate: Gate, waived: Sequence[WaiverStatus]) -> Iterator[_Complaint]:
    """Name the questions that must pass and do not, and those that a waiver leaves out of the means."""
    excused = set()
    for case in comparison.scorecard.cases:
        missed = lacking(case, gate.flip_at) if case.must_pass else None
        if missed is not None:
            lack, metric = missed
            message = f"must-pass question {case.case_id} ({case.mode}): {lack}"
            reason = Reason("must-pass", message, case_id=case.case_id, mode=case.mode, metric=metric)
            excused.add((case.mode, case.case_id))
            complaint = _complain(reason, waivers.for_case(waived, case.case_id, case.mode))
            yield replace(complaint, missed=((case.mode, case.case_id), metric)) if complaint.red else complaint
    for case, waiver, verb in waivers.left_out(waived, comparison, gate):
        if (case.mode, case.case_id) not in excused:
            excused.add((case.mode, case.case_id))
            message = f"question {case.case_id} ({case.mode}) {verb} and is left out of the means"
            yield _complain(Reason("worse", message, case_id=case.case_id, mode=case.mode), waiver)


def lacking(case: CaseScore, depth: int) -> tuple[str, str] | None:
    """Say what a question that must pass lacks, and by which metric that is seen; None when it passes."""
    if case.failure is not None:
        message = "it was not asked" if case.failure == "aborted" else f"the call failed ({case.failure})"
        return message, at_depth(HIT, depth)
    abstained = case.values.get(ABSTENTION_ACCURACY)
    if abstained is not None:
        return None if abstained == 1 else ("the API answered and should have abstained", ABSTENTION_ACCURACY)
    if case.values.get(FALSE_ABSTENTION_RATE) == 1:
        return "the API abstained", FALSE_ABSTENTION_RATE
    grouped = any(family(name) == RECALL_ALL and value is not None for name, value in case.values.items())
    rank = case.rank_all if grouped else case.rank
    if rank is not None and rank <= depth:
        return None
    nothing = "not all that it needs stands" if grouped else "nothing expected stands"
    return f"{nothing} within rank {depth}", at_depth(RECALL_ALL if grouped else HIT, depth)


def _excuse(row: GatedMetric, gate: Gate, waived: Sequence[WaiverStatus]) -> GatedMetric:
    """Mark a row that would be red but for a waiver."""
    counts = row.gated and (row.delta.slice == OVERALL or gate.slices == "fail")
    if not counts or row.status not in {"worse", "below floor"}:
        return row
    return replace(row, waived=waivers.for_metric(waived, row.delta.metric, row.delta.mode) is not None)


def _worse(rows: Sequence[GatedMetric], gate: Gate, waived: Sequence[WaiverStatus]) -> Iterator[_Complaint]:
    for row in rows:
        if row.delta.slice != OVERALL and gate.slices != "fail":
            continue
        waiver = waivers.for_metric(waived, row.delta.metric, row.delta.mode)
        if row.gated and row.status == "worse":
            yield _complain(Reason.of_row("worse", wording.change(row), row.delta), waiver, row)
        if row.gated and row.status == "below floor":
            yield _complain(Reason.of_row("below-floor", wording.beyond(row), row.delta), waiver, row)


def _creep(
    comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate, waived: Sequence[WaiverStatus]
) -> Iterator[_Complaint]:
    if comparison.baseline is None or gate.ratchet == "off":
        return
    for creep in ratchet.creeping(rows, comparison.baseline.accepted):
        reason = Reason.of_row("creep", wording.crept(creep.row, creep.total, creep.since), creep.row.delta)
        # what was given up before is no fault of a change that gives up nothing
        if gate.ratchet == "fail" and creep.adds:
            delta = creep.row.delta
            yield _complain(reason, waivers.for_metric(waived, delta.metric, delta.mode), creep.row)
        else:
            yield _Complaint(reason=reason, red=False)


def _left_over(waived: Sequence[WaiverStatus], *, resolved: bool) -> Iterator[_Complaint]:
    """Name the waivers that have expired, and those that excuse nothing."""
    for waiver in waived:
        if waiver.state == "expired":
            reason = Reason("waiver-expired", wording.expired(waiver, resolved=resolved))
            yield _Complaint(reason=reason, red=not resolved)
        elif waiver.state == "unused":
            yield _Complaint(reason=Reason("waiver-unused", wording.unused(waiver)), red=False)


def _stale(comparison: Comparison, gate: Gate, started: str) -> Iterator[Reason]:
    measured = comparison.baseline.provenance.get("measured") if comparison.baseline is not None else None
    age = dates.days_between(measured, started)
    if gate.stale_after_days is not None and age is not None and age > gate.stale_after_days:
        yield Reason("stale-baseline", wording.stale(dates.day(measured) or "", age, gate.stale_after_days))


def _slice_warnings(rows: Sequence[GatedMetric], gate: Gate) -> Iterator[Reason]:
    """One warning a slice, by its worst metric; a slice of all cases would only repeat what is said of them."""
    whole = {(row.delta.mode, row.delta.metric): row.delta.current.n for row in rows if row.delta.slice == OVERALL}
    slices: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in rows if gate.slices == "warn" else ():
        delta = row.delta
        part = delta.slice != OVERALL and delta.current.n != whole.get((delta.mode, delta.metric))
        if part and row.gated and row.status == "worse":
            slices.setdefault((delta.mode, delta.slice), []).append(row)
    for worse in slices.values():
        worst = max(worse, key=lambda row: abs(row.delta.delta or 0.0))
        more = f"; {counted(len(worse) - 1, 'other metric')} of it got worse too" if len(worse) > 1 else ""
        yield Reason.of_row("slice-worse", wording.change(worst) + more, worst.delta)
