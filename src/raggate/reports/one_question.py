"""One question of a review as Markdown: where its passage stood and stands, why, and both lists beside each other."""

from __future__ import annotations

from itertools import zip_longest

from msgspec.structs import replace

from raggate.base.headings import as_read
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.publication import Links
from raggate.models.run import LabelledResult
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Review
from raggate.reports.page.details import Passages, Sides
from raggate.reports.parts import questions
from raggate.reports.parts.document import COMMENT_LIMIT, markdown_item, utf16_units
from raggate.reports.parts.markup import inert, listed, table

PLACES = 10
"""Places of a list that are shown."""

_WIDTH = 120


def render(review: Review, case_id: str, links: Links | None) -> str:
    """Write all that a review knows of a question, mode by mode; without lists where a comment cannot hold them."""
    items = [item for item in review.run.results if item.case.id == case_id]
    sides, passages = Sides.of(review, {(item.result.mode, case_id) for item in items}), Passages(review.run)
    if review.comparison.incomparable:
        # what must not be compared is not shown side by side either
        sides = replace(sides, before={}, compared=False)
    several = len({item.result.mode for item in items}) > 1
    texts = []
    for item in items:
        mode = f"**{inert(item.result.mode)}**\n\n" if several else ""
        texts.append((mode + _standing(item, review, sides, links), _lists(item, sides, passages)))
    whole = "\n\n".join(text for both in texts for text in both if text)
    return whole if utf16_units(whole) <= COMMENT_LIMIT else "\n\n".join(standing for standing, _ in texts)


def _standing(item: LabelledResult, review: Review, sides: Sides, links: Links | None) -> str:
    """Return how the question stands, in the words of the other reports."""
    key = (item.result.mode, item.case.id)
    flip = sides.flips.get(key)
    if flip is not None:
        return markdown_item(questions.item(flip, review, links), links)
    case = item.case
    lines = [f"- **{inert(case.question)}** <sub>{inert(case.id)}</sub>"]
    lines += filter(None, [_course(item, review, sides)])
    names = [(gold.rel_path or gold.chunk_id or gold.doc_id or "", gold.heading_path) for gold in case.gold_supports]
    expected = listed([as_read(*name) for name in names], most=3) if case.answerable else "no answer"
    lines += [f"expected: {expected}"] if expected else []
    return "<br>\n  ".join(lines)


def _course(item: LabelledResult, review: Review, sides: Sides) -> str:
    """Where the passage of a question that no report tells of stood and stands; empty where that is not known."""
    failure = item.result.failure
    if failure is not None:
        return f"no answer: {inert(f'{failure.kind}: {failure.message}', middle=True)}"
    key = (item.result.mode, item.case.id)
    before, now = (_place(side.get(key), item) for side in (sides.before, sides.now))
    if not now or not sides.compared:
        return now
    if item.case.id in review.comparison.golden.relabelled:
        return f"{now}, relabelled since the baseline"
    if not before:
        return f"{now}, not in the baseline"
    return f"{now}, as in the baseline" if before == now else f"{before} → {now}"


def _place(score: CaseScore | None, item: LabelledResult) -> str:
    if score is not None and item.case.answerable:
        return f"rank {score.rank}" if score.rank else "not found"
    abstained = None if score is None else score.values.get(ABSTENTION_ACCURACY)
    return "" if abstained is None else "abstained" if abstained == 1 else "did not abstain"


def _lists(item: LabelledResult, sides: Sides, passages: Passages) -> str:
    """Set the baseline's list beside the present one, as far as either is known."""
    key = (item.result.mode, item.case.id)
    before, now = sides.before.get(key), sides.now.get(key)
    entries = before.entries if before else ()
    old = [_named(passages, passages.of_entry(entry), matches=bool(entry.supports)) for entry in entries]
    labels = item.labels
    new = [
        _named(passages, passages.of_chunk(chunk), matches=any(labels.matches[position : position + 1]))
        for position, chunk in enumerate(item.result.chunks)
        # what stood above already has no rank
        if position not in labels.duplicates
    ]
    if old and now is not None:
        # a baseline keeps a list as far as metrics look: an empty cell below that would say that there was no more
        new = new[: len(now.entries)]
    # an older one keeps no lists at all
    columns = {name: places[:PLACES] for name, places in (("baseline", old), ("now", new)) if places}
    rows = [(str(rank), *cells) for rank, cells in enumerate(zip_longest(*columns.values(), fillvalue=""), 1)]
    return table(("rank", *columns), rows, numbers=("rank",)) if rows else ""


def _named(passages: Passages, number: int, *, matches: bool) -> str:
    """Name a passage by its note and heading, and mark what is expected."""
    note, heading, *_ = passages.passages[number]
    path = passages.notes[note][0] if isinstance(note, int) and note >= 0 else "a passage that no answer shows now"
    name = " › ".join(filter(None, (path, str(heading))))
    return f"{'✅ ' if matches else ''}{inert(name, limit=_WIDTH)}"
