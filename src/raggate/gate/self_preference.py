"""Grades by several judges, and who answered -> whether a judge prefers the answers of its own kind. Pure.

A judge that gives more than the others may be lenient to anybody. Where models of other families have answered too,
that is taken off; where they have not, the two cannot be told apart, and the row has no `preference`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from raggate.config.judge_settings import PROVIDERS
from raggate.gate.judge_bias import estimate
from raggate.gate.statistics.paired import count_units, unit_changes
from raggate.gate.statistics.student import mean_and_error, t_below, t_quantile
from raggate.models.judging_bias import LEAST_QUESTIONS, AnswerGrades, Estimate, SelfPreference
from raggate.models.scorecard import EPSILON

_SAME_FAMILY = {
    "o": "gpt",
    "chatgpt": "gpt",
    "davinci": "gpt",
    "meta": "llama",
    "codellama": "llama",
    "tinyllama": "llama",
    "mixtral": "mistral",
    "ministral": "mistral",
    "codestral": "mistral",
    "magistral": "mistral",
    "pixtral": "mistral",
    "qwq": "qwen",
    "qvq": "qwen",
    "gemma": "gemini",
}
"""Families by other names that their models go by."""

Gaps = Sequence[tuple[str, float]]
"""By answer: its question, and by how much a judge's grade of it is above those of others."""


def family(model: str) -> str:
    """Give the family of a model by its name: the letters that its last part begins with, in lower case.

    `openai:gpt-4o-2024-08-06` is a `gpt`, `/models/Qwen2.5-14B.gguf` a `qwen`, `llama3:8b` a `llama`. Empty where it
    begins with no letter.
    """
    provider, _, rest = model.strip().lower().partition(":")
    name = rest if provider in PROVIDERS else model.strip().lower()
    beginning = re.match(r"[a-z]*", re.split(r"[/\\]", name)[-1].partition(":")[0])
    letters = beginning[0] if beginning else ""
    return _SAME_FAMILY.get(letters, letters)


def preferences(grades: Sequence[AnswerGrades]) -> tuple[SelfPreference, ...]:
    """Say by judge and score whether the judge gives its own family's answers more than other families' judges do.

    Judges of whose family no answer is have no row, nor have those that no judge of another family stands beside. One
    whose name tells no family may be of any, and is held against nobody.
    """
    families = {row.judge: family(row.judge) for row in grades}
    answering = {family(row.answered_by) for row in grades} - {""}
    return tuple(
        _preference(judge, score, families, rows)
        for score, rows in _by_score(grades).items()
        for judge, kind in families.items()
        if kind in answering and any(other not in {kind, ""} for other in families.values())
    )


def _by_score(grades: Sequence[AnswerGrades]) -> Mapping[str, list[AnswerGrades]]:
    rows: dict[str, list[AnswerGrades]] = defaultdict(list)
    for row in grades:
        rows[row.score].append(row)
    return rows


def _preference(judge: str, score: str, families: Mapping[str, str], rows: Sequence[AnswerGrades]) -> SelfPreference:
    kind = families[judge]
    gaps = [(family(row.answered_by), row.case_id, gap) for row, gap in _gaps(judge, families, rows)]
    own = [(case_id, gap) for answering, case_id, gap in gaps if answering == kind]
    others = [(case_id, gap) for answering, case_id, gap in gaps if answering not in {kind, ""}]
    counts = [count_units(case_id for case_id, _ in side) for side in (own, others)]
    preference = _difference(own, others) if min(counts) >= LEAST_QUESTIONS else None
    return SelfPreference(
        judge=judge,
        family=kind,
        score=score,
        own_questions=counts[0],
        other_questions=counts[1],
        own=_mean(own, tested=preference is None),
        others=_mean(others, tested=False),
        preference=preference,
        finding="not shown" if counts[0] >= LEAST_QUESTIONS else "too few",
    )


def _gaps(
    judge: str, families: Mapping[str, str], rows: Sequence[AnswerGrades]
) -> Iterator[tuple[AnswerGrades, float]]:
    """Give the judge's rows with how far each is above the mean of other families' judges of the same answer."""
    others: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.original.value is not None and families[row.judge] not in {families[judge], ""}:
            others[row.answer].append(row.original.value)
    for row in rows:
        if row.judge == judge and row.original.value is not None and row.answer in others:
            yield row, row.original.value - fmean(others[row.answer])


def _mean(gaps: Gaps, *, tested: bool) -> Estimate | None:
    if not gaps:
        return None
    return estimate([gap for _, gap in gaps], [case_id for case_id, _ in gaps], upwards=True, tested=tested)


def _difference(own: Gaps, others: Gaps) -> Estimate:
    """Give the difference of two means by Welch's t, one-sided upwards."""
    sides = [unit_changes([gap for _, gap in side], [case_id for case_id, _ in side]) for side in (own, others)]
    (mean, error), (other_mean, other_error) = map(mean_and_error, sides)
    difference, spread = mean - other_mean, (error**2 + other_error**2) ** 0.5
    if spread <= EPSILON:
        # no spread to measure by: the share of sign patterns with as much, as in the paired test
        return Estimate(mean=difference, p=0.5 ** min(map(len, sides)) if difference > EPSILON else 1.0)
    freedom = spread**4 / sum(part**4 / (len(side) - 1) for part, side in zip((error, other_error), sides, strict=True))
    half = t_quantile(0.975, freedom) * spread
    p = t_below(-difference / spread, freedom)
    return Estimate(mean=difference, low=difference - half, high=difference + half, p=p)
