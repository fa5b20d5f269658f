"""Questions that broke, got worse, were not found or were fixed: with ranks, causes and traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raggate.base.quote import enumerated
from raggate.models.comparison import Flip
from raggate.models.metric_names import ABSTENTION, ABSTENTION_ACCURACY, RECALL_ALL, family
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.parts import formatting, reasons
from raggate.reports.parts.document import (
    KEPT,
    Block,
    Bullets,
    Line,
    Paragraph,
    Part,
    Span,
    Table,
    bold,
    bulleted,
    line,
)
from raggate.reports.parts.markup import source_address
from raggate.scoring import figures

SHOWN = 200
"""Questions on a page; the rest is in verdict.json."""


def misses_title(review: Review) -> str:
    """Name the list, and the modes it is of where others are compared."""
    modes = [*dict.fromkeys(flip.mode for flip in review.misses)] if review.comparison.baseline is not None else []
    of_modes = f" in modes without a baseline ({enumerated(modes)})" if modes else ""
    in_part = ", or not completely" if any(family(flip.metric) == RECALL_ALL for flip in review.misses) else ""
    return formatting.title(f"were not found{in_part}{of_modes}", review.misses)


def rank_change(flip: Flip) -> str:
    """Write where the gold support was and is; of a question that fell, also by which metric that was seen."""
    if flip.kind == "fell":
        return _fall(flip)
    since = "" if flip.since == "same" else f", {flip.since} since the baseline"
    if flip.metric in ABSTENTION:
        abstained, did_not = "abstained", "did not abstain"
        good, bad = (abstained, did_not) if flip.metric == ABSTENTION_ACCURACY else (did_not, abstained)
        courses = {"absent": bad, "missed": f"{bad}{since}", "broke": f"{good} → {bad}"}
        return courses.get(flip.kind, f"{bad} → {good}")
    if flip.kind == "missed" and since:
        return _places(flip)[1] + since
    return _places(flip)[1] if flip.kind == "absent" else _course(flip)


def _places(flip: Flip) -> tuple[str, str]:
    noun, absent = ("complete at rank", "incomplete") if family(flip.metric) == RECALL_ALL else ("rank", "not found")
    before, after = (f"{noun} {rank}" if rank else absent for rank in (flip.before, flip.after))
    return before, after


def _course(flip: Flip) -> str:
    before, after = _places(flip)
    if before == after:
        return f"{after}, as in the baseline"
    return f"{before} → {flip.after if flip.before and flip.after else after}"


def _fall(flip: Flip) -> str:
    name = figures.title(flip.metric)
    if flip.since == "added":
        return f"{name} lower than usual, {_places(flip)[1]}, added since the baseline"
    if flip.values is not None:
        return f"{name} {figures.both(flip.metric, *flip.values)}"
    if flip.support is None:
        return f"{name} worse"
    since = ", relabelled since the baseline" if flip.since == "relabelled" else ""
    return f"{name} worse, {_course(flip)}{since}"


def what_broke(review: Review) -> Part:
    """Count the questions that make it red by what happened to them, with an example of each."""
    if review.run.stopped is not None:
        return Part(name="questions that broke", blocks=())
    broke, fallen = formatting.broke(review), [flip for flip in review.fallen if review.verdict.is_red(flip)]
    flips = broke or fallen
    rows = [
        (
            f"{cause[:1].upper()}{cause[1:]}",
            str(len(same)),
            line(bold(_asked(same[0]), 80), f"{_must(same[0])}: {rank_change(same[0])}"),
        )
        for cause, same in reasons.grouped(flips).items()
    ]
    head = ("what happened", "questions", "for example")
    blocks = (Table(head, rows, ("questions",), most=12), *bulleted(reasons.changes(review)))
    title = formatting.title("broke", broke) if broke else formatting.fallen_title(fallen) if fallen else "What changed"
    return Part(name="questions that broke", title=title, blocks=blocks, rank=KEPT)


def lists(review: Review, links: Links | None) -> list[Part]:
    """Fold the questions that broke, got worse and were fixed, each with all that is known of it."""
    broke, fixed = formatting.broke(review), review.comparison.fixed

    def full(flips: Sequence[Flip]) -> tuple[Block, ...]:
        return by_cause(flips, lambda flip: item(flip, review, links), SHOWN)

    several = review.scorecard.several_modes
    rest = (Bullets([(in_line(flip, several=several),) for flip in fixed], SHOWN),)
    every = f"All questions that broke, by cause ({formatting.how_many(broke)})"
    rows = (
        ("all questions that broke", every, full(broke), 3),
        ("questions that got worse", formatting.fallen_title(review.fallen), full(review.fallen), 4),
        ("questions that were fixed", formatting.title("were fixed", fixed), rest, 7),
    )
    return [Part(name=name, title=title, blocks=blocks, folded=True, rank=rank) for name, title, blocks, rank in rows]


def by_cause(flips: Sequence[Flip], write: Callable[[Flip], tuple[Line, ...]], most: int) -> tuple[Block, ...]:
    """Return the first questions below the names of their causes, with how many of all of them have each."""
    totals = {cause: len(same) for cause, same in reasons.grouped(flips).items()}
    blocks: list[Block] = []
    for cause, same in reasons.grouped(flips[:most]).items():
        count = f"{len(same)} of {totals[cause]}" if len(same) < totals[cause] else f"{totals[cause]}"
        blocks.append(Paragraph((line(bold(f"{cause[:1].upper()}{cause[1:]}"), f" ({count})"),)))
        blocks.append(Bullets([write(flip) for flip in same], SHOWN))
    left = len(flips) - most
    return (*blocks, *([Paragraph((line(f"… and {left} more in verdict.json"),))] if left > 0 else []))


def misses(review: Review, links: Links | None) -> Part:
    """List the questions that were not found, where there is nothing to compare them with."""
    several, absent = review.scorecard.several_modes, {flip.mode for flip in review.misses}
    # how far the answers of each mode get, and the step that stops them
    lines = [
        line(f"{reach.mode}: {reach.sentence}." if several else f"{reach.sentence[:1].upper()}{reach.sentence[1:]}.")
        for reach in review.comparison.reach
        if reach.mode in absent and reach.sentence not in review.verdict.headline
    ]
    blocks = (Paragraph(tuple(lines)), Bullets([item(flip, review, links) for flip in review.misses], SHOWN))
    title = misses_title(review)
    return Part(name="questions that were not found", title=title, blocks=blocks, folded=True, rank=3)


def item(flip: Flip, review: Review, links: Links | None = None) -> tuple[Line, ...]:
    """Return a question with everything that is known of it."""
    # what stands above it is not said again
    left = reasons.remaining(flip) if flip.kind != "absent" else flip.why
    why = f"{'' if left.startswith('(') else ':'} {left}" if left else ""
    filed = _filed(flip, several=review.scorecard.several_modes)
    lines = [line(bold(_asked(flip)), f"{_must(flip)} ", filed), line(f"{rank_change(flip)}{why}")]
    address = source_address(links, review.context.source_lines.get(flip.case_id))
    lines.append(line("expected: ", Span(flip.gold if flip.support else "no answer", target=address)))
    if risen := reasons.instead(flip):
        lines.append(line("in its place: ", Span(risen)))
    if flip.trace_id:
        # raggate's own 32 hex digits, checked where a run is read
        lines.append(line("trace: ", Span(flip.trace_id, "code")))
    return tuple(lines)


def _asked(flip: Flip) -> str:
    return flip.question or flip.case_id


def in_line(flip: Flip, *, several: bool) -> Line:
    """Return a question in one line."""
    return line(bold(_asked(flip)), f"{_must(flip)} · {rank_change(flip)} ", _filed(flip, several=several))


def _filed(flip: Flip, *, several: bool) -> Span:
    mode = f" · {flip.mode}" if several else ""
    return Span(f"{flip.case_id}{mode}", "soft", 160)


def _must(flip: Flip) -> str:
    return (" 🔒 must pass" if flip.must_pass else "") + (" · waived" if flip.waived else "")
