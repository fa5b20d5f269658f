"""What confirmation makes of a noisy API's red runs: simulated answers in, verdicts by `raggate.gate.confirmation`.

Prints a Markdown table. A steady question always has the same answer; a noisy one is a hit with a chance of its own,
drawn evenly from 0 to 1, so that a third of the noisy ones differ between two answers. Run as
`python -m benchmarks.confirmation [--runs N]`; it takes some minutes.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks import raggate_rule
from benchmarks.decision_tables import cell
from msgspec.structs import replace

from raggate.gate import recheck, verdict
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import Recheck, Verdict
from raggate.scoring import noise, repeats

HIT = "hit_at_5"
GATE = raggate_rule.gate("evidence", (HIT,), (HIT,))
STEADY_HITS = 0.85
TIMES, SAMPLE, CALIBRATED = 2, 10, 5
SETUPS = (("sample", False), ("sample", True), ("calibrated", False), ("calibrated", True))
"""What the baseline knows its noise from, and whether the base build is asked again too."""

Answers = Sequence[float]


@dataclass(frozen=True)
class Change:
    """What a change does: how many questions differ between two runs, before and after, and how many hits it loses.

    With `first_alone` it loses them in its first process and in no other. With `lucky` the baseline is the best of ten
    runs.
    """

    name: str
    before: float
    after: float
    lost: float = 0.0
    first_alone: bool = False
    lucky: bool = False


CHANGES = (
    Change("noise 3%", 0.03, 0.03),
    Change("noise 6%", 0.06, 0.06),
    Change("noise 6%, a lucky baseline", 0.06, 0.06, lucky=True),
    Change("noise 12%, a lucky baseline", 0.12, 0.12, lucky=True),
    Change("noise 12%, a lucky baseline, 10 points lost", 0.12, 0.12, 0.1, lucky=True),
    Change("noise 3%, 5 points lost", 0.03, 0.03, 0.05),
    Change("noise 3%, 10 points lost", 0.03, 0.03, 0.1),
    Change("noise 3% becomes 12%", 0.03, 0.12),
    Change("noise 3%, 10 points lost in the first process alone", 0.03, 0.03, 0.1, first_alone=True),
)


class Suite:
    """Questions of a build, each with the chance that it is a hit."""

    def __init__(self, n: int, rng: Random) -> None:
        self.rng = rng
        self.order = [rng.random() for _ in range(n)]
        self.noisy = [rng.random() for _ in range(n)]
        self.steady = [float(rng.random() < STEADY_HITS) for _ in range(n)]

    def answers(self, differ: float, lost: float = 0.0) -> Answers:
        """Ask everything once of a build with this noise, that loses the first of the steady hits."""
        gone = [place for place, hit in enumerate(self.steady) if hit][: round(lost * len(self.steady))]
        return [
            0.0
            if place in gone
            else float(self.rng.random() < self.noisy[place])
            if self.order[place] < 3 * differ
            else hit
            for place, hit in enumerate(self.steady)
        ]


def case_scores(answers: Answers) -> tuple[CaseScore, ...]:
    """Score the answers."""
    return raggate_rule.compared(
        [{HIT: value} for value in answers], [{HIT: 0.0}] * len(answers)
    ).baseline.scorecard.cases


def fingerprint(suite: Suite, change: Change, known: str) -> Mapping[str, object]:
    """Return what a baseline tells of its noise, by asking the build before the change several times."""
    times = CALIBRATED if known == "calibrated" else 2
    rounds = [case_scores(suite.answers(change.before)) for _ in range(times)]
    answers = [list(scores) for scores in zip(*rounds, strict=True)]
    if known == "calibrated":
        measured = noise.measure(answers, "")
        assert measured is not None
        return {noise.KEY: measured.stored()}
    sample = suite.rng.sample(answers, SAMPLE)
    differ = sum(len({score.values[HIT] for score in scores}) > 1 for scores in sample)
    repeated = repeats.Repeated(asked=SAMPLE, failed=0, differ=differ, bands=noise.bands_of(sample) if differ else {})
    return {repeats.KEY: repeated.stored()}


def decide(scorecard: Scorecard, before: Baseline, _: object) -> Verdict:
    """Decide by other numbers."""
    return decided(before.scorecard.cases, scorecard.cases, before.scorecard.fingerprint)[1]


def decided(
    before: Sequence[CaseScore], after: Sequence[CaseScore], known: Mapping[str, object]
) -> tuple[Comparison, Verdict]:
    """Compare and decide."""
    values = ([{HIT: case.values[HIT] or 0.0} for case in cases] for cases in (before, after))
    comparison = raggate_rule.compared(*values)
    assert comparison.baseline is not None
    stored = replace(comparison.baseline.scorecard, fingerprint=dict(known))
    comparison = replace(comparison, baseline=replace(comparison.baseline, scorecard=stored))
    return comparison, verdict.decide(comparison, (), GATE)


def outcomes(change: Change, n: int, rng: Random) -> dict[tuple[str, bool], tuple[str, str]]:
    """Simulate one run: by what the baseline knows and whether it is asked too, the first and the last outcome."""
    suite = Suite(n, rng)
    before = max((suite.answers(change.before) for _ in range(10 if change.lucky else 1)), key=sum)
    after = suite.answers(change.after, change.lost)
    counts = [(0.0, 1.0), (1.0, 0.0)]
    gained, lost = (sum(pair == move for pair in zip(before, after, strict=True)) for move in counts)
    if raggate_rule.counted(n, lost, gained)["evidence"] != "red":
        return dict.fromkeys(SETUPS, ("pass", "pass"))
    left = 0.0 if change.first_alone else change.lost
    again = tuple(case_scores(suite.answers(change.after, left)) for _ in range(TIMES))
    base = tuple(case_scores(suite.answers(change.before)) for _ in range(TIMES))
    told = {known: fingerprint(suite, change, known) for known, _ in SETUPS}
    ends = {}
    for known, both in SETUPS:
        comparison, first = decided(case_scores(before), case_scores(after), told[known])
        asked = Recheck(
            asked=tuple(sorted(recheck.against(first))),
            gained=tuple(sorted(recheck.gained(first, comparison))),
            base=base if both else (),
            again=again,
        )
        last = recheck.decided_again(first, asked, comparison, GATE, decide)
        ends[known, both] = first.outcome, last.outcome
    return ends


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000, help="simulated runs a cell")
    parser.add_argument("--seed", type=int, default=13, help="what the simulation starts from")
    options = parser.parse_args()
    setups = [f"{known}{', base too' if both else ''}" for known, both in SETUPS]
    print(f"| questions | what is true | first red | {' | '.join(setups)} |\n|---|---|---|{'---|' * len(setups)}")
    for n in (40, 100):
        for change in CHANGES:
            rng = Random(f"{options.seed} {n} {change.name}")
            tallies = {setup: Counter[str]() for setup in SETUPS}
            first = 0
            for _ in range(options.runs):
                ends = outcomes(change, n, rng)
                first += ends[SETUPS[0]][0] == "regression"
                for setup, (_, last) in ends.items():
                    tallies[setup][last] += 1
            shares = [
                cell([tally[name] / options.runs for name in ("regression", "cannot tell")])
                for tally in tallies.values()
            ]
            print(f"| {n} | {change.name} | {cell([first / options.runs])} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
