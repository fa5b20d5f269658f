"""A run that asked a part of the golden set -> what it says of the questions it asked, one by one. Pure.

A part says nothing of the suite: tolerances, floors and tests are about all questions, and a mean of a few feigns what
it cannot show. So each question that was asked is held against its own past, and a partial run is never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import complaints, completeness, verdict, wording
from raggate.models.answer import VerdictKind
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta, Finding
from raggate.models.golden import Selection
from raggate.models.metric_names import family
from raggate.models.provenance import cutoffs_of
from raggate.models.scorecard import EPSILON, OVERALL, Scorecard
from raggate.models.verdict import GatedMetric, Reason, Status, Verdict
from raggate.models.waiver import WaiverStatus
from raggate.scoring import figures
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import means
from raggate.text.numbers import counted

NO_QUESTIONS = "the baseline has no single questions, and a part of them cannot be held against means of all"
"""Why a partial run cannot be compared with a bare metrics file."""

_WITHOUT_PROBES = (
    "invariants that ask questions of their own, asking again for noise, judges and the preview of the change's own "
    "files are left out of a partial run"
)


def without_slices(scorecard: Scorecard) -> Scorecard:
    """Leave out every slice but that of all questions: of a part, it is what was chosen."""
    slices = {mode: {OVERALL: values[OVERALL]} for mode, values in scorecard.slices.items() if OVERALL in values}
    counts = {mode: {OVERALL: values.get(OVERALL, 0)} for mode, values in scorecard.counts.items()}
    return replace(scorecard, slices=slices, counts=counts)


def of_these(baseline: Baseline, selection: Selection, scorecard: Scorecard) -> Baseline:
    """Return a baseline as if it had asked these questions alone, without grades, which a partial run has not."""
    asked, modes = frozenset(selection.asked), scorecard.slices.keys()
    kept = [case for case in baseline.scorecard.cases if case.case_id in asked and case.mode in modes]
    cases = tuple(
        replace(case, values={name: value for name, value in case.values.items() if not _graded(name)}) for case in kept
    )
    by_mode = {mode: [case for case in cases if case.mode == mode] for mode in dict.fromkeys(c.mode for c in cases)}
    cutoffs = cutoffs_of(scorecard.fingerprint)
    slices = {mode: {OVERALL: means(mode_cases, cutoffs)} for mode, mode_cases in by_mode.items()}
    counts = {mode: {OVERALL: len(mode_cases)} for mode, mode_cases in by_mode.items()}
    return replace(baseline, scorecard=replace(baseline.scorecard, cases=cases, slices=slices, counts=counts))


def _graded(name: str) -> bool:
    metric = METRICS.get(name) or METRICS.get(family(name))
    return metric is not None and bool(metric.judged)


def decide(
    comparison: Comparison,
    findings: Sequence[Finding],
    gate: Gate,
    selection: Selection,
    *,
    stopped: str | None = None,
    interrupted: bool = False,
    waived: Sequence[WaiverStatus] = (),
) -> Verdict:
    """Decide on the questions that were asked, each by itself. It is never a pass.

    Args:
        comparison: the run held against what the baseline has of these questions.
        gate: the policy, of which tolerances and limits have no say here.
        stopped: why the run broke off, None when every chosen question was asked.
    """
    rows = tuple(_row(delta, gate) for delta in comparison.deltas if delta.slice == OVERALL)
    fell = _fell(comparison, rows)
    must = list(complaints.must_pass(comparison, gate, waived))
    missed = dict(item.missed for item in must if item.missed is not None)
    worse = [item.reason for item in must if item.red]
    worse += [_worse(comparison, key, metric) for key, metric in fell.items() if key not in missed]
    clauses: verdict.Clauses = (
        ("cannot tell", [*completeness.unmeasured(comparison, gate, stopped), *_uncompared(comparison)]),
        ("invariant broken", list(verdict.finding_reasons(findings, "error"))),
        ("failed in part", worse),
    )
    outcome, reasons = verdict.first_clause(clauses, interrupted=interrupted, otherwise="partial")
    excused = list(dict.fromkeys(str(item.reason.case_id) for item in must if item.waiver is not None))
    return Verdict(
        outcome=outcome,
        sentences=_sentences(outcome, reasons, comparison, selection, excused),
        reasons=tuple(reasons),
        warnings=tuple(_warnings(comparison, findings, must)),
        rows=rows,
        waivers=tuple(waived),
        fell={key: (metric,) for key, metric in fell.items()},
        missed=missed,
    )


def _warnings(
    comparison: Comparison, findings: Sequence[Finding], must: Sequence[complaints.Complaint]
) -> Iterator[Reason]:
    """Say what a waiver lets pass, what is not met without deciding, and what a part leaves out."""
    yield from (item.reason for item in must if not item.red)
    yield from verdict.finding_reasons(findings, "warn")
    yield Reason("partial", _WITHOUT_PROBES)


def _uncompared(comparison: Comparison) -> Iterator[Reason]:
    """Yield why nothing could be compared."""
    if comparison.baseline is None:
        message = wording.no_baseline(comparison.uncommitted, promotable=False, keeps_none=comparison.keeps_none)
        yield Reason("no-baseline", message)
        return
    for cause in comparison.incomparable:
        yield Reason("incomparable", cause)
    if not comparison.incomparable and not comparison.compared:
        yield Reason("nothing-compared", "none of these questions is in the baseline as it is asked now")


def _row(delta: Delta, gate: Gate) -> GatedMetric:
    """Return which way a mean moved, without tolerance, limit, interval or stand-ins."""
    wanted = gate.rule(delta.metric) is not None
    gated = wanted and delta.delta is not None
    status: Status = "not gated"
    if gated:
        status = "better" if delta.gain > EPSILON else "same" if delta.gain >= -EPSILON else "worse"
    elif wanted and not delta.baseline.n and delta.run_value.n:
        status = "no baseline"
    plain = replace(delta, interval=None, uncompared=None)
    return GatedMetric(delta=plain, status=status, allowed=None, floor=None, gated=gated)


def _fell(comparison: Comparison, rows: Sequence[GatedMetric]) -> dict[tuple[str, str], str]:
    """Name the questions that got worse in a gated metric, or broke, each with the first such metric."""
    others = {*comparison.golden.added, *comparison.golden.relabelled}
    fell = {(flip.mode, flip.case_id): flip.metric for flip in comparison.broke if not flip.waived}
    for row in rows:
        for case in sorted(row.delta.fell) if row.gated else ():
            if case not in others:
                fell.setdefault((row.delta.mode, case), row.delta.metric)
    return fell


def _worse(comparison: Comparison, key: tuple[str, str], metric: str) -> Reason:
    mode, case = key
    sides = [None if comparison.baseline is None else comparison.baseline.scorecard, comparison.scorecard]
    values = [
        next((score.values.get(metric) for score in side.cases if (score.mode, score.case_id) == key), None)
        for side in sides
        if side is not None
    ]
    change = figures.both(metric, *values) if len(values) == 2 else figures.amount(metric, values[0])
    return Reason(
        "question-worse", f"question {case} ({mode}): {metric} {change}", case_id=case, mode=mode, metric=metric
    )


def _failed(reasons: Sequence[Reason], comparison: Comparison) -> Iterator[str]:
    """Name the questions that broke, got worse otherwise, or must pass and do not."""
    broken = {flip.case_id for flip in comparison.broke if not flip.waived}
    by_code = {
        code: list(dict.fromkeys(str(reason.case_id) for reason in reasons if reason.code == code))
        for code in ("question-worse", "must-pass")
    }
    broke = [case for case in by_code["question-worse"] if case in broken]
    fell = [case for case in by_code["question-worse"] if case not in broken]
    for cases, noun, verb in (
        (broke, "question", "broke"),
        (fell, "question", "got worse"),
        (by_code["must-pass"], "must-pass question", "not passed"),
    ):
        if cases:
            yield f"{counted(len(cases), noun)} {verb}: {wording.some(cases)}."


def _sentences(
    outcome: VerdictKind,
    reasons: Sequence[Reason],
    comparison: Comparison,
    selection: Selection,
    excused: Sequence[str],
) -> tuple[str, ...]:
    """Say first that it is a part, then what became of it; `excused` are questions whose loss a waiver lets pass."""
    first = f"P{selection.sentence[1:]}."
    if outcome == "partial":
        left = len(selection.asked) - comparison.compared
        new = f" ({left} of them not in the baseline as asked now)" if left > 0 else ""
        but = f" but what is waived ({wording.some(excused)})" if excused else ""
        return (first, f"Nothing asked got worse{but}{new}; that is no verdict on the suite.")
    if outcome == "failed in part":
        return (first, *_failed(reasons, comparison))
    return (first, wording.impossible(outcome, reasons[0]))
