"""Grades of answers as they are and changed without new content -> what sways the judges. Pure.

Nothing of it counts for a verdict. Questions are the units, as answers to one question move together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import fsum
from typing import get_args

from msgspec.structs import replace

from raggate.gate.evidence import ALPHA, holm
from raggate.gate.statistics.intervals import t_interval, tango
from raggate.gate.statistics.paired import count_units, paired_test, unit_changes
from raggate.labels.intervals import wilson
from raggate.models.judging_bias import (
    LEAST_QUESTIONS,
    AnswerGrades,
    BiasFinding,
    Estimate,
    SelfPreference,
    Shift,
    Variant,
)
from raggate.models.scorecard import EPSILON

VARIANTS: tuple[Variant, ...] = get_args(Variant)
_ORDERS = ("reversed", "shuffled")


def shifts(grades: Sequence[AnswerGrades]) -> tuple[Shift, ...]:
    """Say by judge, score and variant what a variant does to the grades; `conclusions` then says what that shows.

    A variant that the judge could tell from no answer has no row; `again` always has one.
    """
    by_judge: dict[tuple[str, str], list[AnswerGrades]] = defaultdict(list)
    for row in grades:
        by_judge[row.judge, row.score].append(row)
    return tuple(
        _shift(variant, rows)
        for rows in by_judge.values()
        for variant in VARIANTS
        if variant == "again" or any(variant in row.variants for row in rows)
    )


def _shift(variant: Variant, rows: Sequence[AnswerGrades]) -> Shift:
    given = [row.variants.get(variant, row.original) for row in rows if _sees(row, variant)]
    pairs = [row for row in rows if variant in row.variants and row.variants[variant].value is not None]
    questions = [row.case_id for row in pairs]
    changes = [_change(row, variant) for row in pairs]
    units = count_units(questions)
    shift = Shift(
        judge=rows[0].judge,
        score=rows[0].score,
        variant=variant,
        answers=len(pairs),
        questions=units,
        not_judged=dict(sorted(Counter(item.reason for item in given if item.reason is not None).items())),
    )
    if not pairs:
        return shift
    moved = sum(abs(change) > EPSILON for change in changes) / len(changes)
    interval = wilson(moved * units, units)
    return replace(
        shift,
        moved=moved,
        moved_low=interval.lower,
        moved_high=interval.upper,
        # of the same asked again nothing is tested: it is no bias, whatever comes of it
        shift=estimate(changes, questions, tested=variant != "again"),
        beyond=_beyond(variant, pairs) if variant in _ORDERS else None,
        finding="not shown" if units >= LEAST_QUESTIONS else "too few",
    )


def _sees(row: AnswerGrades, variant: Variant) -> bool:
    """Say whether the judge was shown the variant, or would have been had it graded the answer as it is."""
    return variant in row.variants or row.original.value is None


def _beyond(variant: Variant, rows: Sequence[AnswerGrades]) -> Estimate | None:
    """Say by how much more grades move than those that were asked for once more; None where none were."""
    both = [row for row in rows if "again" in row.variants and row.variants["again"].value is not None]
    if count_units(row.case_id for row in both) < LEAST_QUESTIONS:
        return None
    changes = [abs(_change(row, variant)) - abs(_change(row, "again")) for row in both]
    return estimate(changes, [row.case_id for row in both], upwards=True)


def estimate(
    changes: Sequence[float], questions: Sequence[str], *, upwards: bool = False, tested: bool = True
) -> Estimate:
    """Give the mean of changes, with interval and, of enough questions, how likely chance alone gives as much.

    Args:
        changes: at least one.
        questions: what each is of.
        upwards: whether a mean below 0 would say nothing; else both directions count.
        tested: whether chance is asked about at all.
    """
    units = unit_changes(changes, questions)
    low, high = _interval(units) or (None, None)
    mean = fsum(changes) / len(changes)
    if len(units) < LEAST_QUESTIONS or not tested:
        return Estimate(mean=mean, low=low, high=high)
    # the test is of "did not get worse"
    up = paired_test([-unit for unit in units]).p
    p = up if upwards else min(1.0, 2.0 * min(up, paired_test(units).p))
    return Estimate(mean=mean, low=low, high=high, p=p)


def _interval(units: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95% interval of a mean; where all that moved did so by one size, that of the counts."""
    sizes = [abs(unit) for unit in units if abs(unit) > EPSILON]
    if not sizes:
        return None
    if max(sizes) - min(sizes) > EPSILON:
        return t_interval(units)
    low, high = tango(len(units), sum(unit < -EPSILON for unit in units), sum(unit > EPSILON for unit in units))
    return low * sizes[0], high * sizes[0]


def conclusions(
    rows: Sequence[Shift], preferences: Sequence[SelfPreference]
) -> tuple[tuple[Shift, ...], tuple[SelfPreference, ...]]:
    """Say what the grades show, with every p adjusted by Holm's method for all that were tested."""
    pairs = [*((row.shift, row.beyond) for row in rows), *((row.own, row.preference) for row in preferences)]
    chances = iter(holm([part.p for pair in pairs for part in pair if part is not None and part.p is not None]))

    def adjusted(part: Estimate | None) -> Estimate | None:
        return part if part is None or part.p is None else replace(part, p=next(chances))

    both = [(adjusted(first), adjusted(second)) for first, second in pairs]
    return (
        tuple(
            replace(row, shift=shift, beyond=beyond, finding=_finding(row.finding, shift, beyond))
            for row, (shift, beyond) in zip(rows, both[: len(rows)], strict=True)
        ),
        tuple(
            replace(row, own=own, preference=preference, finding=_of_own_kind(row.finding, own, preference))
            for row, (own, preference) in zip(preferences, both[len(rows) :], strict=True)
        ),
    )


def _finding(unless: BiasFinding, *parts: Estimate | None) -> BiasFinding:
    by_chance = all(part is None or part.p is None or part.p >= ALPHA for part in parts)
    return unless if by_chance else "shown"


def _of_own_kind(unless: BiasFinding, own: Estimate | None, preference: Estimate | None) -> BiasFinding:
    """Say what is shown where the gap to others is tested only if there is no preference."""
    made = _finding(unless, own, preference)
    return "lenient or partial" if made == "shown" and preference is None else made


def _change(row: AnswerGrades, variant: Variant) -> float:
    original, changed = row.original.value, row.variants[variant].value
    assert original is not None and changed is not None  # noqa: S101, PT018 - only rows with both come here
    return changed - original
