"""What the API's own noise says of a run: which changes are no larger than it, and that it excuses none of them."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_comparison, make_delta, make_scorecard
from raggate.cli.check import calibrate
from raggate.config.gate_settings import Gate
from raggate.gate.noise import CALIBRATED_RUNS, LUCK, doubt, explained, inside, kept, unsteady
from raggate.gate.verdict import decide
from raggate.models.comparison import Comparison, Delta
from raggate.models.scorecard import Scorecard
from raggate.scoring import repeats
from raggate.scoring.noise import KEY, Band, Noise
from raggate.scoring.repeats import Repeated
from tables import each_row


def noise(**spreads: float) -> dict[str, Any]:
    bands = {name: Band(low=0.5, high=0.5 + spread, differ=3, cases=20, moved=3) for name, spread in spreads.items()}
    return {KEY: Noise(runs=5, measured="2026-03-04T05:06:07Z", bands={"hybrid": bands}).stored()}


def comparison(*deltas: Delta, stored: dict[str, Any], own: dict[str, Any] | None = None) -> Comparison:
    held = make_baseline(make_scorecard(make_case_score(), fingerprint=stored))
    return make_comparison(*deltas, baseline=held, scorecard=make_scorecard(make_case_score(), fingerprint=own or {}))


def message(held: Comparison, gate: Gate | None = None) -> str:
    """Return what is said of changes inside the noise; empty where nothing is."""
    rows = decide(held, (), gate or Gate()).rows
    return next((reason.message for reason in inside(held, rows)), "")


def test_a_change_inside_the_noise_is_told_and_stays_red() -> None:
    """hit_at_5 fell by 0.06 where equal runs lie 0.08 apart: it may be noise, and the verdict is a regression."""
    held = comparison(make_delta(0.80, 0.74), stored=noise(hit_at_5=0.08))
    assert message(held) == (
        "1 gated metric changed by no more than in 5 equal runs on 2026-03-04, which excuses no loss: "
        "hit@5 (hybrid) −6.0 pt (noise 8.0 pt)"
    )
    verdict = decide(held, (), Gate())
    assert (verdict.outcome, [reason.code for reason in verdict.reasons]) == ("regression", ["worse"])
    assert "noise" in {reason.code for reason in verdict.warnings}


@each_row(
    ("after", "spread", "told"),
    [
        pytest.param(0.74, 0.05, False, id="beyond the noise"),
        pytest.param(0.74, 0.06, True, id="as large as the noise"),
        pytest.param(0.80, 0.06, False, id="no change"),
        pytest.param(0.84, 0.06, True, id="a gain inside the noise"),
        pytest.param(0.78, 0.06, True, id="a loss that is allowed anyway"),
        pytest.param(0.74, 0.0, False, id="a deterministic API"),
    ],
)
def test_what_is_inside(after: float, spread: float, told: bool) -> None:
    """A change counts as inside up to the largest difference of two equal runs, whichever way it goes."""
    assert bool(message(comparison(make_delta(0.80, after), stored=noise(hit_at_5=spread)))) == told


def test_what_was_asked_more_often_is_told_so() -> None:
    """The number of times, how alike the rankings are and the hits that flip stand beside how many differ."""
    counts = {"asked": 20, "failed": 2, "differ": 6, "times": 3, "overlap": 0.8125, "flips": {"hit_at_1": 4}}
    held = comparison(stored={}, own={"repeated": {**counts, "modes": 2}})
    differing, failed = (reason.message for reason in unsteady(held))
    assert differing.startswith(
        "asked 3 times, 6 of 18 questions (counted in each mode) returned other passages or another order "
        "(rank-biased overlap 0.81, 4 flip hit_at_1)"
    )
    assert failed == "2 of 20 questions (counted in each mode) got no answer more than once"


def run(fingerprint: dict[str, Any]) -> Scorecard:
    return make_scorecard(make_case_score("a"), make_case_score("b"), fingerprint=fingerprint)


def test_the_calls_that_are_named_are_those_of_the_command() -> None:
    """`raggate calibrate` asks everything as often by default as the advice says."""
    (runs,) = (option for option in calibrate.params if option.name == "runs")
    assert runs.default == CALIBRATED_RUNS


def test_what_a_promoted_run_will_let_pass() -> None:
    """Whoever promotes a noisy run is told how noisy, by its calibration or its sample; a steady one says nothing."""
    (calibrated,) = kept(run(noise(hit_at_5=0.08)))
    assert calibrated.message.startswith(
        "the API did not always rank alike: 5 equal runs on 2026-03-04, largest in hit@5: 8.0 pt. A later loss"
    )
    sample = Repeated(asked=10, failed=0, differ=3)
    (sampled,) = kept(run({repeats.KEY: sample.stored()}))
    assert "asked twice, 3 of 10 questions returned other passages" in sampled.message
    assert "calibrate" not in calibrated.message
    assert sampled.message.endswith(
        "the baseline is a single run: measure the noise with `raggate calibrate --boot-each` (10 calls) and "
        "promote that run"
    )
    assert [*kept(run({}))] == [*kept(run({repeats.KEY: replace(sample, differ=0).stored()}))] == []


BEST = {"hit_at_5": 1.0, "groundedness": 5.0}


def band(moved: float, cases: int) -> Band:
    return Band(low=0.0, high=1.0, differ=0 if not moved else 1, cases=cases, moved=moved)


@each_row(
    ("moved", "cases", "most"),
    [
        # Wilson's lower ends, by hand with z = 1.96: 1/10 0.0179, 3/10 0.1078, 3/100 0.0103, 10/100 0.0552
        (0, 10, 0),
        (0, 1000, 0),
        (1, 10, 5),
        (3, 10, 13),
        (3, 100, 4),
        (10, 100, 9),
        (100, 100, 64),
    ],
)
def test_what_explains_how_much_of_a_hundred_questions(moved: float, cases: int, most: int) -> None:
    """Nothing seen explains nothing; the more was seen, and of the more questions, the more it explains."""
    assert explained(band(moved, cases), 100) == most


@given(st.floats(0.01, 1), st.integers(1, 200), st.integers(1, 60))
def test_only_a_run_in_a_thousand_loses_as_much_by_noise(share: float, cases: int, asked: int) -> None:
    """One question more than is explained is lost in fewer than a thousandth of the runs of the least noise."""
    moved = share * cases
    most = explained(band(moved, cases), asked)
    z = 1.959963984540054
    half = z * (share * (1 - share) / cases + z * z / (4 * cases * cases)) ** 0.5
    least = max(0.0, (share + z * z / (2 * cases) - half) / (1 + z * z / cases)) / 2
    above = sum(comb(asked, k) * least**k * (1 - least) ** (asked - k) for k in range(most + 1, asked + 1))
    assert above < LUCK * (1 + 1e-6)


def test_points_are_taken_as_shares_of_the_highest() -> None:
    """Of a judge's 5 points noise explains five times as much as of a hit, where five times as much moved."""
    cases = [make_case_score(f"q{number}", dict(BEST)) for number in range(100)]
    bands = {"hybrid": {"hit_at_5": band(3, 100), "groundedness": band(15, 100)}}
    noise = Noise(runs=5, measured="", bands=bands).stored()
    baseline = make_baseline(make_scorecard(*cases, fingerprint={KEY: noise}))
    for lost in (4, 5):
        doubts = [doubt({("hybrid", name): lost * most}, baseline) for name, most in BEST.items()]
        assert [bool(said) for said in doubts] == [lost > 4] * 2


def test_noise_explains_no_amount_of_text() -> None:
    """Characters have no highest value, so that no share of what moved explains a loss that asking again takes back."""
    metric = "context_chars_at_10"
    noise = Noise(runs=5, measured="", bands={"hybrid": {metric: band(9_000, 100)}}).stored()
    baseline = make_baseline(make_scorecard(make_case_score("q", {metric: 4_000.0}), fingerprint={KEY: noise}))
    assert doubt({("hybrid", metric): 1.0}, baseline)
