"""What a run would put in the place of the values of a baseline, and what of that is worse. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import completeness, judged_metrics, kept_from_judging, ratchet, slice_losses, wording
from raggate.models.comparison import Comparison, Delta
from raggate.models.promotion import MetricChange
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import Reason
from raggate.scoring import figures
from raggate.text.numbers import counted


def of(comparison: Comparison, gate: Gate) -> Iterator[MetricChange]:
    """Set what is gated or tested, over all cases of the present baseline, beside that of the run, in every mode."""
    stored = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    paired = {(row.mode, row.metric): row for row in comparison.deltas if row.slice == OVERALL}
    now = comparison.scorecard.slices
    for mode in dict.fromkeys((*stored, *now)):
        old, new = (side.get(mode, {}).get(OVERALL, {}) for side in (stored, now))
        for metric in dict.fromkeys((*old, *new)):
            if ratchet.rule_of(metric, gate) is not None:
                before = old.get(metric) or new[metric].without_cases()
                means = Delta.between((mode, OVERALL, metric), before, new.get(metric) or before.without_cases())
                row = _replacement(means, paired.get((mode, metric)), comparison, gate)
                yield replace(row, sunk=ratchet.sinks(row, comparison, gate))


def _replacement(means: Delta, paired: Delta | None, comparison: Comparison, gate: Gate) -> MetricChange:
    """Choose what decides: the shared cases, or the means where too few are shared to speak for the metric."""
    before, after = means.baseline, means.current
    whole = MetricChange(before=before, after=after, change=means, shared=False)
    present_baseline = comparison.baseline
    if paired is None or present_baseline is None:
        return whole
    if not present_baseline.paired:
        # means of another system are held against those of the run by its definitions
        return whole if paired.delta is None else replace(whole, change=paired)
    part = replace(whole, change=paired, shared=True)
    if paired.delta is None:
        return part if part.vanished and paired.baseline.n else whole
    few = completeness.little_overlap(comparison, gate) or paired.current.n < gate.min_overlap * before.n - EPSILON
    # a loss over the few that are shared is one all the same
    return whole if few and (whole.down or not part.down) else part


def needs_permission(run: Run, comparison: Comparison, gate: Gate) -> tuple[Reason, ...]:
    """Say what of a run would replace something better in the baseline, which promoting it needs permission for."""
    if comparison.baseline is None:
        return ()
    rows = [row for row in of(comparison, gate) if row.before.n or row.after.n]
    return tuple(worse(run, rows, comparison, gate))


def worse(run: Run, rows: Sequence[MetricChange], comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Say what of a run is worse than what stands in the baseline, or gone: metrics, slices, cases, what was told."""
    yield from _down(rows, comparison)
    yield from slice_losses.down(comparison, gate)
    yield from _gone(run, comparison, gate)


def _down(rows: Sequence[MetricChange], comparison: Comparison) -> Iterator[Reason]:
    for row in rows:
        if row.down:
            values = figures.both(row.change.metric, row.change.baseline.value, row.change.current.value)
            yield Reason("metric-down", f"{wording.name(row.change)} {values}{over(row, comparison)}")
        elif row.sunk:
            others, means = row.change.uncompared, figures.both(row.change.metric, row.before.value, row.after.value)
            why = f"; {wording.beside(row.change.metric, others)}" if others is not None and others.n else ""
            yield Reason("mean-down", f"{wording.name(row.change)} {means} over all questions of each side{why}")
    retired = {case for row in rows if row.change.uncompared is not None for case in row.change.uncompared.retired}
    if retired:
        names = wording.some(sorted(retired))
        yield Reason("retired-cases", f"{counted(len(retired), 'relabelled question')} left a gated metric: {names}")


def over(row: MetricChange, comparison: Comparison) -> str:
    """Say what a change is over where that is not simply the cases of both sides."""
    present_baseline = comparison.baseline
    if row.same_cases or present_baseline is None or row.after.n == 0 or row.before.n == 0:
        return ""
    if row.shared:
        shared = row.change.current.n or row.change.baseline.n
        return f" over {counted(shared, 'shared question')}"
    # of a baseline that cannot be compared with, or has no cases, that is said once and for all
    return ", means over different questions" if present_baseline.paired and not comparison.incomparable else ""


def _gone(run: Run, comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    removed = comparison.golden.removed
    if comparison.incomparable and comparison.baseline is not None:
        # nothing was compared, but cases have names
        known = {case.case_id for case in comparison.baseline.scorecard.cases}
        removed = tuple(sorted(known - {case.id for case in run.golden.cases}))
    if removed:
        yield Reason("removed-cases", wording.removed(removed))
    yield from completeness.fewer_cases(comparison)
    yield from completeness.less_told(comparison, gate)
    yield from kept_from_judging.reasons(comparison, gate)
    yield from judged_metrics.judged_by_others(comparison)


def unknown(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield why means of a baseline without cases are of other questions, so that no rise of them is one."""
    if comparison.baseline is not None and not comparison.baseline.paired:
        for cause in comparison.incomparable:
            yield Reason("incomparable", cause)
        yield from completeness.other_denominators(comparison, gate)
