"""Pages of Markdown about a review or a run without one: comment, summary.md, step summary, a branch's issue."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from raggate.base.escape import markdown as safe, plain
from raggate.models.publication import Links, Publication, Push, RunFailure
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
from raggate.reports.parts.markup import commit_link, link, ours

if TYPE_CHECKING:
    from raggate.reports import Ended

TOP = 3
"""What a loud comment names."""


def parts_of(ended: Ended, publication: Publication) -> list[Part]:
    """Return the parts of a page about a verdict, or about why there is none."""
    if isinstance(ended, RunFailure):
        return failure.sections_of(ended, publication)
    return sections.sections_of(ended, publication)


def render(ended: Ended, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment that is kept up to date, in at most `limit` UTF-16 units without its marker lines."""
    where = sections.elsewhere(publication)
    return page(parts_of(ended, publication), utf16_units, limit, links=publication.links, elsewhere=where)


def render_alert(ended: Ended, publication: Publication, *, sticky: str | None = None, rerun: bool = False) -> str:
    """Render the short comment that is posted anew when a pass was lost, so that somebody is notified.

    `rerun` says that the very commit that passed was judged again.
    """
    if isinstance(ended, RunFailure):
        verdict, suite, sentence = ended.label, ended.suite or "", ended.lines[0]
        rest = "The whole message, and what to do next"
    else:
        verdict, suite, sentence = ended.verdict.outcome, ended.run.suite, ended.verdict.headline
        rest = "Everything that changed"
    of_suite = f" (suite {safe(suite, limit=60)})" if suite else ""
    head = f"{lost(verdict, of_suite, rerun=rerun)} {safe(sentence, limit=300, middle=True)}"
    named = "\n".join(markdown_item([own]) for own in _worst(ended))
    return paragraphs(head, named, whole(rest, sticky, publication))


def _worst(ended: Ended) -> list[Line]:
    # what was compared says nothing of the change if nothing is decided
    if isinstance(ended, RunFailure) or formatting.undecided(ended):
        return []
    questions_lost = [*map(questions.in_words, ended.lost[:TOP])]
    return questions_lost or [line(text) for text in metric_tables.in_words(ended, TOP)]


def lost(verdict: str, of_suite: str, *, rerun: bool) -> str:
    """Say that a pass was lost, and since when."""
    when = "on a re-run of the same commit" if rerun else "since the last push"
    return f"{header.sign(verdict)} **raggate{of_suite}: {safe(verdict, limit=40)} {when}.**"


def whole(text: str, sticky: str | None, publication: Publication) -> str:
    """Link the comment that is kept up to date; empty if its address is not one of the repository."""
    return link(text, sticky, publication.links) if ours(sticky, publication.links) else ""


def paragraphs(*texts: str) -> str:
    """Set paragraphs one below the other, without empty ones."""
    return "\n\n".join(filter(None, texts)) + "\n"


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


def render_whole(ended: Ended) -> str:
    """Render a whole run, without a limit and without links."""
    return page(parts_of(ended, sections.HERE), utf8_bytes, sys.maxsize)


def render_summary(ended: Ended, publication: Publication, *, limit: int = SUMMARY_BYTES) -> str:
    """Render a whole run for the step summary, with links, in at most `limit` bytes of UTF-8."""
    parts = parts_of(ended, publication)
    return page(parts, utf8_bytes, limit, links=publication.links, elsewhere="in the run directory")
