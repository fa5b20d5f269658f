"""A review -> the sections of its page, in reading order: the comment and the summary are made of the same ones."""

from __future__ import annotations

from raggate.outcomes import Review
from raggate.publication import Publication
from raggate.reports import closing, frame, merged, metric_tables, questions
from raggate.reports.budget import Section
from raggate.reports.markup import link

HERE = Publication()
"""Nothing published: no links, no earlier pushes."""


def sections_of(
    review: Review, publication: Publication = HERE, *, now: str = "now", full: bool = True
) -> list[Section]:
    """Give the sections.

    Args:
        review: the review.
        publication: what is told beside it.
        now: what the column of the values measured is called.
        full: whether tables that can be long hold every row.
    """
    links = publication.links
    return [
        frame.opening(review),
        frame.notes(publication),
        frame.pushes(publication),
        frame.reasons(review),
        closing.next_steps(review),
        frame.log(review.run.log),
        metric_tables.invariants(review),
        frame.waivers(review.waivers),
        metric_tables.deltas(review, now=now),
        metric_tables.unmoved(review, now=now),
        metric_tables.measured(review),
        questions.broke(review, links),
        questions.more_broke(review, links),
        questions.fell(review, links),
        questions.fixed(review),
        metric_tables.slices(review, now=now, full=full),
        metric_tables.better_slices(review, now=now, full=full),
        frame.warnings(review),
        closing.offer(review),
        merged.since_baseline(review),
        merged.if_merged(review),
        closing.reproduce(review),
        closing.provenance(review, links),
    ]


def elsewhere(publication: Publication) -> str:
    """Say where the full report is."""
    run = publication.links.run if publication.links is not None else None
    return f"in {link('the workflow run', run, publication.links)}"
