"""The questions that broke and those that were fixed, each with where its passage stands, as lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from raggate.models.comparison import Flip
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.parts import causes, formatting, ranks, traces
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import IN_VERDICT, bullets, folded, link, source_address
from raggate.text.escape import markdown as safe

OPEN = 10
"""Questions that are not folded."""

TOP = 3
"""Questions that every page keeps."""

SHOWN = 200
"""Questions on the fullest page; the rest is in verdict.json."""


def broke(review: Review, links: Links | None, most: int = OPEN) -> Section:
    """Write the first questions that broke by cause: must-pass ones and the largest falls first."""
    flips = review.comparison.broke
    if not flips:
        return Section(name="questions that broke", rank=KEPT, variants=())
    title = f"### {formatting.broke_title(flips)}\n\n"
    # those beyond OPEN are told by `more_broke`
    first = flips[:OPEN] if most == OPEN else flips
    variants = [title + _by_cause(first, flips, partial(item, review=review, links=links), most)]
    for count, width in ((most, 120), (TOP, 120), (TOP, 60)):
        variants.append(title + _by_cause(first, flips, partial(line, review=review, width=width), count))
    return Section(name="questions that broke", rank=KEPT, variants=tuple(variants))


def _by_cause(flips: Sequence[Flip], every: Sequence[Flip], write: Callable[[Flip], str], most: int) -> str:
    """Write the first questions below the names of their causes, with how many of all of them have each."""
    totals = {cause: len(same) for cause, same in causes.grouped(every).items()}
    parts = []
    for cause, same in causes.grouped(flips[:most]).items():
        count = f"{len(same)} of {totals[cause]}" if len(same) < totals[cause] else f"{totals[cause]}"
        title = f"**{safe(cause[:1].upper() + cause[1:])}** ({count})"
        parts.append("\n".join([title, "", *map(write, same)]))
    left = len(flips) - most
    return "\n\n".join([*parts, *([f"… and {left} more{IN_VERDICT}"] if left > 0 else [])])


def more_broke(review: Review, links: Links | None) -> Section:
    """Fold the other questions that broke."""
    rest = review.comparison.broke[OPEN:]
    title = f"{len(rest)} more that broke"
    texts = (_full(rest, review, links, SHOWN - OPEN), _short(rest, review, 120, SHOWN - OPEN))
    variants = (*(folded(title, text) for text in texts), f"<sub>… and {title}</sub>" if rest else "")
    return Section(name="more questions that broke", rank=7, variants=variants)


def fell(review: Review, links: Links | None) -> Section:
    """Fold the questions that did not break, but got worse in a gated metric or must pass.

    They are open where none broke and these make it red.
    """
    flips = review.fallen
    title = formatting.fallen_title(flips)
    texts = (_full(flips, review, links, SHOWN), _short(flips, review, 120, SHOWN), _short(flips, review, 60, TOP))
    opened = not review.comparison.broke and any(review.verdict.is_red(flip) for flip in flips)
    variants = tuple(folded(title, text, opened=opened) for text in texts)
    return Section(name="questions that got worse", rank=KEPT if opened else 4, variants=variants)


def fixed(review: Review) -> Section:
    """Fold the questions that were fixed, one line each."""
    flips = review.comparison.fixed
    title = formatting.fixed_title(flips)
    text = bullets(flips, partial(line, review=review, width=300), SHOWN, where=IN_VERDICT)
    variants = (folded(title, text), f"<sub>{title}</sub>") if flips else ()
    return Section(name="questions that were fixed", rank=6, variants=variants)


def _full(flips: Sequence[Flip], review: Review, links: Links | None, most: int) -> str:
    return _by_cause(flips, flips, partial(item, review=review, links=links), most) if flips else ""


def _short(flips: Sequence[Flip], review: Review, width: int, most: int) -> str:
    return _by_cause(flips, flips, partial(line, review=review, width=width), most) if flips else ""


def item(flip: Flip, review: Review, links: Links | None) -> str:
    """Write a question with everything that is known of it; the lines belong to one list item."""
    # what stands above it is not said again
    left = causes.remaining(flip) if flip.kind != "absent" else flip.why
    joint = "" if left.startswith("(") else ":"
    why = f"{joint} {safe(left)}" if left else ""
    lines = [f"- {_asked(flip, 300)}{_must(flip)} {_filed(flip, review)}", f"{ranks.rank_change(flip)}{why}"]
    if flip.support is None:
        lines.append("expected: no answer")
    else:
        address = source_address(links, review.context.source_lines.get(flip.case_id))
        lines.append(f"expected: {link(safe(flip.gold), address, links)}")
    if risen := causes.instead(flip):
        lines.append(f"in its place: {safe(risen)}")
    if flip.trace_id:
        # raggate's own 32 hex digits, checked where a run is read; in a code span they are no commit, and can be copied
        address = traces.address(review, flip.trace_id).replace("&", "&amp;")
        lines.append(f"trace: [`{flip.trace_id}`]({address})" if address else f"trace: `{flip.trace_id}`")
    return "<br>\n  ".join(lines)


def line(flip: Flip, review: Review, *, width: int) -> str:
    """Write a question in one line; the question has at most `width` characters."""
    return f"- {_asked(flip, width)}{_must(flip)} · {ranks.rank_change(flip)} {_filed(flip, review, width=40)}"


def _asked(flip: Flip, width: int) -> str:
    return f"**{safe(flip.question, limit=width) or safe(flip.case_id, limit=width) or '–'}**"


def _filed(flip: Flip, review: Review, *, width: int = 120) -> str:
    """Write the case's id, and its mode where there are several."""
    mode = f" · {safe(flip.mode, limit=width)}" if review.scorecard.several_modes else ""
    return f"<sub>{safe(flip.case_id, limit=width)}{mode}</sub>"


def _must(flip: Flip) -> str:
    return (" 🔒 must pass" if flip.must_pass else "") + (" · waived" if flip.waived else "")


def in_words(flip: Flip, width: int) -> str:
    """Write a question that broke in one line, for a short message."""
    return f"- {_asked(flip, width)}{_must(flip)} · {ranks.rank_change(flip)}"
