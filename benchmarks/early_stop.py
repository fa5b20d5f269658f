"""What an early stop saves and costs: raggate's decision on simulated runs, asked whole and with `gate.early_stop`.

Prints Markdown tables. Scores are simulated, seeded; what decides are the functions of `raggate.gate`. Run as
`python -m benchmarks.early_stop [--runs N]`.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from benchmarks import raggate_rule
from benchmarks.rank_model import CHANGES, Change, scores, simulate

from raggate.config.gate_settings import Gate
from raggate.gate.drawn_order import Drawn
from raggate.gate.early_stop import Watch
from raggate.gate.evidence import composite_tests
from raggate.gate.statistics.betting import Total
from raggate.models.comparison import Comparison
from raggate.models.golden import Case

CORE = ("hit_at_5", "mrr_at_10", "ndcg_at_10")
TOLERANCE = 0.05
GREEN_MISSES = 0.05
STOPS: Mapping[str, str | float] = {"certain": "certain", "0.01": 0.01, "0.05": 0.05}
MORE = (
    Change("hard 20 pt", 0.025, "hard", 0.2),
    Change("hard 40 pt", 0.025, "hard", 0.4),
)


@dataclass(frozen=True)
class Stopped:
    """What came of one run: whether it is red with the stop, whether it stopped, and the share of questions asked."""

    red: bool
    early: bool
    asked: float


@cache
def policy(stop: str | float | None) -> Gate:
    """Give the default policy, with an early stop."""
    plain = raggate_rule.gate("either", CORE, CORE)
    return plain.model_copy(update={"early_stop": stop})


def whole(comparison: Comparison) -> bool:
    """Say whether the whole run is red."""
    tests = composite_tests(comparison, {raggate_rule.MODE: CORE})
    return raggate_rule.colour(comparison, policy(None), tests) == "red"


def stopped(comparison: Comparison, order: Drawn, stop: str | float, *, red: bool) -> Stopped:
    """Ask in an order until the run stops."""
    assert comparison.baseline is not None
    watch = Watch(order, comparison.baseline, policy(stop), ())
    by_id = {case.case_id: case for case in comparison.scorecard.cases}
    for case, _ in order:
        watch.hear(by_id[case.id])
        if watch.stop is not None:
            return Stopped(True, True, watch.stop.after / len(order))
    return Stopped(red, False, 1.0)


def green(before: raggate_rule.Scores, after: raggate_rule.Scores, order: Sequence[int]) -> float | None:
    """Say after which share of the questions every tolerance would be kept, with some misses; None where never."""
    totals = {metric: Total() for metric in CORE}
    for number in order:
        for metric, total in totals.items():
            total.expect(max(0.0, before[number][metric] - TOLERANCE))
    for count, number in enumerate(order, 1):
        for metric, total in totals.items():
            was, now = before[number][metric], after[number][metric]
            total.draw(was - now - TOLERANCE, max(0.0, was - TOLERANCE))
        if all(total.certain or total.evidence >= 1 / GREEN_MISSES for total in totals.values()):
            return count / len(order)
    return None


def tables(sizes: Sequence[int], runs: int, seed: int) -> None:
    """Print, for each size, what the stops do at each change."""
    columns = [f"{name}: {what}" for name in STOPS for what in ("red", "stopped wrongly", "asked")]
    for n in sizes:
        print(
            f"\n### {n} questions, {runs} runs a row, %\n\n| change | red when all is asked | {' | '.join(columns)} |"
        )
        print(f"|---|---|{'---|' * len(columns)}")
        for change in (*CHANGES, *MORE):
            print(f"| {change.name} | {' | '.join(row(change, n, runs, seed))} |", flush=True)


def row(change: Change, n: int, runs: int, seed: int) -> list[str]:
    """Play a change through."""
    rng = Random(f"{seed} {change.name} {n}")
    reds, outcomes = 0, {name: list[Stopped]() for name in STOPS}
    wrongly = dict.fromkeys(STOPS, 0)
    for number in range(runs):
        before, after = (scores(ranks) for ranks in simulate(change, n, rng))
        comparison = raggate_rule.compared(before, after)
        red = whole(comparison)
        reds += red
        order = Drawn(
            [Case(id=str(i), question="", answerable=True, hash="same") for i in range(n)],
            [raggate_rule.MODE],
            str(number),
        )
        for name, stop in STOPS.items():
            outcome = stopped(comparison, order, stop, red=red)
            outcomes[name].append(outcome)
            wrongly[name] += outcome.early and not red
    cells = [share(reds, runs)]
    for name, played in outcomes.items():
        asked = sum(outcome.asked for outcome in played)
        cells += [share(sum(outcome.red for outcome in played), runs), share(wrongly[name], runs), share(asked, runs)]
    return cells


def green_tables(sizes: Sequence[int], runs: int, seed: int) -> None:
    """Print what a stop that lets runs pass would save, and how many red ones it would let pass."""
    print(f"\n### A green stop, misses of a tolerance at most {GREEN_MISSES:.0%}; n = {'/'.join(map(str, sizes))}, %\n")
    print("| change | asked | red when all is asked | of these let pass |\n|---|---|---|---|")
    for change in CHANGES:
        cells: list[list[str]] = [[], [], []]
        for n in sizes:
            for cell, text in zip(cells, _green_row(change, n, runs, seed), strict=True):
                cell.append(text)
        print(f"| {change.name} | {' | '.join('/'.join(cell) for cell in cells)} |", flush=True)


def _green_row(change: Change, n: int, runs: int, seed: int) -> list[str]:
    rng = Random(f"green {seed} {change.name} {n}")
    asked, reds, passed = 0.0, 0, 0
    for _ in range(runs):
        before, after = (scores(ranks) for ranks in simulate(change, n, rng))
        red = whole(raggate_rule.compared(before, after))
        at = green(before, after, rng.sample(range(n), n))
        asked += 1.0 if at is None else at
        reds += red
        passed += red and at is not None
    return [share(asked, runs), share(reds, runs), share(passed, reds) if reds else "–"]


def hardest(n: int, orders: int, seed: int) -> None:
    """Print how many orders stop a run of one 0/1 metric that falls by exactly what is allowed, which is not red."""
    lost, missed = round(TOLERANCE * n), n * 3 // 20
    falls = [(-1.0, 0.0)] * lost + [(0.0, 0.0)] * (n - lost - missed) + [(0.0, 1.0)] * missed
    rng = Random(seed)
    stops = dict.fromkeys((0.01, 0.05, 0.1), 0)
    for _ in range(orders):
        rng.shuffle(falls)
        total, most = Total(), 0.0
        for _, gain in falls:
            total.expect(gain + TOLERANCE)
        for change, gain in falls:
            total.draw(change + TOLERANCE, gain + TOLERANCE)
            most = max(most, total.evidence)
        for alarms in stops:
            stops[alarms] += most >= 1 / alarms
    told = ", ".join(f"{share(count, orders)}% at {alarms}" for alarms, count in stops.items())
    print(f"\nOf {orders} orders of {n} questions that fall by exactly what is allowed, stopped: {told}.", flush=True)


def share(count: float, of: int) -> str:
    """Write a share as per cent."""
    value = 100 * count / of
    return f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}"


def main() -> None:
    """Print everything."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 400, 1000])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    hardest(1000, 10 * given.runs, given.seed)
    tables(given.sizes, given.runs, given.seed)
    green_tables(given.sizes, given.runs, given.seed)


if __name__ == "__main__":
    main()
