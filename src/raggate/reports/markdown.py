"""summary.md and the step summary: what people read about a run, in full, as GitHub-flavoured Markdown."""

from __future__ import annotations

import sys

from raggate.models.publication import Publication
from raggate.models.verdict import Review
from raggate.reports.parts import sections
from raggate.reports.parts.budget import SUMMARY_BYTES, fit, utf8_bytes


def render(review: Review) -> str:
    """Render a whole run, without a limit and without links."""
    return fit(sections.sections_of(review), sys.maxsize, utf8_bytes)


def render_summary(review: Review, publication: Publication, *, limit: int = SUMMARY_BYTES) -> str:
    """Render a whole run for the step summary, with links, in at most `limit` bytes of UTF-8."""
    return fit(sections.sections_of(review, publication), limit, utf8_bytes, elsewhere="in the run directory")
