"""What every page begins with: the heading, the verdict in one sentence, notes, earlier pushes and further reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from raggate.models.publication import Publication
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import Reason, Review, Verdict
from raggate.models.waiver import WaiverStatus
from raggate.reports.parts import causes, formatting
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import IN_VERDICT, bullets, commit_link, folded, heading_alert, inert
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted

SHOWN_PUSHES = 10
SHOWN_REASONS = 30

SIGNS = {
    "pass": "✅",
    "regression": "❌",
    "cannot tell": "❔",
    "invariant broken": "⛔",
    "interrupted": "⏹️",
    "partial": "🔎",
    "failed in part": "❌",
    "usage error": "🔧",
    "internal error": "💥",
}
"""Verdict -> sign. It never stands without the word."""

_ALERTS = {"pass": "NOTE", "regression": "CAUTION", "invariant broken": "CAUTION", "internal error": "CAUTION"}
_RELAYED = "Measured by an untrusted run, judged here by this repository's own policy."


def sign(verdict: str) -> str:
    """Give the sign of a verdict, known or not."""
    return SIGNS.get(verdict, "❔")


def head(verdict: str, suite: str | None, lines: Sequence[str], *, first_run: bool = False) -> str:
    """Write heading and alert; the lines are Markdown."""
    of_suite = f" (suite {suite})" if suite else ""
    if first_run:
        return f"## 👋 raggate: first run{of_suite}\n\n" + heading_alert("NOTE", *lines)
    title = f"## {sign(verdict)} raggate: {safe(verdict, limit=40)}{of_suite}"
    return f"{title}\n\n{heading_alert(_ALERTS.get(verdict, 'WARNING'), *lines)}"


def opening(review: Review) -> Section:
    """Write the heading and the verdict. A first run is greeted instead, as long as it went well."""
    verdict = review.verdict
    if greeted(review):
        lines = ["**This pull request introduces raggate.** There is no baseline yet to compare it with."]
        variants = tuple(head("", safe(review.run.suite, limit=width), lines, first_run=True) for width in (300, 60))
    else:
        variants = tuple(
            head(verdict.outcome, safe(review.run.suite, limit=width), [_sentences(review, length)])
            for width, length in ((300, 600), (60, 300))
        )
    return Section(name="verdict", rank=KEPT, variants=variants)


def greeted(review: Review) -> bool:
    """Say whether a review is a first run with nothing wrong but the missing baseline."""
    codes = {reason.code for reason in review.verdict.reasons}
    return review.context.first_run and codes <= {"first-run", "no-baseline"}


def _sentences(review: Review, length: int) -> str:
    """Set the first sentence of a verdict in bold, and all of them where they have to be cut; then the likely cause."""
    verdict, likely = review.verdict, causes.likely(review)
    return (
        f"{_decision(verdict, length)} {inert(likely, limit=length, middle=True)}"
        if likely
        else _decision(verdict, length)
    )


def _decision(verdict: Verdict, length: int) -> str:
    first, *others = verdict.sentences
    if others and len(verdict.headline) <= length:
        return f"**{safe(first, limit=length)}** {safe(' '.join(others), limit=length)}"
    return f"**{inert(verdict.headline, limit=length, middle=True)}**"


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


def reasons(review: Review) -> Section:
    """Write the reasons that neither the sentence nor another section tells."""
    left = list(_further_reasons(review))
    return Section(name="reasons", rank=1, variants=_listed("### Why\n\n" if len(left) > 1 else "", left))


def _further_reasons(review: Review) -> Iterator[Reason]:
    if greeted(review):
        return
    listed = {(flip.case_id, flip.mode) for flip in review.comparison.flips if flip.kind == "broke" and flip.must_pass}
    # a list of questions shows one answer of each, and not how many of several miss
    listed |= {(flip.case_id, flip.mode) for flip in review.fallen if flip.kind == "missed" and not review.run.repeats}
    tabled = {row.delta.metric for row in formatting.main_rows(review.verdict.rows) if row.delta.slice == OVERALL}
    for position, reason in enumerate(formatting.deciding(review)):
        in_sentence = position == 0 and review.verdict.outcome != "regression"
        in_table = reason.code in {"worse", "below-floor"} and bool(tabled)
        in_table |= reason.code == "composite-worse"
        in_questions = reason.code == "must-pass" and (reason.case_id, reason.mode) in listed
        if not (in_sentence or in_table or in_questions or reason.invariant is not None):
            yield reason


def warnings(review: Review) -> Section:
    """Write the warnings, but for invariants, which have a section of their own."""
    reasons = [reason for reason in formatting.warnings(review) if reason.invariant is None]
    return Section(name="warnings", rank=3, variants=_listed(f"### ⚠️ Warnings ({len(reasons)})\n\n", reasons))


def waivers(waived: Sequence[WaiverStatus]) -> Section:
    """List the waivers: what each excuses, for whom, why and until when; those that have expired first."""
    ordered = sorted(waived, key=lambda waiver: (_WAIVED.index(waiver.state), waiver.expires))
    title = f"### Waivers ({len(ordered)})\n\n"
    texts = ("\n".join(_waiver(waiver, width) for waiver in ordered[:SHOWN_REASONS]) for width in (300, 80))
    return Section(name="waivers", rank=2, variants=tuple(title + text for text in texts) if ordered else ())


_WAIVED = ("expired", "active", "unused")
_SOON_DAYS = 14


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
        return f"- {inert(_capital(reason), limit=width, middle=True)}"

    widths = (500, 120) if reasons else ()
    return tuple(
        title + bullets(reasons, partial(line, width=width), SHOWN_REASONS, where=IN_VERDICT) for width in widths
    )


def _capital(reason: Reason) -> str:
    """Begin a sentence with a capital, but not one that begins with the name of a metric."""
    named = reason.metric is not None and reason.case_id is None
    return reason.message if named else reason.message[:1].upper() + reason.message[1:]


def log(lines: Sequence[str], *, file: str = "") -> Section:
    """Write the API's last log lines, folded out; `file` of the run directory has all of them."""
    more = f" (all of them: {file} in the run directory)" if file else ""
    bodies = (
        "<br>\n".join(safe(line, limit=width) or "&nbsp;" for line in lines[-most:])
        for most, width in ((len(lines), 300), (5, 120))
    )
    variants = tuple(folded(f"The API's last log lines{more}", body, opened=True) for body in bodies)
    return Section(name="the API's log", rank=3, variants=variants)
