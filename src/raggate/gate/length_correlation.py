"""The grades that a run holds, and how long its answers are -> how far the two go together. Pure.

It is no evidence of a bias by itself: a longer answer may be the better one. What a judge gives the same answer made
longer is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import atanh, sqrt, tanh
from statistics import StatisticsError, correlation

from raggate.gate.statistics.paired import count_units
from raggate.models.judging import Judgement
from raggate.models.judging_bias import LEAST_QUESTIONS, LengthCorrelation
from raggate.models.run import LabelledResult

_NORMAL_QUANTILE = 1.959963984540054
_OF_PASSAGES = "context_relevancy"
"""The score that is given without a look at the answer."""


def length_correlations(items: Sequence[LabelledResult]) -> tuple[LengthCorrelation, ...]:
    """Give them by judge and score, of a panel each judge by itself."""
    given: dict[tuple[str, str], list[tuple[str, int, float]]] = defaultdict(list)
    for item in items:
        answer = item.result.response.answer if item.result.response else None
        if not (answer or "").strip():
            continue
        for judgement in map(_first_sample, item.judgements):
            for vote in judgement.votes or (judgement,):
                if vote.value is not None and vote.score != _OF_PASSAGES:
                    given[vote.judge, vote.score].append((item.case.id, len(answer or ""), vote.value))
    return tuple(_correlation(judge, score, rows) for (judge, score), rows in given.items())


def _first_sample(judgement: Judgement) -> Judgement:
    """Give what was said first: the mean of two samples is of nobody's."""
    return judgement.samples[0] if judgement.samples else judgement


def _correlation(judge: str, score: str, rows: Sequence[tuple[str, int, float]]) -> LengthCorrelation:
    units = count_units(case_id for case_id, _, _ in rows)
    rho = spearman([float(length) for _, length, _ in rows], [value for _, _, value in rows])
    if rho is None or units < LEAST_QUESTIONS:
        return LengthCorrelation(judge=judge, score=score, answers=len(rows), questions=units)
    low, high = interval(rho, units)
    return LengthCorrelation(judge=judge, score=score, answers=len(rows), questions=units, rho=rho, low=low, high=high)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Give the rank correlation of two series, ties at the mean of their ranks; None where either does not vary."""
    try:
        return max(-1.0, min(1.0, correlation(_ranks(first), _ranks(second))))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = defaultdict(list)
    for place, value in enumerate(sorted(values), 1):
        places[value].append(place)
    return [(places[value][0] + places[value][-1]) / 2.0 for value in values]


def interval(rho: float, n: int) -> tuple[float, float]:
    """Give the 95% interval of a rank correlation over n independent units, at least 4.

    Source: Bonett and Wright 2000, Psychometrika 65, 23-28: Fisher's z with the variance (1 + rho^2 / 2) / (n - 3).
    """
    if abs(rho) == 1.0:
        return rho, rho
    half = _NORMAL_QUANTILE * sqrt((1.0 + rho * rho / 2.0) / (n - 3))
    return tanh(atanh(rho) - half), tanh(atanh(rho) + half)
