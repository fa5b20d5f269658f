"""False alarms and detection of decision rules: raggate's own, by its functions, beside those of other gates.

Prints Markdown tables: what share of runs turns red (or warns) where nothing got worse, and where something did.
Questions scored 0 or 1 are enumerated exactly; graded scores are simulated, seeded. Run as
`python -m benchmarks.decision_tables [--runs N]`; it takes a few minutes.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import comb, exp, floor, log, sqrt
from random import Random

from benchmarks import peer_rules, raggate_rule
from benchmarks.rank_model import CHANGES, Change, scores, simulate

from raggate.gate.evidence import composite_tests
from raggate.gate.policies import red
from raggate.gate.statistics.mcnemar import unconditional
from raggate.models.verdict import CompositeTest

CORE = ("hit_at_5", "mrr_at_10", "ndcg_at_10")
SIX = ("hit_at_1", "hit_at_3", "hit_at_5", "hit_at_10", "mrr_at_10", "ndcg_at_10")
RED, NOT_GREEN = ("red",), ("red", "unsure", "warning")

Colouring = Callable[[int, int, int], str]
"""Units, losses and gains in, a colour out."""

NEUTRAL = {
    "same, noise 0": (0.0, 0.0),
    "noise 1%": (0.005, 0.005),
    "noise 3%": (0.015, 0.015),
    "churn 2%": (0.025, 0.025),
    "churn 5%": (0.055, 0.055),
}
"""Shares of questions lost and gained; where there is churn, with noise of 1% on top."""

WORSE = {
    "2 pt": (0.045, 0.025),
    "5 pt": (0.075, 0.025),
    "10 pt": (0.125, 0.025),
    "pure 5": (0.05, 0.0),
    "pure 10": (0.1, 0.0),
}
"""Shares of questions lost and gained: a drop on top of churn of 2% each way; pure is losses alone."""

GROUPED = {
    "neutral churn 2% + 1% noise": (0.025, 0.025),
    "neutral churn 5%": (0.055, 0.055),
    "drop 5 pt": (0.075, 0.025),
    "drop 10 pt": (0.125, 0.025),
}


def table(title: str, columns: Sequence[str], rows: Iterator[tuple[str, Sequence[str]]]) -> None:
    """Print one table, row by row as they come."""
    print(f"\n### {title}\n\n| rule | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def cell(shares: Sequence[float]) -> str:
    """Write shares as per cent."""
    return "/".join(f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}" for share in shares)


# exact: questions scored 0 or 1


@cache
def likely(n: int, lost: float, gained: float) -> tuple[tuple[int, int, float], ...]:
    """Return losses and gains of n units with their chance, but for those below one in a million."""

    def reach(share: float) -> range:
        half = 6 * sqrt(n * share * (1 - share)) + 6
        return range(max(0, floor(n * share - half)), min(n, floor(n * share + half)) + 1 if share else 1)

    def chance(b: int, c: int) -> float:
        ways = log(comb(n, b)) + log(comb(n - b, c))
        parts = ((b, lost), (c, gained), (n - b - c, 1 - lost - gained))
        return exp(ways + sum(count * log(share) for count, share in parts if count))

    cells = ((b, c, chance(b, c)) for b in reach(lost) for c in reach(gained) if b + c <= n)
    return tuple(entry for entry in cells if entry[2] > 1e-6)


def share_of(colouring: Colouring, colours: Sequence[str], n: int, lost: float, gained: float) -> float:
    """Return the chance of a colour."""
    return sum(chance for b, c, chance in likely(n, lost, gained) if colouring(n, b, c) in colours)


@cache
def fewest(policy: str, colours: tuple[str, ...], n: int, gained: int, size: int) -> int:
    """Return the fewest losses at which raggate shows a colour: more losses and fewer gains are no better."""
    least = fewest(policy, colours, n, gained - 1, size) if gained else 0
    while least <= n - gained and raggate_rule.counted(n, least, gained, size)[policy] not in colours:
        least += 1
    return least


def raggate(policy: str, size: int = 1) -> Colouring:
    """Return the colours of a policy of raggate."""

    def colouring(n: int, lost: int, gained: int) -> str:
        if lost >= fewest(policy, RED, n, gained, size):
            return "red"
        return "warning" if lost >= fewest(policy, NOT_GREEN, n, gained, size) else "green"

    return colouring


@cache
def peer(name: str, size: int = 1) -> Colouring:
    """Return the colours of a peer."""
    rule = peer_rules.RULES[name]
    return cache(lambda n, lost, gained: rule(peer_rules.of_counts(n, lost, gained, size)))


def margin_and_test(n: int, lost: int, gained: int) -> str:
    """Test one 0/1 metric alone: more than 2 points and exact unconditional p < .05."""
    return "red" if lost - gained > 0.02 * n + 1e-9 and unconditional(n, lost, gained) < 0.05 else "green"


def counted_rules(size: int = 1) -> Iterator[tuple[str, Colouring, Sequence[str]]]:
    """Return the rules with the colours that each is read by."""
    for policy in raggate_rule.POLICIES:
        yield f"**raggate `{policy}`** red", raggate(policy, size), RED
    yield "**raggate `evidence`** red or warning", raggate("evidence", size), NOT_GREEN
    yield "any net loss", lambda _, lost, gained: "red" if lost > gained else "green", RED
    for name in peer_rules.RULES:
        yield name, peer(name, size), RED
        if name in peer_rules.UNSURE:
            yield f"{name}, any exit code but 0", peer(name, size), NOT_GREEN


def exact_tables(sizes: Sequence[int]) -> None:
    """Print false alarms and detection of one 0/1 metric."""
    for title, changes in (("False alarms", NEUTRAL), ("Detection", WORSE)):
        rows = (
            (name, [cell([share_of(rule, colours, n, *change) for n in sizes]) for change in changes.values()])
            for name, rule, colours in counted_rules()
        )
        table(f"{title}%, one 0/1 metric, n = {'/'.join(map(str, sizes))}", list(changes), rows)


def group_tables(suites: Sequence[tuple[int, int]]) -> None:
    """Print what questions that move together do to rules that take them for independent."""
    for n, size in suites:
        rows = (
            (name, [cell([share_of(rule, colours, n // size, *change)]) for change in GROUPED.values()])
            for name, rule, colours in grouped_rules(size)
        )
        table(f"Groups: {n} questions, {size} a note; red %", list(GROUPED), rows)


def grouped_rules(size: int) -> Iterator[tuple[str, Colouring, Sequence[str]]]:
    """Return the rules for questions of one note that move together; what warns or is unsure is left out."""
    yield from (rule for rule in counted_rules(size) if rule[2] == RED)
    by_note = peer_rules.nel_gate_by_note
    yield (
        "NeMo `nel gate`, notes given as categories",
        lambda n, lost, gained: by_note(peer_rules.of_counts(n, lost, gained, size)),
        RED,
    )
    yield (
        "an exact test that ignores groups",
        lambda n, lost, gained: margin_and_test(n * size, lost * size, gained * size),
        RED,
    )


# ranks, which are simulated


def rank_table(sizes: Sequence[int], runs: int, seed: int) -> None:
    """Print what graded metrics, their composite and several metrics together do."""
    shares = {change: [tally(change, n, 1, runs, seed) for n in sizes] for change in CHANGES}
    title = f"Ranks: red %, n = {'/'.join(map(str, sizes))}, {runs} runs a cell"
    table(title, [change.name for change in CHANGES], rank_rows(shares, runs))


def rank_group_table(suites: Sequence[tuple[int, int]], runs: int, seed: int) -> None:
    """Print the same where the questions of one note are touched and lost together."""
    changes = [change for change in CHANGES if change.drop in {0.0, 0.05, 0.1} and change.churn > 0.01]
    shares = {change: [tally(change, n, size, runs, seed) for n, size in suites] for change in changes}
    title = f"Ranks in groups: red %, questions, a note: {'; '.join(f'{n}, {size}' for n, size in suites)}"
    table(title, [change.name for change in changes], rank_rows(shares, runs))


def rank_rows(shares: Mapping[Change, Sequence[Mapping[str, int]]], runs: int) -> Iterator[tuple[str, list[str]]]:
    """Return the rows of a simulated table: for each rule, what it does at each change and size."""
    for rule in next(iter(shares.values()))[0]:
        yield rule, [cell([counts[rule] / runs for counts in by_size]) for by_size in shares.values()]


def tally(change: Change, n: int, size: int, runs: int, seed: int) -> dict[str, int]:
    """Count how often each rule is red."""
    rng = Random(f"{seed} {change.name} {n} {size}")
    counts: dict[str, int] = {}
    for _ in range(runs):
        before, after = (scores(ranks) for ranks in simulate(change, n, rng, size))
        rules = raggate_on_ranks(before, after, size) | peers_on_ranks(before, after)
        for rule, is_red in rules.items():
            counts[rule] = counts.get(rule, 0) + is_red
    return counts


def raggate_on_ranks(before: raggate_rule.Scores, after: raggate_rule.Scores, size: int) -> dict[str, bool]:
    """Return which policies are red, and what a test of hit@5 or of questions as units would be."""
    groups = [f"note {number // size}" for number in range(len(before))] if size > 1 else None
    comparison = raggate_rule.compared(before, after, groups)
    tests = composite_tests(comparison, {raggate_rule.MODE: CORE})
    hits = [(old["hit_at_5"], new["hit_at_5"]) for old, new in zip(before, after, strict=True)]
    lost, gained = hits.count((1.0, 0.0)), hits.count((0.0, 1.0))
    rules = {
        "an exact test of hit@5 alone": margin_and_test(len(hits), lost, gained) == "red",
        "the test of the composite alone": red_by_test(tests[0]),
    }
    if size > 1:
        ungrouped = composite_tests(raggate_rule.compared(before, after), {raggate_rule.MODE: CORE})
        rules["the same, questions as units"] = red_by_test(ungrouped[0])
    for metrics in (CORE, SIX):
        part = raggate_rule.only(comparison, [delta for delta in comparison.deltas if delta.metric in metrics])
        for policy in raggate_rule.POLICIES:
            colour = raggate_rule.colour(part, raggate_rule.gate(policy, metrics, CORE), tests)
            rules[f"**raggate `{policy}`**, tolerance on {len(metrics)} metrics"] = colour == "red"
            if policy == "evidence" and metrics == CORE:
                rules["**raggate `evidence`**, red or warning, 3 metrics"] = colour != "green"
    return rules


def red_by_test(test: CompositeTest) -> bool:
    """Return whether the test of the composite makes a run red by itself."""
    return red(test, raggate_rule.gate("evidence", CORE, CORE))


def peers_on_ranks(before: raggate_rule.Scores, after: raggate_rule.Scores) -> dict[str, bool]:
    """Return which peers are red, each on nDCG@10, which serves most of them best."""
    samples = {
        metric: peer_rules.of_values([row[metric] for row in before], [row[metric] for row in after]) for metric in CORE
    }
    rules = {}
    for name, rule in peer_rules.RULES.items():
        if rule is peer_rules.tolerance:
            continue
        if rule is peer_rules.retrieval_eval_gate:
            rules[f"{name}, any of 3 metrics"] = any(rule(sample) == "red" for sample in samples.values())
            continue
        colour = rule(samples["ndcg_at_10"])
        rules[name] = colour == "red"
        if name in peer_rules.UNSURE:
            rules[f"{name}, any exit code but 0"] = colour != "green"
    return rules


def main() -> None:
    """Print all tables."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs a cell of the tables of ranks")
    parser.add_argument("--seed", type=int, default=13, help="what the simulations start from")
    options = parser.parse_args()
    exact_tables((4, 6, 8, 10))
    exact_tables((20, 40, 100, 400))
    group_tables(((100, 2), (100, 4), (400, 4), (400, 10)))
    rank_table((10, 20, 30, 50, 100, 400), options.runs, options.seed)
    rank_group_table(((100, 4), (400, 4), (400, 10)), options.runs, options.seed)


if __name__ == "__main__":
    main()
