"""A comparison and the policy -> the verdict with its reasons. Pure: no I/O, no clock, no randomness.

Order of the clauses: what could not be measured (3), what the API must never do (4), a part of the index (3), what got
worse (1), what is missing from an otherwise green comparison (3), pass (0). So a red run names its worst cause first,
and nothing that is incomplete can be green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.gate import (
    baseline_age,
    caveats,
    complaints,
    completeness,
    headings,
    judge_advice,
    noise,
    policies,
    slice_losses,
    wording,
)
from raggate.gate.causes import index_change
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Comparison, Finding
from raggate.models.verdict import CompositeTest, GatedMetric, Reason, Verdict
from raggate.models.waiver import WaiverStatus

Clauses = Sequence[tuple[VerdictKind, list[Reason]]]
"""Outcomes, each with the reasons for it, in the order in which they decide."""


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
        stopped: why the run broke off, None when every question was asked.
        first_run: whether there is no baseline because the trusted commit does not have raggate yet.
        started: when the run started, ISO 8601; empty when that is not known.
        expired_waivers_resolved: whether the change itself removes or renews every waiver that has expired.
    """
    rows, evidence = policies.classified(comparison, gate, waived)
    worse = complaints.find_complaints(comparison, rows, gate, waived, evidence.tests)
    statuses = waived if stopped is not None else complaints.used(comparison, worse, waived)
    worse += complaints.left_over(statuses, resolved=expired_waivers_resolved)
    warnings = tuple(_warnings(comparison, findings, rows, gate, started, worse, evidence.tests))
    clauses = _clauses(comparison, rows, findings, worse, gate, stopped, first_run=first_run)
    outcome, reasons = first_clause(clauses, interrupted=interrupted)
    return Verdict(
        outcome=outcome,
        sentences=wording.headline(outcome, reasons, comparison, warnings, evidence.tests),
        reasons=tuple(reasons),
        warnings=warnings,
        rows=rows,
        waivers=tuple(statuses),
        fell=complaints.fell(worse),
        missed=dict(item.missed for item in worse if item.missed is not None),
        evidence=evidence,
    )


def _clauses(
    comparison: Comparison,
    rows: Sequence[GatedMetric],
    findings: Sequence[Finding],
    worse: Sequence[complaints.Complaint],
    gate: Gate,
    stopped: str | None,
    *,
    first_run: bool,
) -> Clauses:
    """Return what each clause has against a pass, in the order in which they decide."""
    return (
        ("cannot tell", list(_not_measured(comparison, findings, gate, stopped, first_run=first_run))),
        ("invariant broken", list(finding_reasons(findings, "error", unseen=False))),
        ("cannot tell", list(_partly_seen(comparison, findings))),
        ("regression", [item.reason for item in worse if item.red]),
        # a run that was cut short lacks cases and slices for that reason alone
        ("cannot tell", list(completeness.incomplete(comparison, rows, gate)) if stopped is None else []),
    )


def _warnings(
    comparison: Comparison,
    findings: Sequence[Finding],
    rows: Sequence[GatedMetric],
    gate: Gate,
    started: str,
    worse: Sequence[complaints.Complaint],
    tests: Sequence[CompositeTest],
) -> Iterator[Reason]:
    """Say what a reader must know of but the policy lets pass."""
    yield from judge_advice.warnings(comparison, rows)
    let_pass = [item for item in worse if not item.red]
    # first, so that no number of slices hides what is worse than allowed
    weighty = [item for item in let_pass if item.unproven or item.reason.code in {"waived", "large-loss"}]
    yield from (item.reason for item in weighty)
    yield from finding_reasons(findings, "warn")
    yield from baseline_age.reasons(comparison.baseline, started, gate.stale_after_days)
    yield from caveats.differences(comparison, gate)
    yield from caveats.thinner(comparison, rows, gate)
    yield from caveats.unwatched(comparison)
    yield from completeness.reasons(comparison) if comparison.baseline is not None else ()
    yield from headings.warnings(comparison)
    new = completeness.modes_without_past(comparison)
    yield from completeness.slice_reasons(comparison.scorecard, gate.min_cases, new)
    yield from caveats.warnings(comparison)
    yield from noise.inside(comparison, rows)
    yield from slice_losses.reasons(rows) if gate.slices == "warn" else ()
    yield from policies.fine_tolerances(rows, tests)
    yield from (item.reason for item in let_pass if item not in weighty)


def first_clause(
    clauses: Clauses, *, interrupted: bool, otherwise: VerdictKind = "pass"
) -> tuple[VerdictKind, list[Reason]]:
    """Return the outcome of the first clause that applies, and every reason, those of that outcome first."""
    first: VerdictKind = next((name for name, reasons in clauses if reasons), otherwise)
    # what else is wrong is told too, after the clause that decided
    reasons = [reason for name, group in clauses if name == first for reason in group]
    reasons += [reason for name, group in clauses if name != first for reason in group]
    return "interrupted" if interrupted and first == "cannot tell" else first, reasons


def _not_measured(
    comparison: Comparison, findings: Sequence[Finding], gate: Gate, stopped: str | None, *, first_run: bool
) -> Iterator[Reason]:
    problems = list(completeness.unmeasured(comparison, gate, stopped))
    if not problems and comparison.baseline is None:
        problems = list(completeness.reasons(comparison))
    yield from problems
    if first_run:
        message = "this is a first run: the commit that would judge the change does not have raggate yet"
        yield Reason("first-run", message)
    elif comparison.baseline is None:
        broken = any(finding.level == "error" for finding in findings)
        message = wording.no_baseline(
            comparison.uncommitted, promotable=not problems, broken=broken, keeps_none=comparison.keeps_none
        )
        yield Reason("no-baseline", message)
    for cause in comparison.incomparable:
        yield Reason("incomparable", f"{cause}; {wording.instead(comparison)}")
    yield from completeness.other_denominators(comparison, gate)
    few = "" if stopped else completeness.little_overlap(comparison, gate, "the baseline")
    if few:
        yield Reason("little-overlap", few)


def _partly_seen(comparison: Comparison, findings: Sequence[Finding]) -> Iterator[Reason]:
    yield from finding_reasons(findings, "error", unseen=True)
    yield from index_change.chunks(comparison, same_chunker=True)


def finding_reasons(findings: Sequence[Finding], level: str, *, unseen: bool | None = None) -> Iterator[Reason]:
    """A reason for each invariant of a level that does not hold; only of those seen or unseen, if that is said."""
    for finding in findings:
        if finding.level == level and unseen in {None, finding.unseen}:
            times = f" ({finding.count} times)" if finding.count > 1 else ""
            yield Reason(
                f"invariant-{finding.invariant}",
                f"“{wording.clause(finding.message)}” {finding.state}{times}: {finding.examples[0]}",
                invariant=finding.invariant,
            )
