"""False alarms and faults seen, by policy, number of gated metrics and number of questions: the tables of decision 17.

Ranks are simulated, seeded (`rank_model`), and decided on by the gate's own functions (`raggate_rule`). Run as
`python -m benchmarks.false_alarms [--runs N]`; a thousand runs a cell take some ten minutes. `--drops` prints the
smallest drops that are seen 4 times in 5 instead.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import log2
from random import Random
from typing import Literal

from benchmarks import raggate_rule
from benchmarks.decision_tables import CORE, SIX, cell, table
from benchmarks.rank_model import ABSENT, Change, simulate

from raggate.gate.policies import composites

ELEVEN = (*SIX, "hit_at_2", "mrr_at_3", "mrr_at_5", "ndcg_at_3", "ndcg_at_5")
SIZES = (20, 30, 50, 100, 200, 400)
CHURN = Change("harmless, churn 2.5%", 0.025)
CHANGES = (
    CHURN,
    Change("harmless, churn 5.5%", 0.055),
    Change("ranks slip by 5 points", 0.025, "soft", 0.05),
    Change("5 points of notes vanish", 0.025, "hard", 0.05),
    Change("a group of 20% is lost", 0.025),
)
POLICIES = raggate_rule.POLICIES


@cache
def _scores(rank: int) -> dict[str, float]:
    """Return the metrics of a question whose note is at a rank."""
    values = {}
    for name in ELEVEN:
        kind, _, cutoff = name.split("_")
        worth = {"hit": 1.0, "mrr": 1.0 / rank, "ndcg": 1.0 / log2(rank + 1)}[kind]
        values[name] = worth if rank < ABSENT and rank <= int(cutoff) else 0.0
    return values


def _run(change: Change, n: int, rng: Random) -> tuple[list[int], list[int], list[str] | None]:
    """Return ranks before and after, and groups where there are some."""
    before, after = simulate(change, n, rng)
    if "group" not in change.name:
        return before, after, None
    lost = n // 5
    return (
        before,
        [ABSENT] * lost + after[lost:],
        ["the group"] * lost + [f"note {number}" for number in range(n - lost)],
    )


def tally(change: Change, n: int, runs: int, seed: int) -> Counter[tuple[str, int, str]]:
    """Count what a reader sees, by policy and number of metrics."""
    rng = Random(f"{seed} {change.name} {n}")
    seen: Counter[tuple[str, int, str]] = Counter()
    for _ in range(runs):
        before, after, groups = _run(change, n, rng)
        comparison = raggate_rule.compared(*([_scores(rank) for rank in side] for side in (before, after)), groups)
        for metrics in (SIX, ELEVEN):
            part = raggate_rule.only(comparison, [delta for delta in comparison.deltas if delta.metric in metrics])
            for policy in POLICIES:
                gate = raggate_rule.gate(policy, metrics, CORE)
                seen[policy, len(metrics), raggate_rule.colour(part, gate, composites(part, gate, ()))] += 1
    return seen


def rows(sizes: Sequence[int], runs: int, seed: int) -> dict[str, list[str]]:
    """Return the cells of every change by policy, metrics and what a reader sees."""
    cells: dict[str, list[str]] = {}
    for change in CHANGES:
        tallies = [tally(change, n, runs, seed) for n in sizes]
        for policy in POLICIES:
            for metrics in (6, 11):
                red = [seen[policy, metrics, "red"] / runs for seen in tallies]
                told = [1.0 - seen[policy, metrics, "green"] / runs for seen in tallies]
                cells.setdefault(f"`{policy}`, {metrics} metrics: red", []).append(cell(red))
                cells.setdefault(f"`{policy}`, {metrics} metrics: red or warning", []).append(cell(told))
    return cells


def smallest_drop(kind: Literal["soft", "hard"], n: int, policy: str, colours: set[str], runs: int) -> float:
    """Return the smallest drop of hit@5 that four runs in five show in these colours, by halving."""
    gate = raggate_rule.gate(policy, SIX, CORE)
    low, high = 0.0, 0.4
    for _ in range(7):
        change, rng = Change("a drop", 0.025, kind, (low + high) / 2), Random(f"{kind} {n}")
        seen = 0
        for _ in range(runs):
            sides = ([_scores(rank) for rank in ranks] for ranks in simulate(change, n, rng))
            comparison = raggate_rule.compared(*sides)
            comparison = raggate_rule.only(comparison, [row for row in comparison.deltas if row.metric in SIX])
            seen += raggate_rule.colour(comparison, gate, composites(comparison, gate, ())) in colours
        low, high = (low, change.drop) if seen >= 0.8 * runs else (change.drop, high)
    return high


def drops(runs: int) -> dict[str, list[str]]:
    """Return by policy and colour the smallest drops, in points."""
    kinds: tuple[Literal["soft", "hard"], ...] = ("soft", "hard")
    return {
        f"`{policy}`: {' or '.join(sorted(colours))}": [
            "/".join(f"{100 * smallest_drop(kind, n, policy, colours, runs):.1f}" for n in SIZES[:5]) for kind in kinds
        ]
        for policy in POLICIES
        for colours in ({"red"}, {"red", "warning"})
    }


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs a cell")
    parser.add_argument("--seed", type=int, default=13, help="what the simulation starts from")
    parser.add_argument("--drops", action="store_true", help="print the smallest drops that are seen")
    options = parser.parse_args()
    if options.drops:
        sizes = "/".join(map(str, SIZES[:5]))
        table(f"points, n = {sizes}", ["ranks slip", "notes vanish"], iter(drops(options.runs).items()))
        return
    title = f"% of runs, n = {'/'.join(map(str, SIZES))}, {options.runs} runs a cell"
    table(title, [change.name for change in CHANGES], iter(rows(SIZES, options.runs, options.seed).items()))


if __name__ == "__main__":
    main()
