"""A review -> the sections of its page, in reading order: the comment and the summary are made of the same ones."""

from __future__ import annotations

from raggate.models.publication import Links, Publication
from raggate.models.verdict import Review
from raggate.reports.parts import (
    advice,
    causes,
    changes,
    evidence,
    footer,
    formatting,
    header,
    invariants,
    judging,
    metric_tables,
    misses,
    questions,
)
from raggate.reports.parts.budget import Section
from raggate.reports.parts.markup import link

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
    rules = [invariants.section(review)]
    # what breaks the gate is read first; what only warns after what was measured
    breaking = any(finding.level == "error" for finding in review.findings)
    return [
        header.opening(review),
        header.notes(publication),
        header.pushes(publication),
        header.reasons(review),
        footer.next_steps(review),
        header.log(review.run.log, place=advice.log_place(review.run)),
        *(rules if breaking else ()),
        header.waivers(review.verdict.waivers),
        *_compared(review, links, now=now, full=full),
        footer.reproduce(review),
        *_slices(review, now=now, full=full),
        header.warnings(review),
        *(() if breaking else rules),
        footer.offer(review),
        changes.if_merged(review),
        *_folded(review, now=now),
        changes.since_baseline(review),
        footer.provenance(review, publication),
    ]


def _compared(review: Review, links: Links | None, *, now: str, full: bool) -> list[Section]:
    """Give what was compared; where that says nothing of the change, the first questions that broke alone."""
    if formatting.undecided(review):
        few = [] if review.run.stopped is not None else [questions.broke(review, links, most=questions.TOP)]
        return [
            *few,
            Section(name="what was compared", rank=2, variants=(f"<sub>{formatting.left_out(review)}</sub>",)),
        ]
    return [
        metric_tables.deltas(review, now=now),
        evidence.section(review),
        judging.section(review.run),
        metric_tables.measured(review),
        misses.section(review, links),
        causes.summary(review),
        questions.broke(review, links),
        questions.more_broke(review, links),
        questions.fell(review, links),
    ]


def _slices(review: Review, *, now: str, full: bool) -> list[Section]:
    return [] if formatting.undecided(review) else [metric_tables.slices(review, now=now, full=full)]


def _folded(review: Review, *, now: str) -> list[Section]:
    """Give what got better and what stayed, which nobody has to open."""
    if formatting.undecided(review):
        return []
    better = metric_tables.better_slices(review, now=now, full=False)
    return [questions.fixed(review), better, metric_tables.unmoved(review, now=now)]


def elsewhere(publication: Publication) -> str:
    """Say where the full report is."""
    run = publication.links.run if publication.links is not None else None
    return f"in {link('the workflow run', run, publication.links)}"
