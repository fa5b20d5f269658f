"""A run becomes the baseline: what refuses it, what it changes, and where it came from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from raggate import baseline, compare, coverage, ratchet, wording
from raggate.config import Gate
from raggate.dates import day
from raggate.errors import CannotTell, UsageError
from raggate.escape import plain
from raggate.models import Run
from raggate.outcomes import (
    EPSILON,
    OVERALL,
    Baseline,
    Comparison,
    Delta,
    Finding,
    MetricValue,
    Proposal,
    Reason,
    Scorecard,
)

ALLOW = '--allow-regression --reason "..."'
"""What accepts a lower value, on a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a promotion.

    Attributes:
        reason: why, one line; recorded.
        by: who, one line; recorded.
        allow_regression: whether a gated metric may go down and cases may be gone. Needs a reason.
    """

    reason: str = ""
    by: str = ""
    allow_regression: bool = False

    @classmethod
    def of(cls, reason: str, by: str, *, allow_regression: bool) -> Terms:
        """Make the terms of what a person typed: text of one printable line each."""
        return cls(reason=plain(reason, limit=500), by=plain(by, limit=100), allow_regression=allow_regression)


def refuse_unmeasured(run: Run, scorecard: Scorecard, findings: Sequence[Finding], gate: Gate) -> None:
    """Refuse a run that must not become a baseline.

    Raises:
        CannotTell: when it was cut short, asked nothing, lacks cases, had too many failed calls or broke an invariant.
    """
    operations = scorecard.operations
    reasons = []
    if run.stopped is not None:
        reasons.append(f"it did not finish: {run.stopped}")
    modes = set(run.fingerprint.get("modes", ()))
    expected = {case.id for case in run.golden.cases if case.modes is None or modes & set(case.modes)}
    missing = expected - {case.case_id for case in scorecard.cases}
    if missing:
        reasons.append(f"{len(missing)} of {len(expected)} cases not asked")
    if operations is None or not operations.calls:
        reasons.append("no question was asked")
    elif coverage.failed_too_often(operations, gate):
        reasons.append(f"{operations.failed} of {operations.calls} calls failed")
    reasons += [
        f"invariant {item.invariant} does not hold: {item.examples[0]}" for item in findings if item.level == "error"
    ]
    if reasons:
        raise CannotTell(
            f"run {run.run_id} cannot become a baseline: {'; '.join(reasons)}", hint="Measure again, then promote."
        )


def provenance(run: Run) -> dict[str, Any]:
    """Say where a run came from. Only facts of the run itself, so that promoting it twice gives the same bytes."""
    return {
        "run_id": run.run_id,
        "measured": run.started,
        "raggate_version": run.config.get("raggate_version"),
        "checkout": run.config.get("checkout") or {},
        "against": run.config.get("against"),
    }


def proposal(
    run: Run,
    scorecard: Scorecard,
    present: Baseline | None,
    gate: Gate,
    terms: Terms,
    *,
    incomparable: tuple[str, ...] = (),
    unreadable: str = "",
) -> Proposal:
    """Say what the baseline will be once a run that was measured well enough is promoted, and what that changes.

    Args:
        run: the run, which `refuse_unmeasured` let pass.
        scorecard: its scores.
        present: the baseline it replaces, None when there is none.
        gate: the policy.
        terms: why, by whom, and whether a lower value is accepted.
        incomparable: why the two must not be compared; then what was accepted of each metric starts anew.
        unreadable: why the present baseline cannot be read, which was accepted.

    Raises:
        UsageError: for a baseline of another suite; for a gated metric that goes down by any amount, or cases that
            are gone, unless a regression is allowed and has a reason.
    """
    if present is not None and present.scorecard.suite not in {"", run.suite}:
        raise UsageError(
            f"{plain(present.source)} is the baseline of suite {plain(present.scorecard.suite)!r}, the run is of "
            f"{plain(run.suite)!r}"
        )
    # waivers excuse a change before the gate; they never make what is promoted look better
    comparison = compare.compare(run, scorecard, present, flip_at=gate.flip_at, incomparable=incomparable)
    rows = tuple(_rows(comparison, gate))
    down = [*_down(rows), *_gone(comparison)]
    if down and not (terms.allow_regression and terms.reason.strip()):
        raise UsageError(
            f"run {run.run_id} is worse than the present baseline: {'; '.join(reason.message for reason in down)}",
            hint=f"If that is accepted: {ALLOW}.",
        )
    known = _provenance(run, present, terms)
    accepted = ratchet.advance(
        comparison, gate, ratchet.Promotion(on=day(run.started) or "", reason=terms.reason, by=terms.by)
    )
    return Proposal(
        data=baseline.write(scorecard, known, accepted),
        provenance=known,
        comparison=comparison,
        rows=rows,
        reasons=(*down, *_starts_over(incomparable, unreadable)),
    )


def table(proposed: Proposal) -> list[str]:
    """Set the values before and after side by side, one line per gated metric, for a terminal."""
    names = [plain(wording.name(row)) for row in proposed.rows]
    width = max((len(name) for name in names), default=0)
    lines = []
    for name, row in zip(names, proposed.rows, strict=True):
        change = "" if row.delta is None else f"  {row.delta:+.4f}"
        lines.append(f"{name:{width}}  {_shown(row.baseline):>7} → {_shown(row.current):>7}{change}".rstrip())
    for kind, verb in (("broke", "lost"), ("fixed", "gained")):
        found = [f"{flip.case_id} ({flip.mode})" for flip in proposed.comparison.flips if flip.kind == kind]
        if found:
            lines.append(f"{wording.count(len(found), 'question')} {verb}: {plain(wording.some(found))}")
    said = (f"{'note' if item.code == 'starts-over' else 'accepted'}: {item.message}" for item in proposed.reasons)
    return [*lines, *(plain(line, limit=500) for line in said)]


def _provenance(run: Run, present: Baseline | None, terms: Terms) -> dict[str, Any]:
    said = {"reason": terms.reason or None, "promoted_by": terms.by or None}
    if present is None:
        return {**provenance(run), **said, "previous": None}
    if present.scorecard.run_id != run.run_id:
        return {**provenance(run), **said, "previous": present.scorecard.run_id}
    # promoted once more: what was said the first time stays, unless something else is said now
    kept = {key: value or present.provenance.get(key) for key, value in said.items()}
    return {**provenance(run), **kept, "previous": present.provenance.get("previous")}


def _rows(comparison: Comparison, gate: Gate) -> Iterator[Delta]:
    """Give the gated metrics over all cases; without a comparison both sides as they are, or the new one alone."""
    if comparison.deltas:
        yield from (
            row for row in comparison.deltas if row.slice == OVERALL and gate.rule(row.metric) and _measured(row)
        )
        return
    stored = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    for mode, slices in comparison.scorecard.slices.items():
        for metric, now in slices.get(OVERALL, {}).items():
            nothing = MetricValue(value=None, n=0, unscored=0, direction=now.direction)
            before = stored.get(mode, {}).get(OVERALL, {}).get(metric, nothing)
            row = Delta(mode=mode, slice=OVERALL, metric=metric, baseline=before, current=now, delta=None)
            if gate.rule(metric) and _measured(row):
                yield row


def _measured(row: Delta) -> bool:
    return row.baseline.n > 0 or row.current.n > 0


def _down(rows: Sequence[Delta]) -> Iterator[Reason]:
    for row in rows:
        vanished = row.baseline.n > 0 and row.current.n == 0
        # written so that a NaN, which no comparison is true of, counts as down
        if vanished or (row.delta is not None and not ratchet.gain(row) >= -EPSILON):
            yield Reason(
                code="metric-down", message=f"{wording.name(row)} {_shown(row.baseline)} → {_shown(row.current)}"
            )


def _gone(comparison: Comparison) -> Iterator[Reason]:
    removed = comparison.golden.removed
    if removed:
        yield Reason(code="removed-cases", message=wording.removed(removed))
    for message in coverage.fewer_cases(comparison):
        yield Reason(code="fewer-cases", message=message)


def _starts_over(incomparable: Sequence[str], unreadable: str) -> Iterator[Reason]:
    for cause in incomparable:
        yield Reason(code="starts-over", message=f"the present baseline cannot be compared with: {cause}")
    if unreadable:
        yield Reason(code="starts-over", message=f"the present baseline cannot be read: {unreadable}")


def _shown(value: MetricValue) -> str:
    return "–" if value.value is None else f"{value.value:.4f}"
