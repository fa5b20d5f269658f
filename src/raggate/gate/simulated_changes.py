"""Changes played through on a baseline's own questions -> how often each policy is red. Seeded: the same every time.

A change that does no harm gives every fifth question the values of another one, drawn at random from all that the same
metrics apply to, so that no mean is expected to move. With 85% of questions hit, 2.5% lose their hit by it and 2.5%
win one. A harmful one loses every twentieth question besides: each of its values is the worst. Questions of one group
move together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cache
from math import fsum
from random import Random

from msgspec import Struct

from raggate.config.gate_settings import Gate
from raggate.gate.composite import paired_values
from raggate.gate.evidence import ALPHA_BEYOND_TOLERANCE, chances_alone, holm, significant, supported
from raggate.gate.policies import Metric, small_metrics, unproven
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import count_units, paired_test
from raggate.models.baseline import Baseline
from raggate.models.outlook import PolicyOdds
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction

RERANKED = 0.2
"""Share of questions that a change ranks anew."""

LOST = 0.05
"""Share of questions that a harmful change loses."""

CHANGES = 1000
"""How many changes of each kind are played through, fewer of large suites."""

POLICIES = ("either", "evidence", "threshold")

_FEWEST = 100
_WORK = 100_000
_SEED = 13


class _Question(Struct, frozen=True):
    """A question's values by metric, from 0 to 1, higher for better; their mean where it is scored; and its group."""

    number: int
    values: Mapping[str, float]
    score: float | None
    group: str | None


class _Outcome(Struct, frozen=True):
    """What a change does in a mode: the metrics that exceed their tolerance, what the test gives, and the values."""

    mode: _Mode
    over: frozenset[Metric]
    p: float
    drop: float
    after: Mapping[int, Mapping[str, float]]


def policy_odds(baseline: Baseline, groups: Mapping[str, str | None], gate: Gate) -> tuple[PolicyOdds, ...]:
    """Return how often each policy is red on changes that do no harm, and on harmful ones.

    Slices are not played through.

    Args:
        groups: by case id, what a question belongs to; questions it does not name are left out.
        gate: tolerances, composite and the least number of cases.
    """
    modes = _modes(baseline, groups, gate)
    few = small_metrics(gated_sizes(baseline, gate), gate)
    changes = max(_FEWEST, min(CHANGES, _WORK // max(1, sum(len(mode.questions) for mode in modes))))
    shares = []
    for lost in (0.0, LOST):
        draw = Random(_SEED)  # noqa: S311 - the same changes every time
        played = (_red([mode.changed(draw, lost) for mode in modes], few) for _ in range(changes))
        red = Counter(policy for policies in played for policy in policies)
        shares.append({policy: red[policy] / changes for policy in POLICIES})
    neutral, harmful = shares
    return tuple(PolicyOdds(policy=name, neutral=neutral[name], harmful=harmful[name]) for name in POLICIES)


def _red(outcomes: Sequence[_Outcome], few: AbstractSet[Metric]) -> Iterator[str]:
    """Name the policies by which a change is red."""
    tested = [outcome for outcome in outcomes if outcome.mode.scored]
    adjusted = holm([outcome.p for outcome in tested])
    lost = any(significant(p, outcome.drop) for p, outcome in zip(adjusted, tested, strict=True))
    over = frozenset[Metric]().union(*(outcome.over for outcome in outcomes))
    unsupported = {
        outcome.mode.name
        for p, outcome in zip(adjusted, tested, strict=True)
        if not supported(p, possible=outcome.mode.supports(len(tested)))
    }

    @cache
    def chances() -> Mapping[Metric, float]:
        return chances_alone(move for outcome in outcomes for move in outcome.mode.moves(outcome))

    for policy in POLICIES:
        by_test = lost and policy != "threshold"
        excuses, _ = unproven(over, policy, few, unsupported, chances)
        if by_test or len(excuses) < len(over):
            yield policy


class _Mode:
    """The questions of one mode, and what a change makes of them."""

    def __init__(self, name: str, questions: Sequence[_Question], gate: Gate) -> None:
        self.name = name
        self.questions = questions
        self.counts = Counter(name for question in questions for name in question.values)
        rules = {name: gate.rule(name) for name in self.counts}
        self.tolerances = {name: rule.tolerance or 0.0 for name, rule in rules.items() if rule is not None}
        self.places = {
            name: {number: place for place, number in enumerate(self._numbers(name))} for name in self.tolerances
        }
        self.core = gate.composite
        self.scored = [question for question in questions if question.score is not None]
        self.filed = _filed(self.scored)
        self.filed_by_metric = {
            name: _filed([questions[number] for number in places]) for name, places in self.places.items()
        }
        self.donors: dict[frozenset[str], list[_Question]] = {}
        self.groups: dict[object, list[_Question]] = {}
        for question in questions:
            self.donors.setdefault(frozenset(question.values), []).append(question)
            self.groups.setdefault(question.group or question.number, []).append(question)

    def _numbers(self, metric: str) -> list[int]:
        return [question.number for question in self.questions if metric in question.values]

    def supports(self, tests: int) -> bool:
        """Return whether any loss could be evidence for a tolerance, in one of so many tests."""
        units = count_units([question.group for question in self.scored])
        return fewest_losses(units, ALPHA_BEYOND_TOLERANCE / tests) is not None

    def changed(self, draw: Random, lost: float) -> _Outcome:
        """Play one change through, with so large a share of questions lost."""
        falls: dict[str, float] = dict.fromkeys(self.counts, 0.0)
        values: dict[int, Mapping[str, float]] = {}
        scores: dict[int, float] = {}
        for question, after, score in self._moved(draw, lost):
            for name, value in question.values.items():
                falls[name] += (value - after[name]) / self.counts[name]
            values[question.number] = after
            scores[question.number] = score - (question.score or 0.0)
        changes = [scores.get(question.number, 0.0) for question in self.scored]
        over = (name for name, tolerance in self.tolerances.items() if falls[name] > tolerance + EPSILON)
        return _Outcome(
            mode=self,
            over=frozenset((self.name, name) for name in over),
            p=paired_test(changes, self.filed).p,
            drop=max([-fsum(changes) / max(1, len(changes)), *(falls.get(name, 0.0) for name in self.core)]),
            after=values,
        )

    def moves(self, outcome: _Outcome) -> Iterator[tuple[Metric, tuple[list[float], list[str | None] | None]]]:
        """Give, of every gated metric, by how much the questions it applies to changed, and their groups."""
        for name, places in self.places.items():
            changes = [0.0] * len(places)
            for number in outcome.after.keys() & places.keys():
                changes[places[number]] = outcome.after[number][name] - self.questions[number].values[name]
            yield (self.name, name), (changes, self.filed_by_metric[name])

    def _moved(self, draw: Random, lost: float) -> Iterator[tuple[_Question, Mapping[str, float], float]]:
        """Yield the questions that a change moves, with their new values and their new score."""
        number = draw.random
        for members in self.groups.values():
            reranked, gone, place = number(), number(), number()
            for question in members if gone < lost or reranked < RERANKED else ():
                if gone < lost:
                    yield question, dict.fromkeys(question.values, 0.0), 0.0
                else:
                    donors = self.donors[frozenset(question.values)]
                    donor = donors[int(place * len(donors))]
                    yield question, donor.values, donor.score or 0.0


def _modes(baseline: Baseline, groups: Mapping[str, str | None], gate: Gate) -> list[_Mode]:
    by_mode: dict[str, list[_Question]] = {}
    for case in baseline.scorecard.cases:
        if case.case_id in groups:
            means = baseline.scorecard.slices.get(case.mode, {}).get(OVERALL, {})
            directions = {name: mean.direction for name, mean in means.items()}
            members = by_mode.setdefault(case.mode, [])
            members.append(_question(len(members), case, groups[case.case_id], gate, directions))
    return [_Mode(name, questions, gate) for name, questions in by_mode.items()]


def _filed(questions: Sequence[_Question]) -> list[str | None] | None:
    """Return the group of each question; None where all stand alone, so that no test puts them together."""
    groups = [question.group for question in questions]
    return groups if any(group is not None for group in groups) else None


def gated_sizes(baseline: Baseline, gate: Gate) -> dict[tuple[str, str], int]:
    """Count the questions of every gated metric of a baseline, by mode."""
    return {
        (mode, name): mean.n
        for mode, slices in baseline.scorecard.slices.items()
        for name, mean in slices.get(OVERALL, {}).items()
        if mean.n and gate.rule(name) is not None
    }


def _question(
    number: int, case: CaseScore, group: str | None, gate: Gate, directions: Mapping[str, Direction]
) -> _Question:
    scored = paired_values(case, case, gate.composite, directions)
    gated = paired_values(case, case, [name for name in directions if gate.rule(name) is not None], directions)
    score = fsum(value for value, _ in scored.values()) / len(scored) if scored else None
    values = {name: value for name, (value, _) in {**gated, **scored}.items()}
    return _Question(number=number, values=values, score=score, group=group)
