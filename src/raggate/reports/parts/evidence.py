"""What the questions show together, and what so many of them can show: in one or two sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.config.judge_settings import IN_POINTS
from raggate.models.metric_names import UNJUDGED, at_depth, depth
from raggate.models.scorecard import EPSILON, OVERALL, Scorecard
from raggate.models.verdict import CompositeEvidence, CompositeTest, Review
from raggate.reports.parts.budget import Section
from raggate.reports.parts.reasons import greeted
from raggate.scoring.figures import title
from raggate.scoring.repeats import Repeated, noisy
from raggate.text.escape import markdown as safe
from raggate.text.numbers import chance, counted, often, percent, points, rounded, setting, written
from raggate.text.quote import enumerated


def sentence(scorecard: Scorecard) -> str:
    """Which share of the passages at each cut-off is unjudged; nothing where all are judged or none came back."""
    parts = [part for mode in scorecard.slices if (part := _of_mode(scorecard, mode))]
    if not parts:
        return ""
    return f"{'; '.join(parts)}: passages that nobody judged count as misses."


def _of_mode(scorecard: Scorecard, mode: str) -> str:
    values = scorecard.slices[mode].get(OVERALL, {})
    depths = sorted(k for metric in values if (k := depth(metric)) and metric == at_depth(UNJUDGED, k))
    shares = {k: share for k in depths if (share := values[at_depth(UNJUDGED, k)].value) is not None}
    if not any(shares.values()):
        return ""
    several = f"{mode} " if scorecard.several_modes else ""
    return several + " · ".join(f"unjudged@{k} {percent(share)}" for k, share in shares.items())


def section(review: Review) -> Section:
    """Write it in small print; a page that is short of room keeps the last sentence."""
    # below a table of metrics, which one that could not be compared does not have
    sentences = lines_of(review) if review.verdict.rows or greeted(review) else ()
    lines = [safe(line, limit=500, middle=True) for line in sentences]
    variants = tuple("<sub>" + "<br>\n".join(shown) + "</sub>" for shown in (lines, lines[-1:]) if shown)
    return Section(name="what the questions show together", rank=3, variants=variants)


def lines_of(review: Review) -> list[str]:
    """Return how far the lists are judged, and then what the questions show together."""
    return [*filter(None, [sentence(review.scorecard)]), *sentences(review)]


def sentences(review: Review) -> list[str]:
    """How the questions moved together, and then which drop can pass unseen; nothing where nothing is compared."""
    evidence, baseline = review.verdict.evidence, review.comparison.baseline
    if evidence is None or baseline is None or review.comparison.incomparable:
        return []
    if not evidence.tests:
        return [_untested(paired=baseline.paired)]
    return [*_moves(evidence, review), _resolution(evidence, review)]


def _untested(*, paired: bool) -> str:
    why = (
        "No metric of gate.composite, waived ones aside, applies to a question that is the same on both sides"
        if paired
        else "The baseline has no individual questions to compare"
    )
    return f"{why}, so tolerances alone decide."


def _moves(evidence: CompositeEvidence, review: Review) -> Iterator[str]:
    several = len(evidence.tests) > 1
    for test in evidence.tests:
        if test.lost or test.gained:
            mode = f" ({test.mode})" if several else ""
            adjusted = f", adjusted for {len(evidence.tests)} modes" if several else ""
            means = f"{enumerated([*map(title, test.parts)])} together{mode}: {_means(test)}"
            result = f"{chance(test.adjusted)}{adjusted} ({test.test})"
            yield f"{means}, {_lost(test)}{_no_noise_seen(review)}. That questions like these got worse: {result}."


def _lost(test: CompositeTest) -> str:
    """Return how many questions got worse and better, and in which metrics, where not in all of them."""
    carried = sorted((part for part in test.parts if test.parts[part]), key=lambda part: -test.parts[part])
    several = test.lost and {*test.parts.values()} - {test.lost}
    named = ", ".join(f"{title(part)} in {test.parts[part]}" for part in carried)
    parts = f" ({named})" if several else ""
    return f"{test.lost} of {counted(test.cases, 'question')} worse{parts}, {test.gained} better"


def _means(test: CompositeTest) -> str:
    return f"{written(test.before, beside=test.after)} → {written(test.after, beside=test.before)}"


def _no_noise_seen(review: Review) -> str:
    """Say of how many questions it was seen that the API ranks them alike each time, where none is known otherwise."""
    fingerprint, baseline = review.scorecard.fingerprint, review.comparison.baseline
    repeated = Repeated.of(fingerprint)
    before = baseline.scorecard.fingerprint if baseline is not None else {}
    if repeated is None or not repeated.compared or noisy(fingerprint) or noisy(before):
        return ""
    cases = review.scorecard.cases
    what = "question" if len({case.mode for case in cases}) == 1 else "answer"
    share = f"{repeated.compared} of {counted(len(cases), what)}"
    return f"; no noise seen, as {share} asked {often(repeated.times)} ranked alike"


def _resolution(evidence: CompositeEvidence, review: Review) -> str:
    worst = max(evidence.tests, key=lambda test: test.visible_drop)
    if any(test.fewest_losses is None for test in evidence.tests):
        few = min(evidence.tests, key=lambda test: test.units)
        mode = f" ({few.mode})" if len(evidence.tests) > 1 else ""
        blind = "no loss can be distinguished from chance, so only an exceeded tolerance shows a loss"
        return f"With {_units(few)}{mode} {blind}."
    rows = [row for row in review.verdict.rows if row.gated and row.delta.slice == OVERALL]
    # grades have a scale of their own
    allowed = [row.allowed for row in rows if row.allowed is not None and row.delta.metric not in IN_POINTS]
    finest = min(allowed, default=1.0)
    tolerance = f"{setting(rounded(100 * finest, 10))} {'point' if finest == 0.01 else 'points'}"
    finer = f", and the tolerance of {tolerance} is finer" if finest < worst.visible_drop - EPSILON else ""
    return f"With {_units(worst)} a drop under {points(worst.visible_drop)} can pass unseen{finer}."


def _units(test: CompositeTest) -> str:
    groups = f" in {counted(test.units, 'group')}" if test.units != test.cases else ""
    unlike = f", the largest of {test.largest}," if groups and test.largest * test.units > test.cases else ""
    return counted(test.cases, "question") + groups + unlike
