"""Questions that broke, fell, were not found or were fixed, as lists: with ranks, reasons and traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from raggate.config.ask_settings import TRACE_ID
from raggate.config.schema import Config
from raggate.models.comparison import Flip
from raggate.models.metric_names import ABSTENTION, ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE, RECALL_ALL, family
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.parts import formatting, reasons
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import IN_VERDICT, bullets, folded, inert, link, source_address
from raggate.scoring import figures
from raggate.text.escape import markdown as safe
from raggate.text.quote import enumerated

MISSES_OPEN = 10
"""Questions that are not folded."""

MISSES_SHOWN = 200
"""Questions on the fullest page; the rest is in verdict.json."""


OPEN = 10
"""Questions that are not folded."""
TOP = 3
"""Questions that every page keeps."""
SHOWN = 200
"""Questions on the fullest page; the rest is in verdict.json."""


def misses_title(review: Review) -> str:
    """Name the list, and the modes it is of where others are compared."""
    modes = [*dict.fromkeys(flip.mode for flip in review.misses)] if review.comparison.baseline is not None else []
    of_modes = f" in modes without a baseline ({enumerated(modes)})" if modes else ""
    in_part = ", or not completely" if any(family(flip.metric) == RECALL_ALL for flip in review.misses) else ""
    return f"Questions that were not found{in_part}{of_modes} ({formatting.how_many(review.misses)})"


def misses_lines(review: Review) -> Iterator[str]:
    """Say of each mode with such questions how far its answers come, and what stops them."""
    several = review.scorecard.several_modes
    absent = {flip.mode for flip in review.misses}
    for reach in review.comparison.reach:
        if reach.mode in absent:
            words = reach.sentence
            if words in review.verdict.headline:
                continue
            yield f"{reach.mode}: {words}." if several else f"{words[:1].upper()}{words[1:]}."


def misses(review: Review, links: Links | None) -> Section:
    """List them: the first ones open, all others folded."""
    first, rest = review.misses[:MISSES_OPEN], review.misses[MISSES_OPEN:]
    if not first:
        return Section(name="questions that were not found", rank=3, variants=())
    head = f"### {inert(misses_title(review))}\n\n"
    why = "".join(f"{inert(text, limit=500, middle=True)}\n\n" for text in misses_lines(review))
    full = bullets(first, partial(item, review=review, links=links), MISSES_OPEN)
    more = bullets(rest, partial(line, review=review, width=120), MISSES_SHOWN - MISSES_OPEN, where=IN_VERDICT)
    folded_rest = f"\n\n{folded(f'{len(rest)} more', more)}" if rest else ""
    short = bullets(review.misses, partial(line, review=review, width=60), 3, where=IN_VERDICT)
    variants = (head + why + full + folded_rest, head + why + full, head + why + short)
    return Section(name="questions that were not found", rank=3, variants=variants)


def rank_change(flip: Flip) -> str:
    """Write where the gold support was and is; of a question that fell, also by which metric that was seen."""
    if flip.kind == "fell":
        return _fall(flip)
    if flip.kind == "missed":
        return _miss(flip)
    if flip.kind == "absent":
        noun, absent = _rank_words(flip)
        return f"{noun} {flip.after}" if flip.after else absent
    if flip.metric == ABSTENTION_ACCURACY:
        return "abstained → did not abstain" if flip.kind == "broke" else "did not abstain → abstained"
    if flip.metric == FALSE_ABSTENTION_RATE:
        return "did not abstain → abstained" if flip.kind == "broke" else "abstained → did not abstain"
    noun, absent = _rank_words(flip)
    if flip.before and flip.after:
        return f"{noun} {flip.before} → {flip.after}"
    before, after = (f"{noun} {rank}" if rank else absent for rank in (flip.before, flip.after))
    return f"{before} → {after}"


def _rank_words(flip: Flip) -> tuple[str, str]:
    return ("complete at rank", "incomplete") if family(flip.metric) == RECALL_ALL else ("rank", "not found")


def _fall(flip: Flip) -> str:
    noun, absent = _rank_words(flip)
    places = [f"{noun} {rank}" if rank else absent for rank in (flip.before, flip.after)]
    if flip.since == "added":
        return f"{figures.title(flip.metric)} lower than usual, {places[1]}, added since the baseline"
    if flip.values is not None:
        return f"{figures.title(flip.metric)} {figures.both(flip.metric, *flip.values)}"
    if flip.support is None:
        return f"{figures.title(flip.metric)} worse"
    both = flip.before and flip.after
    same = "at the same rank" if both else f"{absent}, as in the baseline"
    moved = f"{places[0]} → {flip.after if both else places[1]}" if flip.before != flip.after else same
    since = ", relabelled since the baseline" if flip.since == "relabelled" else ""
    return f"{figures.title(flip.metric)} worse, {moved}{since}"


def _miss(flip: Flip) -> str:
    """Write where a question that must pass stands, and where it stood; it did not break."""
    since = "" if flip.since == "same" else f", {flip.since} since the baseline"
    if flip.metric in ABSTENTION:
        return f"{'did not abstain' if flip.metric == ABSTENTION_ACCURACY else 'abstained'}{since}"
    noun, absent = _rank_words(flip)
    before, after = (f"{noun} {rank}" if rank else absent for rank in (flip.before, flip.after))
    return f"{after}{since or (', as in the baseline' if before == after else f', {before} in the baseline')}"


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
    totals = {cause: len(same) for cause, same in reasons.grouped(every).items()}
    parts = []
    for cause, same in reasons.grouped(flips[:most]).items():
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
    left = reasons.remaining(flip) if flip.kind != "absent" else flip.why
    joint = "" if left.startswith("(") else ":"
    why = f"{joint} {safe(left)}" if left else ""
    lines = [f"- {_asked(flip, 300)}{_must(flip)} {_filed(flip, review)}", f"{rank_change(flip)}{why}"]
    if flip.support is None:
        lines.append("expected: no answer")
    else:
        address = source_address(links, review.context.source_lines.get(flip.case_id))
        lines.append(f"expected: {link(safe(flip.gold), address, links)}")
    if risen := reasons.instead(flip):
        lines.append(f"in its place: {safe(risen)}")
    if flip.trace_id:
        # raggate's own 32 hex digits, checked where a run is read; in a code span they are no commit, and can be copied
        address = trace_address(review, flip.trace_id).replace("&", "&amp;")
        lines.append(f"trace: [`{flip.trace_id}`]({address})" if address else f"trace: `{flip.trace_id}`")
    return "<br>\n  ".join(lines)


def line(flip: Flip, review: Review, *, width: int) -> str:
    """Write a question in one line; the question has at most `width` characters."""
    return f"- {_asked(flip, width)}{_must(flip)} · {rank_change(flip)} {_filed(flip, review, width=40)}"


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
    return f"- {_asked(flip, width)}{_must(flip)} · {rank_change(flip)}"


def trace_address(review: Review, trace_id: str | None) -> str:
    """Return the address of a trace, which holds nothing of the run but the trace's 32 hex digits; empty without one.

    A first run takes its settings from the change itself, which leads nobody anywhere.
    """
    settings = review.run.config
    if not trace_id or not isinstance(settings, Config) or settings.ask.trace_url is None or review.context.first_run:
        return ""
    return settings.ask.trace_url.replace(TRACE_ID, trace_id)
