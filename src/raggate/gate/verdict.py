"""A comparison and the policy -> the verdict with its reasons. Pure: no I/O, no clock, no randomness.

The clauses in order: what could not be measured (3), what the API must never do (4), rules that could not be checked
(3), what got worse (1), what is missing from an otherwise green comparison (3), pass (0). So a red run names its worst
cause first, and nothing that is incomplete can be green.

A run that asked a part of the questions is judged question by question: tolerances, floors and tests are about all
questions, and a mean of a few feigns what it cannot show. It is never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import caveats, complaints, completeness, judge_advice, noise, policies, reach, wording
from raggate.gate.complaints import Complaint
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Comparison, Delta, Finding
from raggate.models.golden import Selection
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import GatedMetric, Reason, Status, Verdict
from raggate.models.waiver import WaiverStatus

Clauses = Sequence[tuple[VerdictKind, list[Reason]]]
"""Outcomes, each with the reasons for it, in the order in which they decide."""

_LEFT_OUT = (
    "a partial run leaves out judges, extra questions of invariants, repeated questions and the preview of the "
    "change's own files"
)


class Circumstances(Struct, frozen=True, kw_only=True):
    """What has a say beside the comparison and the policy, as `Run` and `ReportContext` have it."""

    selection: Selection | None = None
    stopped: str | None = None
    interrupted: bool = False
    first_run: bool = False
    started: str = ""
    build: str = ""
    waived: Sequence[WaiverStatus] = ()
    waivers_resolved: bool = False


USUAL = Circumstances()
"""A whole run that nothing disturbed."""


def decide(comparison: Comparison, findings: Sequence[Finding], gate: Gate, around: Circumstances = USUAL) -> Verdict:
    """Decide on all questions, or on those of a part one by one."""
    if around.selection is not None:
        return _of_part(comparison, findings, gate, around, around.selection)
    rows, evidence = policies.classified(comparison, gate, around.waived)
    worse = complaints.find_complaints(comparison, rows, gate, around.waived, evidence.tests)
    statuses = around.waived if around.stopped is not None else complaints.used(comparison, worse, around.waived)
    worse += complaints.left_over(statuses, resolved=around.waivers_resolved)
    warnings = tuple(_warnings(comparison, findings, rows, gate, around, worse))
    clauses: Clauses = (
        ("cannot tell", list(_not_measured(comparison, findings, gate, around))),
        ("invariant broken", list(_findings(findings, "error", unseen=False))),
        ("cannot tell", list(_findings(findings, "error", unseen=True))),
        ("regression", [item.reason for item in worse if item.red]),
        # a run that was cut short lacks cases and slices for that reason alone
        ("cannot tell", [] if around.stopped is not None else list(completeness.incomplete(comparison, rows, gate))),
    )
    outcome, reasons = _first(clauses, "pass", interrupted=around.interrupted)
    return Verdict(
        outcome=outcome,
        sentences=wording.headline(outcome, reasons, comparison, warnings, evidence.tests),
        reasons=reasons,
        warnings=warnings,
        rows=rows,
        waivers=tuple(statuses),
        fell=complaints.fell(worse),
        missed=complaints.missed(worse),
        evidence=evidence,
    )


def _warnings(
    comparison: Comparison,
    findings: Sequence[Finding],
    rows: Sequence[GatedMetric],
    gate: Gate,
    around: Circumstances,
    worse: Sequence[Complaint],
) -> Iterator[Reason]:
    yield from caveats.in_process(around.build)
    yield from judge_advice.warnings(comparison, rows)
    let_pass = [item.reason for item in worse if not item.red]
    # first, so that no number of slices hides what is worse than allowed
    weighty = [reason for reason in let_pass if reason.code in {"few-cases", "no-evidence", "waived", "large-loss"}]
    yield from weighty
    yield from caveats.other_texts(comparison)
    yield from caveats.foreign_texts(comparison)
    yield from _findings(findings, "warn")
    yield from caveats.of_baseline(comparison, gate, around.started)
    yield from caveats.thinner(comparison, rows, gate)
    yield from (Reason("never-asked", message) for message in comparison.never_asked)
    yield from reach.warnings(comparison, gate)
    yield from caveats.of_calls(comparison)
    yield from noise.unsteady(comparison)
    yield from noise.inside(comparison, rows)
    yield from caveats.slices(rows) if gate.slices == "warn" else ()
    yield from (reason for reason in let_pass if reason not in weighty)


def _first(clauses: Clauses, otherwise: VerdictKind, *, interrupted: bool) -> tuple[VerdictKind, tuple[Reason, ...]]:
    first: VerdictKind = next((name for name, reasons in clauses if reasons), otherwise)
    reasons = [reason for name, group in clauses if name == first for reason in group]
    reasons += [reason for name, group in clauses if name != first for reason in group]
    return "interrupted" if interrupted and first == "cannot tell" else first, tuple(reasons)


def _not_measured(
    comparison: Comparison, findings: Sequence[Finding], gate: Gate, around: Circumstances
) -> Iterator[Reason]:
    problems = list(completeness.unmeasured(comparison.scorecard, comparison.not_asked, gate, around.stopped))
    if not problems and comparison.baseline is None:
        problems = list(reach.reasons(comparison))
    yield from problems
    if around.first_run:
        yield Reason(
            "first-run", "this is a first run: the commit that would judge the change does not have raggate yet"
        )
    elif comparison.baseline is None:
        broken = any(finding.level == "error" for finding in findings)
        yield Reason("no-baseline", wording.no_baseline(comparison, promotable=not problems, broken=broken))
    for cause in comparison.incomparable:
        yield Reason("incomparable", f"{cause}; {wording.instead(comparison)}")
    yield from completeness.other_denominators(comparison, gate)
    if not around.stopped and (few := completeness.little_overlap(comparison, "the baseline")):
        yield Reason("little-overlap", few)


def _findings(findings: Sequence[Finding], level: str, *, unseen: bool | None = None) -> Iterator[Reason]:
    """Yield a reason for each invariant of a level that does not hold; `unseen` picks those that were not seen."""
    for finding in findings:
        if finding.level == level and unseen in {None, finding.unseen}:
            what = wording.clause(finding.message)
            message = f"{f'“{what}” {finding.state}' if finding.unseen else what}: {finding.examples[0]}"
            yield Reason(f"invariant-{finding.invariant}", message, invariant=finding.invariant)


def _of_part(
    comparison: Comparison, findings: Sequence[Finding], gate: Gate, around: Circumstances, selection: Selection
) -> Verdict:
    rows = tuple(_row(delta, gate) for delta in comparison.deltas if delta.slice == OVERALL)
    fell = complaints.of_questions(comparison, rows)
    must = list(complaints.of_marked(comparison, gate, around.waived))
    missed = complaints.missed(must)
    worse = [item.reason for item in must if item.red]
    worse += [item.reason for key, item in fell.items() if key not in missed]
    unmeasured = completeness.unmeasured(comparison.scorecard, comparison.not_asked, gate, around.stopped)
    clauses: Clauses = (
        ("cannot tell", [*unmeasured, *_uncompared(comparison)]),
        ("invariant broken", list(_findings(findings, "error"))),
        ("failed in part", worse),
    )
    outcome, reasons = _first(clauses, "partial", interrupted=around.interrupted)
    let_pass = [item.reason for item in must if not item.red]
    return Verdict(
        outcome=outcome,
        sentences=wording.of_part(outcome, reasons, comparison, selection, let_pass),
        reasons=reasons,
        warnings=(*let_pass, *_findings(findings, "warn"), Reason("partial", _LEFT_OUT)),
        rows=rows,
        waivers=tuple(around.waived),
        fell={key: (item.reason.metric or "",) for key, item in fell.items()},
        missed=missed,
    )


def _uncompared(comparison: Comparison) -> Iterator[Reason]:
    if comparison.baseline is None:
        yield Reason("no-baseline", wording.no_baseline(comparison, promotable=False))
        return
    for cause in comparison.incomparable:
        yield Reason("incomparable", cause)
    if not comparison.incomparable and not comparison.compared:
        yield Reason("little-overlap", "all of these questions are new or changed since the baseline")


def _row(delta: Delta, gate: Gate) -> GatedMetric:
    wanted = gate.rule(delta.metric) is not None
    gated = wanted and delta.delta is not None
    status: Status = "not gated"
    if gated:
        status = "better" if delta.gain > EPSILON else "same" if delta.gain >= -EPSILON else "worse"
    elif wanted and not delta.baseline.n and delta.run_value.n:
        status = "no baseline"
    plain = replace(delta, interval=None, uncompared=None)
    return GatedMetric(delta=plain, status=status, allowed=None, floor=None, gated=gated)
