"""The questions of modes without a baseline that were not found, below how far the answers of these come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from raggate.models.metric_names import RECALL_ALL, family
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import Section
from raggate.reports.parts.markup import IN_VERDICT, bullets, folded, inert
from raggate.reports.parts.questions import item, line
from raggate.text.quote import enumerated

OPEN = 10
"""Questions that are not folded."""

SHOWN = 200
"""Questions on the fullest page; the rest is in verdict.json."""


def title(review: Review) -> str:
    """Name the list, and the modes it is of where others are compared."""
    modes = [*dict.fromkeys(flip.mode for flip in review.misses)] if review.comparison.baseline is not None else []
    of_modes = f" in modes without a baseline ({enumerated(modes)})" if modes else ""
    in_part = ", or not completely" if any(family(flip.metric) == RECALL_ALL for flip in review.misses) else ""
    return f"Questions that were not found{in_part}{of_modes} ({formatting.how_many(review.misses)})"


def lines(review: Review) -> Iterator[str]:
    """Say of each mode with such questions how far its answers come, and what stops them."""
    several = review.scorecard.several_modes
    absent = {flip.mode for flip in review.misses}
    for reach in review.comparison.reach:
        if reach.mode in absent:
            words = reach.sentence
            if words in review.verdict.headline:
                continue
            yield f"{reach.mode}: {words}." if several else f"{words[:1].upper()}{words[1:]}."


def section(review: Review, links: Links | None) -> Section:
    """List them: the first ones open, all others folded."""
    first, rest = review.misses[:OPEN], review.misses[OPEN:]
    if not first:
        return Section(name="questions that were not found", rank=3, variants=())
    head = f"### {inert(title(review))}\n\n"
    why = "".join(f"{inert(text, limit=500, middle=True)}\n\n" for text in lines(review))
    full = bullets(first, partial(item, review=review, links=links), OPEN)
    more = bullets(rest, partial(line, review=review, width=120), SHOWN - OPEN, where=IN_VERDICT)
    folded_rest = f"\n\n{folded(f'{len(rest)} more', more)}" if rest else ""
    short = bullets(review.misses, partial(line, review=review, width=60), 3, where=IN_VERDICT)
    variants = (head + why + full + folded_rest, head + why + full, head + why + short)
    return Section(name="questions that were not found", rank=3, variants=variants)
