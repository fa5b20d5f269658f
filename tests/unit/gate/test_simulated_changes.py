"""Changes played through on a baseline: what they are, and how often they make each policy red."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from builders import make_baseline, make_ranked_run
from raggate.config.gate_settings import DEFAULT_GATED, Gate
from raggate.gate import simulated_changes
from raggate.gate.compare import compare
from raggate.gate.simulated_changes import POLICIES, policy_odds
from raggate.gate.verdict import decide
from raggate.models.comparison import Comparison
from raggate.models.outlook import PolicyOdds
from raggate.scoring.score import score
from tables import each_row

CUTOFFS = (1, 3, 5, 10)
RANKED = ("hit_at_1", "hit_at_3", "hit_at_5", "hit_at_10", "mrr_at_10", "ndcg_at_10")
SUITE = (1, 1, 1, 1, 2, 1, 3, None, 1, 1, 1, 2, 8, 1, 1, 1, 4, 1, 1, None)


def odds(*ranks: int | None, groups: tuple[str | None, ...] | None = None, **gate: Any) -> dict[str, PolicyOdds]:
    """Play changes through on questions of such ranks."""
    run = make_ranked_run(*ranks, groups=groups or (None,) * len(ranks))
    by_case = {case.id: case.group for case in run.golden.cases}
    played = policy_odds(make_baseline(score(run, CUTOFFS)), by_case, Gate(**gate))
    assert [policy.policy for policy in played] == list(POLICIES)
    return {policy.policy: policy for policy in played}


@pytest.fixture
def few_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play fewer changes through: what is claimed is no share of them."""
    monkeypatch.setattr(simulated_changes, "CHANGES", 100)


@pytest.mark.usefixtures("few_changes")
def test_it_is_the_same_every_time() -> None:
    """The changes are drawn from a fixed seed."""
    assert odds(*SUITE) == odds(*SUITE)


@pytest.mark.usefixtures("few_changes")
def test_nothing_to_lose() -> None:
    """Of a suite whose questions all stand alike no harmless change can be red."""
    assert [policy.neutral for policy in odds(*[1] * 20).values()] == [0.0, 0.0, 0.0]


@pytest.mark.usefixtures("few_changes")
def test_policies_are_ordered() -> None:
    """`either` is red wherever another is; a harmful change is red more often than a harmless one."""
    played = odds(*SUITE * 2)
    for policy in played.values():
        assert policy.neutral <= played["either"].neutral
        assert policy.harmful <= played["either"].harmful
        assert policy.neutral < policy.harmful


def test_level_of_the_test() -> None:
    """A test alone, without a tolerance that anything exceeds, is red on about 5% of harmless changes at most."""
    played = odds(*SUITE * 4, tolerance=1)
    assert played["evidence"].neutral == played["either"].neutral <= 0.07
    assert played["threshold"].neutral == 0.0
    assert played["evidence"].harmful > 0.25


@cache
def all_lost(groups: tuple[str, ...]) -> Comparison:
    """Compare a run that finds nothing with a baseline of which every question was right: one for each group."""
    old, new = (make_ranked_run(*[rank] * len(groups), groups=groups) for rank in (1, None))
    return compare(new, score(new, CUTOFFS), make_baseline(score(old, CUTOFFS)), flip_at=5)


@each_row("per_note", [1, 3])
@each_row("settings", [{}, {"tolerance": 1}, {"min_cases": 7}, {"composite": ["hit_at_10"]}])
@each_row("lost", [1, 2, 3, 4, 6, 12])
def test_what_is_played_through_is_decided_as_a_verdict_is(
    monkeypatch: pytest.MonkeyPatch, lost: int, settings: dict[str, Any], per_note: int
) -> None:
    """Where every question that could be lost is, a policy is red by the odds if and only if its verdict is."""
    monkeypatch.setattr(simulated_changes, "LOST", 1.0)
    monkeypatch.setattr(simulated_changes, "RERANKED", 0.0)
    # with nothing left to chance one change is like any other
    monkeypatch.setattr(simulated_changes, "CHANGES", 1)
    monkeypatch.setattr(simulated_changes, "_FEWEST", 1)
    groups = tuple(f"note {n // per_note}" for n in range(lost))
    # a lost question has the worst value of every metric, which no run of this API gives of the others
    gate = {**settings, "metrics": dict.fromkeys(set(DEFAULT_GATED) - set(RANKED), "off")}
    played = odds(*[1] * lost, groups=groups, **gate)
    for policy, expected in played.items():
        red = decide(all_lost(groups), (), Gate(policy=policy, **gate)).outcome == "regression"
        assert (expected.harmful, expected.neutral) == (float(red), 0.0)


@pytest.mark.usefixtures("few_changes")
def test_metrics_of_few_questions() -> None:
    """What is not judged alone makes nothing red; where all metrics are of few questions they are judged."""
    few = odds(*SUITE, min_cases=21)
    enough = odds(*SUITE, min_cases=20)
    assert few == enough
    assert odds(*SUITE[:5])["either"].neutral > 0


def test_a_metric_beside_the_composite_has_its_own_test() -> None:
    """What no question's score shows is red by the metric's own test, and rarely where nothing is lost."""
    played = odds(*[1, 2] * 40, composite=["hit_at_10"], tolerance=0)
    assert 0.0 < played["evidence"].neutral <= 0.05
    assert played["either"].neutral > 0.25


@pytest.mark.usefixtures("few_changes")
def test_groups_move_together() -> None:
    """The questions of one note are ranked anew and lost together, so that means move more and less is certain."""
    alone = odds(*SUITE * 4)
    together = odds(*SUITE * 4, groups=tuple(f"note {n // 4}" for n in range(80)))
    assert together["threshold"].neutral > alone["threshold"].neutral
    assert together["evidence"].harmful < alone["evidence"].harmful


@pytest.mark.usefixtures("few_changes")
@pytest.mark.parametrize("known", [False, True])
def test_questions_that_are_not_asked_any_more(*, known: bool) -> None:
    """Questions of the baseline that the golden set does not have are left out."""
    run = make_ranked_run(*SUITE)
    groups = {case.id: None for case in run.golden.cases if known}
    played = policy_odds(make_baseline(score(run, (5, 10))), groups, Gate())
    assert any(policy.neutral for policy in played) == known
