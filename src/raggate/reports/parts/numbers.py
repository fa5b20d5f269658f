"""The line of numbers that every verdict has: the metrics people look for, how they moved, over how many questions."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.config.gate_settings import DEFAULT_COMPOSITE
from raggate.models.scorecard import OVERALL, MetricValue
from raggate.models.verdict import GatedMetric, Review
from raggate.reports import plots
from raggate.reports.parts import metric_words
from raggate.reports.parts.formatting import undecided
from raggate.reports.parts.reasons import first_cause, greeted
from raggate.scoring import figures
from raggate.scoring.metrics import METRICS
from raggate.text.numbers import counted

LEAST = 3
"""Versions from which on there is a course to see."""


def of_baselines(review: Review, mode: str, metric: str) -> str:
    """Return a bar for each of the last versions, the newest to the right; empty with fewer than three.

    They go back to the first version that asked other questions than this run, or that has no such number: what lies
    before is not to be compared.
    """
    values = list(_values(review, mode, metric))[::-1]
    return plots.bars(values) if len(values) >= LEAST else ""


def _values(review: Review, mode: str, metric: str) -> Iterator[float]:
    for point in reversed(review.context.trend):
        if point.kind != "baseline":
            continue
        value = point.values.get(mode, {}).get(metric)
        # a value that is no number is not at most anything either
        if point.questions != review.run.golden.hash or value is None or not abs(value) <= plots.MAX_VALUE:
            return
        yield value


MOST = 5
"""Metrics of a line."""

MODES = 4
"""Modes that have a line."""


def lines(review: Review) -> list[str]:
    """Return a line for each mode; none where what was measured says nothing of the change. Not escaped."""
    unsaid = first_cause(review) is not None and not greeted(review)
    if unsaid or undecided(review) or not review.scorecard.cases:
        return []
    several = review.scorecard.several_modes
    modes = [*review.scorecard.slices][:MODES]
    texts = [(mode, [*_figures(review, mode)]) for mode in modes]
    rows = [f"{f'{mode}: ' if several else ''}{' · '.join(parts)}" for mode, parts in texts if parts]
    if not rows:
        return []
    left = len(review.scorecard.slices) - len(modes)
    more = f", {counted(left, 'more mode')}" if left > 0 else ""
    return [*rows[:-1], f"{rows[-1]} · {_questions(review)}{more}"]


def _figures(review: Review, mode: str) -> Iterator[str]:
    rows = {
        row.delta.metric: row
        for row in review.verdict.rows
        if row.delta.mode == mode and row.delta.slice == OVERALL and row.delta.current.value is not None
    }
    values = review.scorecard.slices[mode].get(OVERALL, {})
    for place, metric in enumerate(_wanted(review, mode, rows)[:MOST]):
        if metric in rows:
            past = _past(review, rows[metric]) if place == 0 else ""
            yield f"{figures.title(metric)} {_moved(rows[metric])}{past}"
        elif metric in values and _measured(values[metric]):
            yield f"{figures.title(metric)} {figures.measured(metric, values[metric])}"


def _measured(value: MetricValue) -> bool:
    return value.value is not None and bool(value.n)


def _wanted(review: Review, mode: str, rows: dict[str, GatedMetric]) -> list[str]:
    """Return the metrics of the composite, where they rank, then those of judges that are gated."""
    evidence = review.verdict.evidence
    tests = evidence.tests if evidence is not None else ()
    composite = next((test.metrics for test in tests if test.mode == mode), DEFAULT_COMPOSITE)
    judged = [metric for metric, row in rows.items() if row.gated and metric in METRICS and METRICS[metric].judged]
    return [*composite, *(metric for metric in judged if metric not in composite)]


def _moved(row: GatedMetric) -> str:
    delta = row.delta
    if delta.baseline.value is None:
        return f"{figures.value(delta.metric, delta.current)} (no baseline)"
    # what was compared may be less than what was measured, and better
    whole = metric_words.whole_of(delta)
    value = "" if whole is None else f"; {figures.value(delta.metric, whole)} over all {whole.n}"
    return f"{figures.course(delta)} ({figures.change(delta)}{value})"


def _past(review: Review, row: GatedMetric) -> str:
    """Draw the versions of the baseline that a pass goes on from."""
    if review.verdict.outcome != "pass" or row.delta.baseline.value is None:
        return ""
    past = of_baselines(review, row.delta.mode, row.delta.metric)
    return f" {past}" if past else ""


def _questions(review: Review) -> str:
    asked = review.scorecard.questions
    compared = review.comparison.compared
    paired = review.comparison.baseline is not None and review.comparison.baseline.paired
    part = f", {compared} compared" if paired and compared < asked else ""
    # means are of the others, which a reader who divides by all of them would not get
    waived = _left_out(review) if paired else 0
    return f"{counted(asked, 'question')}{part}{f', {waived} waived' if waived else ''}"


def _left_out(review: Review) -> int:
    """Count the questions that are left out of the means as they are waived, also where they did not get worse."""
    names = {waiver.case for waiver in review.verdict.waivers if waiver.state != "expired"}
    return len({case.case_id for case in review.scorecard.cases if case.case_id in names}) if names else 0
