"""What the statistics of a comparison cost: a paired test and an interval for every metric, over all cases and slices.

Prints seconds for 1,000 and 10,000 cases of 12 metrics, half of them 0 or 1 per case, over all cases and ten slices of
a tenth each: 132 tests and as many intervals. No p-value is taken from an earlier one's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from time import perf_counter

from raggate.gate.statistics.intervals import t_interval, tango
from raggate.gate.statistics.mcnemar import unconditional
from raggate.gate.statistics.paired import MCNEMAR, paired_test
from raggate.gate.statistics.power import visible_drop
from raggate.gate.statistics.student import t_quantile

METRICS = 12
SLICES = 10
ROUNDS = 5


def metrics(cases: int, rng: Random) -> list[list[float]]:
    """Give the changes of every case in each metric: a tenth of the cases moved."""
    sizes = [1.0], [1 / 2, 1 / 3, 1 / 6, 0.37, 0.12]
    return [
        [rng.choice((-1, -1, 1)) * rng.choice(sizes[metric % 2]) if rng.random() < 0.1 else 0.0 for _ in range(cases)]
        for metric in range(METRICS)
    ]


def statistics(changes: Sequence[float]) -> None:
    """Test one metric over some cases, with its interval and what it could have seen."""
    n = len(changes)
    moved = sum(change != 0 for change in changes)
    visible_drop(n, moved / n)
    if paired_test(changes).test == MCNEMAR:
        lost = sum(change < 0 for change in changes)
        tango(n, lost, moved - lost)
    else:
        t_interval(changes)


def seconds(cases: int) -> float:
    """Give the least time of a few rounds."""
    rounds = []
    for seed in range(ROUNDS):
        rows = metrics(cases, Random(seed))
        unconditional.cache_clear()
        t_quantile.cache_clear()
        begin = perf_counter()
        for changes in rows:
            statistics(changes)
            for part in range(SLICES):
                statistics(changes[part::SLICES])
        rounds.append(perf_counter() - begin)
    return min(rounds)


if __name__ == "__main__":
    for cases in (1_000, 10_000):
        print(f"{cases} cases, {METRICS} metrics, all and {SLICES} slices: {seconds(cases):.2f} s")
