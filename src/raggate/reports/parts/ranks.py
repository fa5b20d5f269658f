"""Where a question's passage stood and stands, in words. Not escaped."""

from __future__ import annotations

from raggate.models.comparison import Flip
from raggate.models.metric_names import ABSTENTION, ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE, RECALL_ALL, family
from raggate.scoring import figures


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
