"""Why the questions got worse, as a whole: how many by which cause, and what changed beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.models.cause import GROUPS, Diagnosis
from raggate.models.comparison import Flip
from raggate.models.verdict import Review
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import Section
from raggate.reports.parts.markup import inert

SHOWN = 6
"""Causes and changes that are listed, of each."""


def likely(review: Review) -> str:
    """Return the sentence that names the most likely cause, or says that none shows; empty where nothing got worse."""
    unsaid = review.diagnosis is None or review.verdict.outcome == "pass" or formatting.undecided(review)
    return "" if unsaid or review.diagnosis is None else review.diagnosis.likely


def counts(review: Review) -> list[str]:
    """Say by which causes how many questions got worse, the most frequent first; nothing for a single question."""
    diagnosis = _shown(review)
    if diagnosis is None or diagnosis.questions < 2:
        return []
    total = diagnosis.questions
    left = sum(count for _, count in diagnosis.counts[SHOWN:])
    rows = [f"{count} of {total}: {cause}" for cause, count in diagnosis.counts[:SHOWN]]
    return [*rows, f"{left} of {total}: something else"] if left else rows


def lines(review: Review) -> Iterator[str]:
    """Say by which causes how many questions got worse, and what changed as a whole."""
    yield from counts(review)
    diagnosis = _shown(review)
    yield from (f"changed: {change}" for change in (diagnosis.changes[:SHOWN] if diagnosis is not None else ()))


def changes(review: Review) -> list[str]:
    """Say what changed as a whole, as far as the sentence on the likely cause does not say it."""
    diagnosis = _shown(review)
    if diagnosis is None:
        return []
    return [change for change in diagnosis.changes if change not in diagnosis.likely][:SHOWN]


def _shown(review: Review) -> Diagnosis | None:
    return None if review.verdict.outcome == "pass" or formatting.undecided(review) else review.diagnosis


def group(flip: Flip) -> str:
    """Name what a question broke by, as others that broke so."""
    return GROUPS[flip.cause.code] if flip.cause is not None else "no cause is known"


def grouped(flips: Sequence[Flip]) -> dict[str, list[Flip]]:
    """Put questions together that broke by the same cause, in the order of the first of each."""
    groups: dict[str, list[Flip]] = {}
    for flip in flips:
        groups.setdefault(group(flip), []).append(flip)
    return groups


def remaining(flip: Flip) -> str:
    """Return what a question's own cause says beyond the name of its group."""
    if flip.cause is not None and flip.cause.code == "not-listed" and not flip.cause.passage:
        return ""
    return flip.why.removeprefix(group(flip)).lstrip(": ")


def instead(flip: Flip) -> str:
    """Return the passage in the place of the one that is expected; of the same section only that it is another piece.

    Empty if nothing is known to have risen, and if the cause says that the piece came without the snippet.
    """
    risen = flip.displaced_by or ""
    if not risen or (flip.gold != risen and not flip.gold.startswith(f"{risen} (+")):
        return risen
    told = flip.cause is not None and flip.cause.code == "snippet-gone"
    snippets = flip.support is not None and flip.support.snippets
    return "another piece of the same section, without the snippet" if snippets and not told else ""


def summary(review: Review) -> Section:
    """List what changed as a whole; how many questions have which cause is told where they are listed."""
    listed = changes(review)
    variants = tuple(
        "### Changed as a whole\n\n" + "\n".join(f"- {inert(line, limit=width, middle=True)}" for line in listed)
        for width in ((300, 120) if listed else ())
    )
    return Section(name="causes", rank=2, variants=variants)
