"""What a suite can show before anything is asked."""

from __future__ import annotations

import pytest

from builders import make_baseline, make_config, make_golden, make_ranked_run
from raggate.gate.suite_checks import suite_outlook
from raggate.models.golden import Golden
from raggate.models.lint import ModeOutlook
from raggate.scoring.score import score

CUTOFFS = (1, 5, 10)


def golden(size: int, per_note: int = 1) -> Golden:
    """Build questions, so many of each note."""
    groups = tuple(f"note {n // per_note}" if per_note > 1 else None for n in range(size))
    return make_golden(*make_ranked_run(*[1] * size, groups=groups).golden.cases)


def test_without_a_baseline() -> None:
    """The golden set alone tells what can be seen."""
    outlook = suite_outlook(make_config(), golden(40), None)
    (mode,) = outlook.modes
    assert (mode.questions, mode.units, mode.visible_drop) == (40, 40, pytest.approx(0.1591, abs=1e-4))
    assert mode.fine == ()


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


def test_metrics_that_are_fine_or_small() -> None:
    """Gated metrics are named whose tolerance is finer than what can be seen, or which few questions have."""
    run = make_ranked_run(*[1] * 40)
    settings = make_config(gate={"tolerance": 0.2, "metrics": {"hit_at_1": 0.1, "mrr_at_5": 0.1}, "min_cases": 50})
    outlook = suite_outlook(settings, run.golden, make_baseline(score(run, CUTOFFS)))
    (mode,) = outlook.modes
    assert mode.fine == ("hit_at_1", "mrr_at_5")
    assert mode.small == ()
