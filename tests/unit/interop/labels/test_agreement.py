"""Agreement by label and by pair, and intervals of means."""

from __future__ import annotations

from math import sqrt

import pytest

from label_builders import make_generation, make_retrieval
from raggate.base.errors import UsageError
from raggate.scoring.intervals import Interval, Sampling, bootstrap
from raggate_interop.labels.agreement import (
    alpha_interval,
    bootstrap_mean,
    cohen_kappa,
    label_agreement,
    pair_agreement,
    paired,
)
from tables import each_row

# Krippendorff (2011), section C: four observers, twelve units, values missing
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "1233244125" + "1.")


def test_alpha_interval() -> None:
    """The interval is the same for the same seed, holds the estimate and stays at or below 1."""
    units = [[value for value in column if value != "."] for column in zip(*FOUR, strict=True)]
    interval = alpha_interval(units, Sampling(seed=7))
    assert interval is not None
    assert interval == alpha_interval(units, Sampling(seed=7))
    assert interval.lower < 0.743 < interval.upper <= 1.0


def test_kappa() -> None:
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: p_o = .7, p_e = .5, kappa = .4."""
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


@each_row(
    ("first", "second", "expected"),
    [("", "", None), ("11", "11", None), ("10", "10", 1.0), ("10", "01", -1.0), ("11", "10", 0.0)],
)
def test_kappa_edges(first: str, second: str, expected: float | None) -> None:
    """Kappa is undefined without units and where chance already agrees always."""
    assert cohen_kappa(first, second) == expected


def test_report() -> None:
    """Labels and pairs are reported over the units both judged; a chunk is a unit of its own."""
    judgments = [
        make_retrieval("yyn", annotator="a", rank=1),
        make_retrieval("nnn", annotator="a", rank=2),
        make_retrieval("yyn", annotator="b", rank=1),
        make_retrieval("nyn", annotator="b", rank=2),
        make_retrieval("nyn", annotator="c", rank=3),
    ]
    topical, sufficient, misleading = label_agreement(judgments, Sampling(resamples=50))
    assert (topical.alpha, topical.percent, topical.items, topical.annotators) == (1.0, 1.0, 2, 3)
    # three ones and a zero, one unit apart: 1 - 3 * 2 / 6
    assert sufficient.alpha == 0.0
    assert sufficient.percent == 0.5
    assert (misleading.alpha, misleading.interval) == (None, None)
    (pair,) = pair_agreement(judgments)
    assert (pair.first, pair.second, pair.shared) == ("a", "b", 2)
    assert pair.kappas == {"topically_relevant": 1.0, "evidence_sufficient": 0.0, "misleading": None}
    assert pair.mean == 0.5


def test_annotators_must_be_named_and_judge_once() -> None:
    """Rows without an annotator, and an annotator with two votes on a unit, are refused by place."""
    with pytest.raises(UsageError, match=r"a\.csv:2: no annotator_id"):
        label_agreement([make_generation(place="a.csv:2")])
    twice = [make_generation(annotator="a", place="a.csv:2"), make_generation(annotator="a", place="a.csv:3")]
    with pytest.raises(UsageError, match=r"a\.csv:3: 'a' judged this already at a\.csv:2"):
        pair_agreement(twice)


def test_bootstrap_draws_as_documented() -> None:
    """Seed 0 gives .844, .758, .421, .259: of two units the first resample is (1, 1), the second (0, 0)."""
    drawn: list[list[int]] = []
    bootstrap(2, lambda indices: drawn.append(list(indices)), Sampling(resamples=2, seed=0))
    assert drawn == [[1, 1], [0, 0]]
    assert bootstrap_mean([0.0, 1.0], Sampling(resamples=2, seed=0)) == Interval(
        pytest.approx(0.025), pytest.approx(0.975)
    )


def test_bootstrap_has_the_width_of_the_normal_interval() -> None:
    """For 400 uniform values the interval is the textbook one, mean plus and minus 1.96 standard errors."""
    values = [index / 399 for index in range(400)]
    interval = bootstrap_mean(values, Sampling(resamples=4000, seed=1))
    assert interval is not None
    error = 1.959964 * sqrt((400 * 400 - 1) / 12) / 399 / sqrt(400)
    assert interval.lower == pytest.approx(0.5 - error, abs=0.003)
    assert interval.upper == pytest.approx(0.5 + error, abs=0.003)


def test_pairs() -> None:
    """Queries are paired by name; those with a value on one side only are left out."""
    current = {"b": 1.0, "a": 0.5, "c": None, "d": 1.0}
    baseline = {"a": 1.0, "b": 1.0, "c": 1.0, "e": 0.0}
    assert paired(current, baseline) == {"a": -0.5, "b": 0.0}
