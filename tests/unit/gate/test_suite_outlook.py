"""What a suite can show before anything is asked, and which policy suits it."""

from __future__ import annotations

import pytest

from builders import make_baseline, make_config, make_golden, make_ranked_run
from raggate.gate import simulated_changes
from raggate.gate.suite_outlook import recommended, suite_outlook
from raggate.models.golden import Golden
from raggate.models.outlook import ModeOutlook, PolicyOdds
from raggate.scoring.score import score
from tables import each_row

CUTOFFS = (1, 5, 10)


@pytest.fixture
def few_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play fewer changes through: what is claimed is nothing of how often a policy is red."""
    monkeypatch.setattr(simulated_changes, "CHANGES", 100)


def golden(size: int, per_note: int = 1) -> Golden:
    """Build questions, so many of each note."""
    groups = tuple(f"note {n // per_note}" if per_note > 1 else None for n in range(size))
    return make_golden(*make_ranked_run(*[1] * size, groups=groups).golden.cases)


def test_without_a_baseline() -> None:
    """The golden set alone tells what can be seen; how often the gate is red is not known."""
    outlook = suite_outlook(make_config(), golden(40), None)
    (mode,) = outlook.modes
    assert (mode.questions, mode.units, mode.visible_drop) == (40, 40, pytest.approx(0.1467, abs=1e-4))
    assert (outlook.odds, outlook.recommended, mode.fine) == ((), "", ())


def test_groups_are_what_counts() -> None:
    """Ten questions of each of four notes are four units, of which no loss can be distinguished from chance."""
    (mode,) = suite_outlook(make_config(), golden(40, per_note=10), None).modes
    assert mode == ModeOutlook(mode="hybrid", questions=40, units=4, visible_drop=None)


def test_questions_of_one_mode_only() -> None:
    """A mode has the questions that are asked in it, and several modes share the level."""
    cases = golden(40).cases
    settings = make_config(ask={"modes": ["hybrid", "lexical"]})
    hybrid, lexical = suite_outlook(settings, make_golden(*cases), None).modes
    (alone,) = suite_outlook(make_config(), make_golden(*cases), None).modes
    assert hybrid.visible_drop == lexical.visible_drop
    assert hybrid.visible_drop is not None
    assert alone.visible_drop is not None
    assert hybrid.visible_drop > alone.visible_drop


@pytest.mark.usefixtures("few_changes")
def test_baseline_with_noise() -> None:
    """An API that ranked some questions otherwise when asked twice hides larger drops."""
    run = make_ranked_run(*[1] * 40)
    scorecard = score(run, CUTOFFS)
    noisy = {"repeated": {"asked": 10, "failed": 0, "differ": 2, "questions": []}}
    drops = []
    for fingerprint in ({}, noisy):
        scorecard.fingerprint.update(fingerprint)
        (mode,) = suite_outlook(make_config(), run.golden, make_baseline(scorecard)).modes
        assert mode.visible_drop is not None
        drops.append(mode.visible_drop)
    assert drops[1] > drops[0] * 1.5


@pytest.mark.usefixtures("few_changes")
def test_metrics_that_are_fine_or_small() -> None:
    """Gated metrics are named whose tolerance is finer than what can be seen, or which few questions have."""
    run = make_ranked_run(*[1] * 40)
    settings = make_config(gate={"tolerance": 0.2, "metrics": {"hit_at_1": 0.1, "mrr_at_5": 0.1}, "min_cases": 50})
    outlook = suite_outlook(settings, run.golden, make_baseline(score(run, CUTOFFS)))
    (mode,) = outlook.modes
    assert mode.fine == ("hit_at_1", "mrr_at_5")
    assert mode.small == ()
    assert (outlook.gated, outlook.finest) == (8, 0.1)
    assert len(outlook.odds) == 3


@each_row(
    ("odds", "expected"),
    [
        pytest.param({"either": (0.08, 0.6), "evidence": (0.05, 0.5), "threshold": (0.03, 0.6)}, "either", id="calm"),
        pytest.param({"either": (0.22, 0.8), "evidence": (0.1, 0.5), "threshold": (0.2, 0.8)}, "evidence", id="wolf"),
        pytest.param({"either": (0.3, 0.6), "evidence": (0.0, 0.1), "threshold": (0.3, 0.6)}, "either", id="blind"),
        pytest.param({}, "", id="nothing-known"),
    ],
)
def test_recommendation(odds: dict[str, tuple[float, float]], expected: str) -> None:
    """Recommended is what catches most at few false alarms; never a gate that is hardly ever red."""
    policies = [PolicyOdds(policy=name, neutral=shares[0], harmful=shares[1]) for name, shares in odds.items()]
    assert recommended(policies, "either") == expected


def test_of_policies_that_are_as_good_the_configured_one_is_recommended() -> None:
    """No other policy is said to suit better than one that catches as much and rarely cries wolf, too."""
    policies = [PolicyOdds(policy=name, neutral=0.01, harmful=0.9) for name in ("either", "evidence", "threshold")]
    assert recommended(policies, "threshold") == "threshold"


def test_a_group_that_holds_many_questions() -> None:
    """A group whose loss no test shows is named by its size; groups that are alike are not."""
    groups = ["one note"] * 36 + [None] * 167
    cases = make_ranked_run(*[1] * 203, groups=groups).golden.cases
    (mode,) = suite_outlook(make_config(), make_golden(*cases), None).modes
    assert (mode.units, mode.heavy) == (168, 36)
    (alike,) = suite_outlook(make_config(), golden(200, per_note=4), None).modes
    assert (alike.units, alike.heavy) == (50, 0)
