"""Pages of Markdown about a review or a run without one: comment, summary.md, step summary, a branch's issue."""

from __future__ import annotations

import sys

from raggate.base.escape import markdown as safe, plain
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.models.verdict import Review
from raggate.reports import failure
from raggate.reports.parts import formatting, header, metric_tables, questions, sections
from raggate.reports.parts.document import (
    COMMENT_LIMIT,
    SUMMARY_BYTES,
    Line,
    Part,
    line,
    markdown_item,
    page,
    utf8_bytes,
    utf16_units,
)
from raggate.reports.parts.markup import commit_link, live_link

TOP = 3
"""What a loud comment names."""


def render(review: Review, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment that is kept up to date.

    Args:
        limit: UTF-16 units that it may take, at least `document.SMALLEST_LIMIT`; marker lines are put before it.
    """
    return _comment(sections.sections_of(review, publication), publication, limit)


def render_failure(failed: RunFailure, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment about a run without a verdict: why, what to do, and the API's last words."""
    return _comment(failure.sections_of(failed, publication), publication, limit)


def _comment(parts: list[Part], publication: Publication, limit: int) -> str:
    return page(parts, utf16_units, limit, links=publication.links, elsewhere=sections.elsewhere(publication))


def render_alert(review: Review, publication: Publication, *, sticky: str | None = None, rerun: bool = False) -> str:
    """Render the short comment that is posted anew when a pass was lost, so that somebody is notified.

    Args:
        rerun: whether the very commit that passed was judged again.
    """
    named: list[Line] = []
    # what was compared says nothing of the change if nothing is decided
    if not formatting.undecided(review):
        named = [*map(questions.in_words, review.lost[:TOP])]
        named = named or [line(text) for text in metric_tables.in_words(review, TOP)]
    everything = live_link("Everything that changed", sticky, publication.links)
    head = _lost(review.verdict.outcome, review.run.suite, review.verdict.headline, rerun=rerun)
    return _paragraphs(head, "\n".join(markdown_item([own]) for own in named), everything)


def render_failure_alert(
    failed: RunFailure, publication: Publication, *, sticky: str | None = None, rerun: bool = False
) -> str:
    """Render the short comment about a pass that was lost to a run without a verdict; see `render_alert`."""
    head = _lost(failed.label, failed.suite or "", failed.lines[0], rerun=rerun)
    return _paragraphs(head, live_link("The whole message, and what to do next", sticky, publication.links))


def _lost(verdict: str, suite: str, sentence: str, *, rerun: bool) -> str:
    when = "on a re-run of the same commit" if rerun else "since the last push"
    of_suite = f" (suite {safe(suite, limit=60)})" if suite else ""
    named = f"raggate{of_suite}: {safe(verdict, limit=40)} {when}."
    return f"{header.sign(verdict)} **{named}** {safe(sentence, limit=300, middle=True)}"


def _paragraphs(head: str, *others: str) -> str:
    """Set paragraphs one below the other, without empty ones."""
    return "\n\n".join([head, *filter(None, others)]) + "\n"


def title(suite: str, branch: str) -> str:
    """Name the issue, in plain text."""
    return f"raggate: {plain(suite, limit=80)} does not pass on {plain(branch, limit=80)}"


def opening(first: Push, newest: Push, branch: str, links: Links) -> str:
    """Say since which commit a branch does not pass. None is blamed: what was not measured may be the cause as well."""
    again = f" The newest one is {commit_link(links, newest.head)}." if newest.head != first.head else ""
    return (
        f"**{safe(branch, limit=100)} does not pass.** The first commit that was measured so is "
        f"{commit_link(links, first.head)}.{again}\n\n"
        "<sub>Commits that came with the first one, or before it without being measured, may be the cause too. raggate "
        "writes this text anew after every run, and closes the issue when one passes.</sub>\n\n"
    )


def closing(first: Push, passed: Push, links: Links) -> str:
    """Say that it is over, and since when it was so."""
    since = f"The first commit that was measured not to was {commit_link(links, first.head)}."
    return f"✅ It passes again, at {commit_link(links, passed.head)}. {since}\n"


def render_whole(review: Review) -> str:
    """Render a whole run, without a limit and without links."""
    return page(sections.sections_of(review), utf8_bytes, sys.maxsize)


def render_summary(review: Review, publication: Publication, *, limit: int = SUMMARY_BYTES) -> str:
    """Render a whole run for the step summary, with links, in at most `limit` bytes of UTF-8."""
    parts = sections.sections_of(review, publication)
    return page(parts, utf8_bytes, limit, links=publication.links, elsewhere="in the run directory")
