"""What every page begins with: heading, verdict, numbers, notes, earlier pushes, reasons and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.base.numbers import counted
from raggate.config.gate_settings import DEFAULT_COMPOSITE
from raggate.models.metric_names import CONTEXT_CHARS, at_depth
from raggate.models.provenance import cutoffs_of
from raggate.models.publication import Publication
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import GatedMetric, Review
from raggate.models.waiver import WaiverStatus
from raggate.reports.parts import formatting, metric_tables, reasons
from raggate.reports.parts.document import (
    KEPT,
    Alert,
    Bullets,
    Line,
    Paragraph,
    Part,
    Span,
    bold,
    bulleted,
    commit,
    line,
)
from raggate.scoring import figures
from raggate.scoring.metrics import METRICS

MOST = 5
"""Metrics of a line, before the context."""
MODES = 4
"""Modes that have a line."""
SHOWN_PUSHES = 10
SIGNS = {
    "pass": "✅",
    "regression": "❌",
    "cannot tell": "❔",
    "invariant broken": "⛔",
    "interrupted": "⏹️",
    "not run": "➖",
    "partial": "🔎",
    "failed in part": "❌",
    "usage error": "🔧",
    "internal error": "💥",
    "first run": "👋",
}
"""Verdict -> sign. It never stands without the word."""
_ALERTS = {
    **dict.fromkeys(("pass", "first run", "not run"), "NOTE"),
    **dict.fromkeys(("regression", "invariant broken", "internal error"), "CAUTION"),
}
_RELAYED = (
    "Measured by an untrusted run, and judged here by this repository's own files. Do not rely on the report and the "
    "verdict.json of that run."
)
_WAIVED = {"expired": "⛔ expired", "active": "active", "unused": "⚠️ unused"}
_SOON_DAYS = 14


def sign(verdict: str) -> str:
    """Return the sign of a verdict, known or not."""
    return SIGNS.get(verdict, "❔")


def head(verdict: str, suite: str, lines: Sequence[Line], *, heading: str = "") -> Part:
    """Return heading and alert; `heading` is shown in place of the verdict's name."""
    of_suite = f" (suite {suite})" if suite else ""
    title = f"{sign(verdict)} raggate: {heading or verdict}{of_suite}"
    alert = Alert(_ALERTS.get(verdict, "WARNING"), tuple(lines))
    return Part(name="verdict", title=title, blocks=(alert,), rank=KEPT, level=2)


def opening(review: Review) -> Part:
    """Return the heading, the likely cause, the verdict and the numbers."""
    verdict, suite = review.verdict, review.run.suite
    # before any good news: that only a part was asked, and what merging breaks
    before = review.verdict.sentences[:1] if review.run.selection is not None else ()
    before += tuple(f"⛔ {reasons.sentence(reason)}" for reason in reasons.merging(review))
    if review.run.golden.part_of is not None:
        before += (f"This suite asks {review.run.golden.asked}. Its result says nothing about the others.",)
    lines = [
        *(line(Span(text, "bold", 600)) for text in before),
        *verdict_lines(review),
        *(line(text) for text in number_lines(review)),
    ]
    return head("first run" if greeting(review) else verdict.outcome, suite, lines, heading=heading(review))


def greeting(review: Review) -> str:
    """Return what stands in the place of the verdict where only a baseline is missing; empty elsewhere."""
    if not reasons.greeted(review):
        return ""
    return "first run" if introduction(review) else "cannot tell without a baseline"


def introduction(review: Review) -> tuple[str, ...]:
    """Return what is said of a first run in place of its verdict; nothing of others."""
    if not reasons.greeted(review) or not review.context.first_run:
        return ()
    brings = review.context.brings
    compared = f"a baseline. Compared with that, this run is: {brings}." if brings else "no baseline."
    return "This pull request introduces raggate.", f"It brings {compared}"


def heading(review: Review) -> str:
    """Return what a page is called in place of its verdict: a greeting, or how many questions broke; mostly empty."""
    broke = len({flip.case_id for flip in review.comparison.broke})
    lost = f"{broke} of {counted(review.scorecard.questions, 'question')} broke" if broke else ""
    return greeting(review) or (lost if review.verdict.outcome == "regression" else "")


def verdict_lines(review: Review) -> list[Line]:
    """Return the verdict in sentences, the first of them bold, and the likely cause: first, where one is known."""
    if told := introduction(review):
        return [line(bold(told[0]), f" {' '.join(told[1:])}")]
    likely = reasons.likely(review)
    cause = reasons.first_cause(review)
    if cause is not None:
        said = [line(Span(reasons.sentence(cause), "bold", 600))]
    else:
        first, *others = review.verdict.sentences[1:] if review.run.selection is not None else review.verdict.sentences
        merging = "⛔ " if formatting.breaks_alone(review) else ""
        others = [*others, *filter(None, [reasons.total(review)])]
        said = [line(Span(f"{merging}{first}", "bold", 600), Span(f" {' '.join(others)}" if others else "", limit=600))]
    if likely.startswith(reasons.NAMED):
        return [line(Span(likely, "bold", 600)), *said]
    return [*said, *(line(Span(text, limit=600)) for text in (likely or reasons.changed(review),) if text)]


def number_lines(review: Review) -> list[str]:
    """Return a line for each mode; none where what was measured says nothing of the change."""
    unsaid = reasons.first_cause(review) is not None and not reasons.greeted(review)
    if unsaid or formatting.undecided(review) or not review.scorecard.cases:
        return []
    several = review.scorecard.several_modes
    texts = [(mode, [*_figures(review, mode)]) for mode in [*review.scorecard.slices][:MODES]]
    rows = [f"{f'{mode}: ' if several else ''}{' · '.join(parts)}" for mode, parts in texts if parts]
    left = len(review.scorecard.slices) - MODES
    more = f", {counted(left, 'more mode')}" if left > 0 else ""
    return [*rows[:-1], *(f"{row} · {_questions(review)}{more}" for row in rows[-1:])]


def _figures(review: Review, mode: str) -> Iterator[str]:
    rows = {
        row.delta.metric: row
        for row in review.verdict.rows
        if row.delta.mode == mode and row.delta.slice == OVERALL and row.delta.current.value is not None
    }
    values = review.scorecard.slices[mode].get(OVERALL, {})
    for metric in _wanted(review, mode, rows):
        if metric in rows:
            delta = rows[metric].delta
            change = "no baseline" if delta.baseline.value is None else figures.change(delta)
            value = figures.value(metric, delta.current) if delta.baseline.value is None else figures.course(delta)
            # what was compared may be less than what was measured, and better
            whole = metric_tables.whole_of(delta)
            more = "" if whole is None else f"; {figures.value(metric, whole)} over all {whole.n}"
            yield f"{figures.title(metric)} {value} ({change}{more})"
        elif metric in values and values[metric].value is not None and values[metric].n:
            yield f"{figures.title(metric)} {figures.measured(metric, values[metric])}"


def _wanted(review: Review, mode: str, rows: dict[str, GatedMetric]) -> list[str]:
    """Return the metrics of the composite, where they rank, those of judges that are gated, and the context."""
    evidence = review.verdict.evidence
    tests = evidence.tests if evidence is not None else ()
    composite = next((test.metrics for test in tests if test.mode == mode), DEFAULT_COMPOSITE)
    judged = [metric for metric, row in rows.items() if row.gated and metric in METRICS and METRICS[metric].judged]
    shown = [*composite, *(metric for metric in judged if metric not in composite)]
    return [*shown[:MOST], at_depth(CONTEXT_CHARS, max(cutoffs_of(review.scorecard.fingerprint), default=0))]


def _questions(review: Review) -> str:
    asked = review.scorecard.questions
    compared = review.comparison.compared
    paired = review.comparison.baseline is not None and review.comparison.baseline.paired
    part = f", {compared} compared" if paired and compared < asked else ""
    # means are of the others, which a reader who divides by all of them would not get
    names = {waiver.case for waiver in review.verdict.waivers if waiver.state != "expired" and paired}
    waived = len({case.case_id for case in review.scorecard.cases if case.case_id in names}) if names else 0
    return f"{counted(asked, 'question')}{part}{f', {waived} waived' if waived else ''}"


def notes(publication: Publication) -> Part:
    """Return what the publisher adds to the verdict."""
    lines = tuple(line(Span(note, limit=600)) for note in publication.notes)
    remarks = [f"Judged for a merge into {publication.base}."] if publication.base else []
    remarks += [_RELAYED] if publication.relayed else []
    return Part(name="notes", blocks=(Paragraph(lines), Paragraph(tuple(map(line, remarks)), soft=True)), rank=1)


def pushes(publication: Publication) -> Part:
    """Return how the last pushes were judged, oldest first, when there is more than one; each by its newest run."""
    newest = {push.head: push for push in sorted(publication.pushes, key=lambda push: push.order)}
    last = sorted(newest.values(), key=lambda push: push.order)[-SHOWN_PUSHES:]
    spans: list[str | Span] = ["Pushes, oldest first: "]
    for place, push in enumerate(last):
        spans += [" → " if place else "", f"{sign(push.verdict)} ", commit(push.head, publication.links)]
    blocks = (Paragraph((line(*spans),), soft=True),) if len(last) > 1 else ()
    return Part(name="earlier pushes", blocks=blocks, rank=4)


def why(review: Review) -> Part:
    """Return the reasons that neither the sentences nor another part tells."""
    left = list(reasons.further_reasons(review))
    title = "Why" if review.verdict.outcome in {"regression", "failed in part"} else "Also"
    blocks = bulleted([reasons.capital(reason) for reason in left])
    return Part(name="reasons", title=f"{title} ({len(left)})" if len(left) > 1 else title, blocks=blocks, rank=1)


def warnings(review: Review) -> Part:
    """Fold the warnings that are not told elsewhere: invariants and slices have parts of their own."""
    texts = [reasons.capital(reason) for reason in reasons.further_warnings(review)]
    return Part(name="warnings", title=f"⚠️ Warnings ({len(texts)})", blocks=bulleted(texts), folded=True, rank=3)


def waivers(waived: Sequence[WaiverStatus]) -> Part:
    """Fold the waivers: what each excuses, for whom, why and until when; those that have expired first."""
    ordered = sorted(waived, key=lambda waiver: ([*_WAIVED].index(waiver.state), waiver.expires))
    blocks = bulleted([*map(_waiver, ordered)])
    expired = any(waiver.state == "expired" for waiver in ordered)
    return Part(name="waivers", title=f"Waivers ({len(ordered)})", blocks=blocks, folded=not expired, rank=2)


def _waiver(waiver: WaiverStatus) -> str:
    subject = waiver.metric if waiver.metric is not None else f"question {waiver.case}"
    mode = f" ({waiver.mode})" if waiver.mode else ""
    left = waiver.days_left
    soon = f", {counted(left, 'day')} left" if left is not None and 0 <= left <= _SOON_DAYS else ""
    return f"{_WAIVED[waiver.state]}: {subject}{mode}: {waiver.reason} ({waiver.owner}, until {waiver.expires}{soon})"


def log(lines: Sequence[str], *, place: str = "") -> Part:
    """Return the API's last log lines; `place` says where all of them are."""
    more = f" (all of them: {place})" if place else ""
    items = Bullets([(line(text),) for text in lines], most=len(lines))
    return Part(name="the API's log", title=f"The API's last log lines{more}", blocks=(items,), rank=3)
