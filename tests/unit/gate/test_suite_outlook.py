"""What a suite can show before anything is asked."""

from __future__ import annotations

import pytest

from builders import make_baseline, make_config, make_golden, make_ranked_run
from raggate.gate.suite_checks import suite_outlook
from raggate.models.golden import Golden
from raggate.scoring.score import score

CUTOFFS = (1, 5, 10)


def golden(size: int, per_note: int = 1) -> Golden:
    groups = tuple(f"note {n // per_note}" if per_note > 1 else None for n in range(size))
    return make_golden(*make_ranked_run(*[1] * size, groups=groups).golden.cases)


def test_without_a_baseline() -> None:
    """The golden set alone tells what can be seen."""
    outlook = suite_outlook(make_config(), golden(40), None)
    (mode,) = outlook.modes
    assert (mode.questions, mode.units, mode.visible_drop) == (40, 40, pytest.approx(0.1591, abs=1e-4))
    assert (mode.told_drop, mode.enough, mode.harmless_red) == (pytest.approx(0.0684, abs=1e-4), (56, 133), 0.0)


def test_groups_are_what_counts() -> None:
    """Ten questions of each of four notes are four units, of which no loss can be distinguished from chance."""
    (mode,) = suite_outlook(make_config(), golden(40, per_note=10), None).modes
    assert (mode.units, mode.blind) == (4, True)


def test_questions_of_one_mode_only() -> None:
    """A mode has the questions that are asked in it, and several modes share the level."""
    cases = golden(40).cases
    settings = make_config(ask={"modes": ["hybrid", "lexical"]})
    hybrid, lexical = suite_outlook(settings, make_golden(*cases), None).modes
    (alone,) = suite_outlook(make_config(), make_golden(*cases), None).modes
    assert hybrid.visible_drop == lexical.visible_drop
    assert hybrid.visible_drop > alone.visible_drop


def test_baseline_with_noise() -> None:
    """An API that ranked some questions otherwise when asked twice hides larger drops."""
    run = make_ranked_run(*[1] * 40)
    scorecard = score(run, CUTOFFS)
    noisy = {"repeated": {"asked": 10, "failed": 0, "differ": 2, "questions": []}}
    drops = []
    for fingerprint in ({}, noisy):
        scorecard.fingerprint.update(fingerprint)
        (mode,) = suite_outlook(make_config(), run.golden, make_baseline(scorecard)).modes
        drops.append(mode.visible_drop)
    assert drops[1] > drops[0] * 1.5


def test_metrics_of_few_questions() -> None:
    """Gated metrics that few questions have are named, unless the whole suite is that small."""
    run = make_ranked_run(*[1] * 40)
    settings = make_config(gate={"metrics": {"hit_at_1": 0.1, "mrr_at_5": 0.1}, "min_cases": 50})
    (mode,) = suite_outlook(settings, run.golden, make_baseline(score(run, CUTOFFS))).modes
    assert mode.small == ()


def test_a_policy_that_is_often_red() -> None:
    """`threshold` with 24 questions is red in one of four harmless changes, and sees 5 points with no number."""
    (mode,) = suite_outlook(make_config(gate={"policy": "threshold"}), golden(24), None).modes
    assert (mode.harmless_red, mode.enough) == (0.25, (56, None))
