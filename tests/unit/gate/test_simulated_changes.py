"""Changes played through on a baseline: what they are, and how often they make each policy red."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_baseline, make_ranked_run
from raggate.config.schema import Gate
from raggate.gate.simulated_changes import POLICIES, policy_odds
from raggate.models.outlook import PolicyOdds
from raggate.scoring.score import score

SUITE = (1, 1, 1, 1, 2, 1, 3, None, 1, 1, 1, 2, 8, 1, 1, 1, 4, 1, 1, None)


def odds(*ranks: int | None, groups: tuple[str | None, ...] | None = None, **gate: Any) -> dict[str, PolicyOdds]:
    """Play changes through on questions of such ranks."""
    run = make_ranked_run(*ranks, groups=groups or (None,) * len(ranks))
    by_case = {case.id: case.group for case in run.golden.cases}
    played = policy_odds(make_baseline(score(run, (1, 3, 5, 10))), by_case, Gate(**gate))
    assert [policy.policy for policy in played] == list(POLICIES)
    return {policy.policy: policy for policy in played}


def test_it_is_the_same_every_time() -> None:
    """The changes are drawn from a fixed seed."""
    assert odds(*SUITE) == odds(*SUITE)


def test_nothing_to_lose() -> None:
    """Of a suite whose questions all stand alike no harmless change can be red."""
    assert [policy.neutral for policy in odds(*[1] * 20).values()] == [0.0, 0.0, 0.0]


def test_policies_are_ordered() -> None:
    """`either` is red wherever another is; a harmful change is red more often than a harmless one."""
    played = odds(*SUITE * 2)
    for policy in played.values():
        assert policy.neutral <= played["either"].neutral
        assert policy.harmful <= played["either"].harmful
        assert policy.neutral < policy.harmful


def test_level_of_the_test() -> None:
    """A test alone, without a tolerance that anything exceeds, is red on about 5 % of harmless changes at most."""
    played = odds(*SUITE * 4, tolerance=1)
    assert played["evidence"].neutral == played["either"].neutral <= 0.07
    assert played["threshold"].neutral == 0.0
    assert played["evidence"].harmful > 0.25


def test_metrics_of_few_questions() -> None:
    """What is not judged alone makes nothing red; where all metrics are of few questions they are judged."""
    few = odds(*SUITE, min_cases=21)
    enough = odds(*SUITE, min_cases=20)
    assert few == enough
    assert odds(*SUITE[:5])["either"].neutral > 0


def test_groups_move_together() -> None:
    """The questions of one note are ranked anew and lost together, so that means move more and less is certain."""
    alone = odds(*SUITE * 4)
    together = odds(*SUITE * 4, groups=tuple(f"note {n // 4}" for n in range(80)))
    assert together["threshold"].neutral > alone["threshold"].neutral
    assert together["evidence"].harmful < alone["evidence"].harmful


@pytest.mark.parametrize("known", [False, True])
def test_questions_that_are_not_asked_any_more(*, known: bool) -> None:
    """Questions of the baseline that the golden set does not have are left out."""
    run = make_ranked_run(*SUITE)
    groups = {case.id: None for case in run.golden.cases if known}
    played = policy_odds(make_baseline(score(run, (5, 10))), groups, Gate())
    assert any(policy.neutral for policy in played) == known
