"""The pull-request comment: a review, or a run without a verdict -> Markdown that fits GitHub's limit."""

from __future__ import annotations

from raggate.escape import markdown as safe
from raggate.outcomes import Review
from raggate.publication import Ended, Publication
from raggate.reports import failure, frame, metric_tables, questions, sections
from raggate.reports.budget import COMMENT_LIMIT, fit, utf16_units
from raggate.reports.markup import link

TOP = 3
"""What a loud comment names."""


def render(review: Review, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment that is kept up to date.

    Args:
        review: what was decided.
        publication: links, earlier pushes and notes.
        limit: UTF-16 units that it may take, at least `budget.SMALLEST_LIMIT`; marker lines are put before it.
    """
    found = sections.sections_of(review, publication, now="this PR", full=False)
    return fit(found, limit, utf16_units, elsewhere=sections.elsewhere(publication))


def render_ended(ended: Ended, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment about a run without a verdict: why, what to do, and the API's last words."""
    found = failure.sections_of(ended, publication)
    return fit(found, limit, utf16_units, elsewhere=sections.elsewhere(publication))


def render_alert(review: Review, publication: Publication, *, sticky: str | None = None) -> str:
    """Render the short comment that is posted anew when a push made a pass worse, so that somebody is notified.

    `sticky` is the address of the comment that has everything.
    """
    verdict = review.verdict
    head = f"{frame.sign(verdict.outcome)} **raggate (suite {safe(review.run.suite, limit=60)}): {verdict.outcome}"
    lines = [f"{head} since the last push.** {safe(verdict.headline, limit=300)}"]
    broken = questions.broken(review)
    named = [questions.in_words(flip, 120) for flip in broken[:TOP]]
    if not named:
        named = metric_tables.in_words(review, TOP)
    if named:
        lines.append("\n".join(named))
    everything = link("Everything that changed", sticky, publication.links)
    if everything.startswith("["):
        lines.append(everything)
    return "\n\n".join(lines) + "\n"
