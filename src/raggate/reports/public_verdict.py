"""A review as the verdict that programs see. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raggate.models import public_verdict as public
from raggate.models.comparison import Flip
from raggate.models.verdict import GatedMetric, Reason, Review
from raggate.reports.parts import formatting
from raggate.text.escape import plain

if TYPE_CHECKING:
    from pathlib import Path


def verdict_of(review: Review, directory: Path) -> public.Verdict:
    """What programs are told of a review, whose reports are in a directory. Texts are one printable line each."""
    verdict = review.verdict
    return public.Verdict(
        outcome=verdict.outcome,
        exit_code=int(verdict.exit_code),
        headline=_line(verdict.headline),
        suite=review.run.suite,
        run_id=review.run.run_id,
        run_directory=directory,
        cases=review.scorecard.questions,
        compared=review.comparison.compared,
        reasons=tuple(map(_reason, formatting.deciding(review))),
        warnings=tuple(map(_reason, formatting.warnings(review))),
        metrics=tuple(_metric(row) for row in verdict.rows if row.gated or row.status == "no baseline"),
        lost=tuple(_question(flip, review) for flip in sorted(review.lost, key=verdict.is_red, reverse=True)),
        part_of=None if (part := review.run.selection) is None else part.of,
    )


def _line(text: str) -> str:
    return plain(text, limit=1500, middle=True)


def _reason(reason: Reason) -> public.Reason:
    return public.Reason(code=reason.code, message=_line(reason.message))


def _metric(row: GatedMetric) -> public.Metric:
    delta = row.delta
    return public.Metric(
        mode=delta.mode,
        slice=delta.slice,
        metric=delta.metric,
        direction=delta.current.direction,
        baseline=delta.baseline.value,
        current=delta.current.value,
        delta=delta.delta,
        allowed=row.allowed,
        limit=row.floor,
        n=delta.current.n,
        status=row.status,
    )


def _question(flip: Flip, review: Review) -> public.Question:
    return public.Question(
        case_id=flip.case_id,
        mode=flip.mode,
        kind="broke" if flip.kind == "broke" else "missed" if flip.kind == "missed" else "fell",
        question=_line(flip.question),
        expected=_line(flip.gold),
        before=flip.before,
        after=flip.after,
        why=_line(flip.why),
        must_pass=flip.must_pass,
        counts=review.verdict.is_red(flip),
        trace_id=flip.trace_id,
    )
