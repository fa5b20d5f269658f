"""Why the questions got worse, as a whole: how many by which cause, and what changed beside them."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.models.verdict import Review
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import Section
from raggate.reports.parts.markup import inert

SHOWN = 6
"""Causes and changes that are listed, of each."""


def likely(review: Review) -> str:
    """Give the sentence that names the most likely cause, or says that none shows; empty where nothing got worse."""
    unsaid = review.diagnosis is None or review.verdict.outcome == "pass" or formatting.undecided(review)
    return "" if unsaid or review.diagnosis is None else review.diagnosis.likely


def lines(review: Review) -> Iterator[str]:
    """Say by which causes how many questions got worse, the most frequent first, and what changed as a whole."""
    diagnosis = review.diagnosis
    if diagnosis is None or review.verdict.outcome == "pass" or formatting.undecided(review):
        return
    total = diagnosis.questions
    if total > 1:
        yield from (f"{count} of {total}: {cause}" for cause, count in diagnosis.counts[:SHOWN])
        left = sum(count for _, count in diagnosis.counts[SHOWN:])
        if left:
            yield f"{left} of {total}: something else"
    yield from (f"changed: {change}" for change in diagnosis.changes[:SHOWN])


def summary(review: Review) -> Section:
    """List them."""
    listed = list(lines(review))
    variants = tuple(
        "### Causes\n\n" + "\n".join(f"- {inert(line, limit=width, middle=True)}" for line in listed)
        for width in ((300, 120) if listed else ())
    )
    return Section(name="causes", rank=2, variants=variants)
