"""What got worse, clause by clause: red, unless a waiver or the policy makes it a warning. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import policies, ratchet, waivers, wording
from raggate.gate.flips import lacking
from raggate.gate.judge_advice import JUDGED
from raggate.models.comparison import Comparison
from raggate.models.scorecard import OVERALL, Key, by_question
from raggate.models.verdict import CompositeTest, GatedMetric, Reason
from raggate.models.waiver import WaiverStatus
from raggate.scoring import figures


class Complaint(Struct, frozen=True, kw_only=True):
    """Something that got worse: red, unless a waiver or the policy makes it a warning.

    It is about a `row` that is red, or a `test`.
    """

    reason: Reason
    red: bool = True
    waiver: WaiverStatus | None = None
    row: GatedMetric | None = None
    test: CompositeTest | None = None


def find_complaints(
    comparison: Comparison,
    rows: Sequence[GatedMetric],
    gate: Gate,
    waived: Sequence[WaiverStatus],
    tests: Sequence[CompositeTest],
) -> list[Complaint]:
    """Return all that got worse in a whole run, in the order of reports."""
    clauses = [
        *of_marked(comparison, gate, waived),
        *_metrics(rows, gate, waived, tests),
        *_together(comparison, gate, waived, tests),
        *_creep(comparison, rows, gate, waived),
    ]
    settled = [item.reason for item in clauses if item.red or item.reason.code == "no-evidence"]
    modes = frozenset(reason.mode or "" for reason in settled if reason.code != "must-pass")
    large = list(policies.large_losses(tests, frozenset(item.reason.mode or "" for item in clauses if item.red)))
    suspicions = policies.suspicions(tests, modes | {reason.mode or "" for reason in large})
    return [*clauses, *(Complaint(reason=reason, red=False) for reason in (*large, *suspicions))]


def of_questions(comparison: Comparison, rows: Sequence[GatedMetric]) -> dict[Key, Complaint]:
    """Return the questions that got worse in a gated metric, or broke, each with the first such metric.

    A part of the suite is judged by these alone.
    """
    others = {*comparison.golden.added, *comparison.golden.relabelled}
    fell = {(flip.mode, flip.case_id): flip.metric for flip in comparison.broke if not flip.waived}
    for row in rows:
        for case in sorted(row.delta.fell) if row.gated else ():
            if case not in others:
                fell.setdefault((row.delta.mode, case), row.delta.metric)
    before = by_question(comparison.baseline.scorecard.cases) if comparison.baseline is not None else {}
    now = by_question(comparison.scorecard.cases)
    complaints = {}
    for key, metric in fell.items():
        mode, case = key
        values = figures.both(metric, *(side[key].values.get(metric) for side in (before, now)))
        message = f"question {case} ({mode}): {figures.title(metric)} {values}"
        complaints[key] = Complaint(reason=Reason("worse", message, case_id=case, mode=mode, metric=metric))
    return complaints


def fell(complaints: Sequence[Complaint]) -> dict[Key, tuple[str, ...]]:
    """Return the questions that got worse in the metrics that are complained of, each with those metrics.

    Metrics that judges give are listed only if there is no other: what is asked again has no grades.
    """
    metrics: dict[Key, dict[str, None]] = {}
    for row in (item.row.delta for item in complaints if item.red and item.row is not None):
        for case in sorted(row.fell):
            metrics.setdefault((row.mode, case), {})[row.metric] = None
    for test in (item.test for item in complaints if item.red and item.test is not None):
        for case, names in sorted(test.fell.items()):
            metrics.setdefault((test.mode, case), {}).update(dict.fromkeys(names))
    return {key: tuple(name for name in names if name not in JUDGED) or tuple(names) for key, names in metrics.items()}


def missed(complaints: Sequence[Complaint]) -> dict[Key, str]:
    """Return the questions that must pass and do not, each with a metric that shows it; without those waived."""
    reasons = [item.reason for item in complaints if item.reason.code == "must-pass"]
    return {(reason.mode or "", reason.case_id or ""): reason.metric or "" for reason in reasons}


def used(
    comparison: Comparison, complaints: Sequence[Complaint], waived: Sequence[WaiverStatus]
) -> tuple[WaiverStatus, ...]:
    """Return how each waiver stands after all; if nothing was compared, none counts as unused."""
    if comparison.baseline is None or comparison.incomparable:
        return tuple(waived)
    known = {item.waiver for item in complaints}
    idle = (waiver.state == "active" and waiver not in known for waiver in waived)
    return tuple(replace(waiver, state="unused") if left else waiver for waiver, left in zip(waived, idle, strict=True))


def _complain(reason: Reason, waiver: WaiverStatus | None, row: GatedMetric | None = None) -> Complaint:
    if waiver is None:
        return Complaint(reason=reason, row=row)
    excused = replace(reason, code="waived", message=f"{reason.message}; {wording.waived(waiver)}")
    return Complaint(reason=excused, red=False, waiver=waiver)


def of_marked(comparison: Comparison, gate: Gate, waived: Sequence[WaiverStatus]) -> Iterator[Complaint]:
    """Yield the questions that must pass and do not, and the others that only a waiver keeps from counting."""
    missing = set()
    for case in comparison.scorecard.cases:
        lack = lacking(case) if case.must_pass else None
        if lack is not None:
            missing.add((case.mode, case.case_id))
            message = f"must-pass question {case.case_id} ({case.mode}): {lack[0]}"
            reason = Reason("must-pass", message, case_id=case.case_id, mode=case.mode, metric=lack[1])
            yield _complain(reason, waivers.for_case(waived, case.case_id, case.mode))
    for case, waiver, verb in waivers.left_out(waived, comparison, gate):
        if (case.mode, case.case_id) not in missing:
            message = f"question {case.case_id} ({case.mode}) {verb} and is left out of the means"
            yield _complain(Reason("worse", message, case_id=case.case_id, mode=case.mode), waiver)


def _metrics(
    rows: Sequence[GatedMetric], gate: Gate, waived: Sequence[WaiverStatus], tests: Sequence[CompositeTest]
) -> Iterator[Complaint]:
    for row in rows:
        if row.delta.slice != OVERALL and gate.slices != "fail":
            continue
        waiver = waivers.for_metric(waived, row.delta.metric, row.delta.mode)
        if row.unproven and waiver is None:
            yield Complaint(reason=policies.unproven_reason(row, gate, tests), red=False)
        elif row.gated and row.status == "worse":
            yield _complain(Reason.of_row("worse", wording.change(row), row.delta), waiver, row)
        if row.gated and row.status == "below floor":
            yield _complain(Reason.of_row("below-floor", wording.beyond(row), row.delta), waiver, row)


def _together(
    comparison: Comparison, gate: Gate, waived: Sequence[WaiverStatus], tests: Sequence[CompositeTest]
) -> Iterator[Complaint]:
    """Yield the modes whose questions got worse on the whole, and those where a waived metric alone makes that so."""
    modes = {test.mode for test in tests if policies.red(test, gate)}
    for test in tests:
        if test.mode in modes:
            yield Complaint(reason=policies.composite_reason(test), test=test)
    if not any(waiver.metric in gate.composite for waiver in waived):
        return
    for test in policies.composites(comparison, gate, waived, whole=True):
        waiver = next(filter(None, (waivers.for_metric(waived, name, test.mode) for name in test.metrics)), None)
        if waiver is not None and test.mode not in modes and policies.red(test, gate):
            yield _complain(policies.composite_reason(test), waiver)


def _creep(
    comparison: Comparison, rows: Sequence[GatedMetric], gate: Gate, waived: Sequence[WaiverStatus]
) -> Iterator[Complaint]:
    if comparison.baseline is None or gate.ratchet == "off":
        return
    for creep in ratchet.creeping(rows, comparison.baseline.accepted, gate):
        delta = creep.row.delta
        reason = Reason.of_row("creep", wording.crept(creep.row, creep.total, creep.since), delta)
        # what was given up before is no fault of a change that gives up nothing
        if gate.ratchet == "fail" and creep.adds:
            yield _complain(reason, waivers.for_metric(waived, delta.metric, delta.mode), creep.row)
        else:
            yield Complaint(reason=reason, red=False)


def left_over(waived: Sequence[WaiverStatus], *, resolved: bool) -> Iterator[Complaint]:
    """Yield the waivers that have expired, and those that excuse nothing."""
    for waiver in waived:
        if waiver.state == "expired":
            reason = Reason("waiver-expired", wording.expired(waiver, resolved=resolved))
            yield Complaint(reason=reason, red=not resolved)
        elif waiver.state == "unused":
            yield Complaint(reason=Reason("waiver-unused", wording.unused(waiver)), red=False)
