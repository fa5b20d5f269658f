"""What every page begins with: heading, verdict in one sentence, numbers, notes, earlier pushes, further reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from raggate.config.gate_settings import DEFAULT_COMPOSITE
from raggate.models.publication import Publication
from raggate.models.scorecard import OVERALL, MetricValue
from raggate.models.verdict import GatedMetric, Reason, Review
from raggate.models.waiver import WaiverStatus
from raggate.reports import plots
from raggate.reports.parts import formatting, metric_tables, reasons as reasons_of
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.formatting import undecided
from raggate.reports.parts.markup import IN_VERDICT, bullets, commit_link, folded, heading_alert, inert
from raggate.reports.parts.reasons import first_cause, greeted
from raggate.scoring import figures
from raggate.scoring.metrics import METRICS
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted

LEAST = 3
"""Versions from which on there is a course to see."""


MOST = 5
"""Metrics of a line."""
MODES = 4
"""Modes that have a line."""
SHOWN_PUSHES = 10
SHOWN_REASONS = 30
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
}
"""Verdict -> sign. It never stands without the word."""
_ALERTS = {
    "pass": "NOTE",
    "not run": "NOTE",
    "regression": "CAUTION",
    "invariant broken": "CAUTION",
    "internal error": "CAUTION",
}
INTRODUCED = ("This pull request introduces raggate.", "There is no baseline yet to compare it with.")
_RELAYED = (
    "Measured by an untrusted run, judged here by this repository's own policy. The report and the verdict.json of "
    "that run are its own word."
)
_WAIVED = ("expired", "active", "unused")
_SOON_DAYS = 14


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


def number_lines(review: Review) -> list[str]:
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
    whole = metric_tables.whole_of(delta)
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


def sign(verdict: str) -> str:
    """Return the sign of a verdict, known or not."""
    return SIGNS.get(verdict, "❔")


def head(verdict: str, suite: str | None, lines: Sequence[str], *, greeting: str = "") -> str:
    """Write heading and alert; the lines are Markdown, and a greeting stands in the place of the verdict."""
    of_suite = f" (suite {suite})" if suite else ""
    if greeting:
        return f"## 👋 raggate: {greeting}{of_suite}\n\n" + heading_alert("NOTE", *lines)
    title = f"## {sign(verdict)} raggate: {safe(verdict, limit=40)}{of_suite}"
    return f"{title}\n\n{heading_alert(_ALERTS.get(verdict, 'WARNING'), *lines)}"


def opening(review: Review) -> Section:
    """Write the heading, the numbers and the verdict. Where there is only no baseline yet, that is no bad news."""
    variants = tuple(
        head(
            review.verdict.outcome,
            safe(review.run.suite, limit=width),
            [
                *_part(review, length),
                *_merging(review, length),
                *_tier(review, length),
                *_numbers(review, length),
                _sentences(review, length),
            ],
            greeting=greeting(review),
        )
        for width, length in ((300, 600), (60, 300))
    )
    return Section(name="verdict", rank=KEPT, variants=variants)


def greeting(review: Review) -> str:
    """Return what stands in the place of the verdict where only a baseline is missing; empty elsewhere."""
    if not reasons_of.greeted(review):
        return ""
    return "first run" if review.context.first_run else "cannot tell yet, as there is no baseline"


def _part(review: Review, length: int) -> Iterator[str]:
    """Say before all else that only a part of the questions was asked."""
    if review.run.selection is not None:
        yield f"**{inert(review.verdict.sentences[0], limit=length, middle=True)}**"


def _tier(review: Review, length: int) -> Iterator[str]:
    """Say of a suite that asks some questions of its file how many, before any good news."""
    golden = review.run.golden
    if golden.part_of is not None:
        chosen = f"This suite asks {golden.asked}; its result says nothing of the others."
        yield inert(chosen, limit=length, middle=True)


def _numbers(review: Review, length: int) -> Iterator[str]:
    yield from (safe(line, limit=length, middle=True) for line in number_lines(review))


def _merging(review: Review, length: int) -> Iterator[str]:
    """Say what a merge would break, before any good news."""
    for reason in reasons_of.merging(review):
        yield f"⛔ **{inert(reasons_of.sentence(reason), limit=length, middle=True)}**"


def _sentences(review: Review, length: int) -> str:
    """Set the first sentence of a verdict in bold, and all of them where they have to be cut; then the likely cause."""
    if review.context.first_run and reasons_of.greeted(review):
        return f"**{INTRODUCED[0]}** {INTRODUCED[1]}"
    decision, likely = _decision(review, length), reasons_of.likely(review)
    return f"{decision} {inert(likely, limit=length, middle=True)}" if likely else decision


def _decision(review: Review, length: int) -> str:
    verdict = review.verdict
    if cause := reasons_of.first_cause(review):
        return f"**{inert(reasons_of.sentence(cause), limit=length, middle=True)}**"
    sign_of_merge = "⛔ " if formatting.breaks_alone(review) else ""
    first, *others = verdict.sentences[1:] if review.run.selection is not None else verdict.sentences
    headline = " ".join([first, *others])
    if others and len(headline) <= length:
        return f"{sign_of_merge}**{safe(first, limit=length)}** {safe(' '.join(others), limit=length)}"
    return f"{sign_of_merge}**{inert(headline, limit=length, middle=True)}**"


def notes(publication: Publication) -> Section:
    """Write what the publisher adds to the verdict."""
    full = [safe(note, limit=600, middle=True) for note in publication.notes]
    short = [safe(note, limit=100, middle=True) for note in publication.notes[:3]]
    remarks = [f"Judged for a merge into {safe(publication.base, limit=100)}."] if publication.base else []
    remarks += [_RELAYED] if publication.relayed else []
    quiet = [f"<sub>{' '.join(remarks)}</sub>"] if remarks else []
    return Section(name="notes", rank=1, variants=("\n\n".join(full + quiet), "\n\n".join(short + quiet)))


def pushes(publication: Publication) -> Section:
    """Write how the last pushes were judged, oldest first, when there is more than one; each by its newest run."""
    newest = {push.head: push for push in sorted(publication.pushes, key=lambda push: push.order)}
    last = sorted(newest.values(), key=lambda push: push.order)[-SHOWN_PUSHES:]
    judged = " → ".join(f"{sign(push.verdict)} {commit_link(publication.links, push.head)}" for push in last)
    strip = "" if len(last) < 2 else f"<sub>Pushes, oldest first: {judged}</sub>"
    return Section(name="earlier pushes", rank=4, variants=(strip,))


def why(review: Review) -> Section:
    """Write the reasons that neither the sentence nor another section tells."""
    left = list(reasons_of.further_reasons(review))
    title = "Why" if review.verdict.outcome in {"regression", "failed in part"} else "Also"
    return Section(name="reasons", rank=1, variants=_listed(f"### {title}\n\n" if len(left) > 1 else "", left))


def warnings(review: Review) -> Section:
    """Write the warnings that are not told elsewhere: invariants and slices have sections of their own."""
    reasons = reasons_of.further_warnings(review)
    # the first sentence counts all of them
    title = "Warnings" if len(reasons) == len(formatting.warnings(review)) else "Further warnings"
    return Section(name="warnings", rank=3, variants=_listed(f"### ⚠️ {title} ({len(reasons)})\n\n", reasons))


def waivers(waived: Sequence[WaiverStatus]) -> Section:
    """List the waivers: what each excuses, for whom, why and until when; those that have expired first."""
    ordered = sorted(waived, key=lambda waiver: (_WAIVED.index(waiver.state), waiver.expires))
    title = f"### Waivers ({len(ordered)})\n\n"
    texts = ("\n".join(_waiver(waiver, width) for waiver in ordered[:SHOWN_REASONS]) for width in (300, 80))
    return Section(name="waivers", rank=2, variants=tuple(title + text for text in texts) if ordered else ())


def _waiver(waiver: WaiverStatus, width: int) -> str:
    subject = waiver.metric if waiver.metric is not None else f"question {waiver.case}"
    mode = f" ({waiver.mode})" if waiver.mode else ""
    left = waiver.days_left
    soon = f", {counted(left, 'day')} left" if left is not None and 0 <= left <= _SOON_DAYS else ""
    state = {"expired": "⛔ expired", "active": "active", "unused": "⚠️ unused"}[waiver.state]
    text = f"{subject}{mode}: {waiver.reason} ({waiver.owner}, until {waiver.expires}{soon})"
    return f"- {state}: {inert(text, limit=width, middle=True)}"


def _listed(title: str, reasons: Sequence[Reason]) -> tuple[str, ...]:
    def line(reason: Reason, width: int) -> str:
        return f"- {inert(reasons_of.capital(reason), limit=width, middle=True)}"

    widths = (500, 120) if reasons else ()
    return tuple(
        title + bullets(reasons, partial(line, width=width), SHOWN_REASONS, where=IN_VERDICT) for width in widths
    )


def log(lines: Sequence[str], *, place: str = "") -> Section:
    """Write the API's last log lines, folded out; `place` says where all of them are."""
    more = f" (all of them: {place})" if place else ""
    bodies = (
        "<br>\n".join(safe(line, limit=width) or "&nbsp;" for line in lines[-most:])
        for most, width in ((len(lines), 300), (5, 120))
    )
    variants = tuple(folded(f"The API's last log lines{more}", body, opened=True) for body in bodies)
    return Section(name="the API's log", rank=3, variants=variants)
