"""Which reasons and warnings a page still has to tell: not those that its first sentence or another part of it says."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.models.verdict import Reason, Review
from raggate.reports.parts import formatting

_MERGING = frozenset(("breaks-gate", "retires-suite", "baseline-removed", "baseline-outdated"))
"""What stands above any good news, because a merge ends the gate."""


def greeted(review: Review) -> bool:
    """Return whether a review is a first run, with nothing wrong but the missing baseline."""
    codes = {reason.code for reason in review.verdict.reasons}
    # a part of the questions cannot become the baseline that is missing
    return bool(codes) and codes <= {"first-run", "no-baseline"} and review.run.selection is None


def merging(review: Review) -> list[Reason]:
    """Return what a merge would break, where the verdict's own sentence does not say it."""
    reasons = () if formatting.breaks_alone(review) else review.verdict.reasons
    return [reason for reason in (*reasons, *review.verdict.warnings) if reason.code in _MERGING]


def first_cause(review: Review) -> Reason | None:
    """Return why there is no verdict, to be said before anything else; None where there is one."""
    deciding = formatting.deciding(review)
    untold = review.verdict.outcome != "cannot tell" or formatting.breaks_alone(review) or not deciding
    return None if untold else deciding[0]


def further_reasons(review: Review) -> Iterator[Reason]:
    """Yield the reasons that neither the first sentence nor another part tells: tables, questions, invariants, merging.

    Those of a first run are told by its greeting.
    """
    if greeted(review):
        return
    above = {reason.code for reason in merging(review)}
    for position, reason in enumerate(formatting.deciding(review)):
        in_sentence = position == 0 and review.verdict.outcome not in {"regression", "failed in part"}
        elsewhere = reason.invariant is not None or reason.code in above or _shown(reason, review)
        if not (in_sentence or elsewhere):
            yield reason


def _shown(reason: Reason, review: Review) -> bool:
    """Return whether the verdict's sentences, the table of metrics or the lists of questions show a reason."""
    if reason.code in {"worse", "below-floor"}:
        # one that is worse by questions that could not be compared is red for what no table has
        rows = [row.delta for row in formatting.main_rows(review.verdict.rows) if not row.by_others]
        place = (reason.mode, reason.slice, reason.metric)
        return any((row.mode, row.slice, row.metric) == place for row in rows)
    if reason.code == "must-pass":
        return (reason.case_id, reason.mode) in _listed(review)
    if reason.code == "question-worse":
        return any((flip.case_id, flip.mode) == (reason.case_id, reason.mode) for flip in review.comparison.flips)
    return reason.code == "composite-worse"


def _listed(review: Review) -> set[tuple[str | None, str | None]]:
    """Return the questions that must pass and are listed as lost."""
    flips = [flip for flip in review.comparison.broke if flip.must_pass]
    # a list of questions shows one answer of each, and not how many of several miss
    flips += [flip for flip in review.fallen if flip.kind == "missed" and not review.run.repeats]
    return {(flip.case_id, flip.mode) for flip in flips}


def further_warnings(review: Review) -> list[Reason]:
    """Return the warnings that no other part tells: not invariants, slices that are tabled, and what merging breaks."""
    tabled = {(row.delta.mode, row.delta.slice) for row in formatting.slice_rows(review.verdict.rows)}
    shown = set() if formatting.undecided(review) else tabled
    above = {reason.code for reason in merging(review)}
    return [
        reason
        for reason in formatting.warnings(review)
        if reason.invariant is None
        and reason.code not in above
        and not (reason.code == "slice-worse" and (reason.mode, reason.slice) in shown)
    ]


def capital(reason: Reason) -> str:
    """Begin a sentence with a capital, but not one that begins with the name of a metric."""
    named = reason.metric is not None and reason.case_id is None
    return reason.message if named else reason.message[:1].upper() + reason.message[1:]


def sentence(reason: Reason) -> str:
    """Return the same as a whole sentence."""
    text = capital(reason)
    return text if text.endswith((".", "!", "?")) else f"{text}."
