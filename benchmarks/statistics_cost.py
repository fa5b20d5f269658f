"""What the statistics of a comparison cost: every row with its interval, and all the tests that decide.

Prints seconds for 1,000 and 10,000 cases of 12 gated metrics, half of them 0 or 1 per case, over all cases and ten
slices of a tenth each: 132 rows, the test of the composite, and each metric's own test, which `evidence` asks for where
the composite shows no loss: a tenth of the cases moved, for the better in its three metrics and for the worse in the
others. No p-value is taken from an earlier round's cache.
"""

from __future__ import annotations

from random import Random
from time import perf_counter

from raggate.config.gate_settings import Gate
from raggate.gate import policies
from raggate.gate.deltas import PairedCases
from raggate.gate.statistics.distributions import t_quantile
from raggate.gate.statistics.mcnemar import unconditional
from raggate.gate.statistics.paired import tango
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.scorecard import OVERALL, CaseScore, MetricValue, Scorecard

MODE = "hybrid"
METRICS = [f"metric_{number}" for number in range(12)]
SLICES = (OVERALL, *(f"tag={number}" for number in range(10)))
GRADES = (1 / 2, 1 / 3, 1 / 6, 0.37, 0.12)
ROUNDS = 5
GATE = Gate.model_validate(
    {"policy": "evidence", "composite": METRICS[:3], "metrics": {name: {"tolerance": 0.0} for name in METRICS}}
)


def scorecards(cases: int, rng: Random) -> tuple[Scorecard, Scorecard]:
    """Return the scores of the same cases before and after a change."""
    before = [_case(number, {name: _value(name, rng) for name in METRICS}) for number in range(cases)]
    after = [
        _case(number, {name: _moved(name, value, rng) for name, value in case.values.items()})
        for number, case in enumerate(before)
    ]
    return _scorecard(before), _scorecard(after)


def _value(name: str, rng: Random) -> float:
    if METRICS.index(name) % 2:
        return rng.choice(GRADES)
    return float(rng.random() < 0.85)


def _moved(name: str, value: float | None, rng: Random) -> float | None:
    if rng.random() >= 0.1:
        return value
    choose = max if name in GATE.composite else min
    return choose(value or 0.0, _value(name, rng))


def _case(number: int, values: dict[str, float | None]) -> CaseScore:
    slices = (OVERALL, SLICES[1 + number % 10])
    return CaseScore(case_id=f"q{number}", mode=MODE, hash="same", values=values, slices=slices)


def _scorecard(cases: list[CaseScore]) -> Scorecard:
    mean = MetricValue(value=0.5, n=len(cases), unscored=0, direction="higher")
    slices = {MODE: {name: dict.fromkeys(METRICS, mean) for name in SLICES}}
    return Scorecard(suite="", run_id="", fingerprint={}, cases=tuple(cases), slices=slices, counts={}, operations=None)


def statistics(before: Scorecard, after: Scorecard) -> None:
    """Compare and decide."""
    paired = PairedCases([*zip(before.cases, after.cases, strict=True)])
    like = after.slices[MODE][OVERALL]
    deltas = [paired.row((MODE, part, name), like[name]) for part in SLICES for name in METRICS]
    baseline = Baseline(source="", scorecard=before, provenance={})
    policies.classified(Comparison(baseline=baseline, scorecard=after, deltas=tuple(deltas)), GATE, ())


def seconds(cases: int) -> float:
    """Return the least time of a few rounds."""
    rounds = []
    for seed in range(ROUNDS):
        sides = scorecards(cases, Random(seed))
        for cached in (unconditional, t_quantile, tango):
            cached.cache_clear()
        begin = perf_counter()
        statistics(*sides)
        rounds.append(perf_counter() - begin)
    return min(rounds)


if __name__ == "__main__":
    for cases in (1_000, 10_000):
        print(f"{cases} cases, {len(METRICS)} metrics, all and {len(SLICES) - 1} slices: {seconds(cases):.2f} s")
