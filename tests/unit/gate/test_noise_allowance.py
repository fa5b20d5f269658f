"""How much of what did not repeat the noise of the baseline's own run explains, by hand."""

from __future__ import annotations

from math import comb

from hypothesis import given, strategies as st

from builders import make_baseline, make_case_score, make_scorecard
from raggate.gate.noise_allowance import LUCK, doubt, explained
from raggate.scoring.noise import KEY, Band, Noise
from tables import each_row

BEST = {"hit_at_5": 1.0, "groundedness": 5.0}


def band(moved: float | None, cases: int) -> Band:
    """Return a band by how much moved in it."""
    return Band(low=0.0, high=1.0, differ=0 if not moved else 1, cases=cases, moved=moved)


@each_row(
    ("moved", "cases", "most"),
    [
        # Wilson's lower ends, by hand with z = 1.96: 1/10 0.0179, 3/10 0.1078, 3/100 0.0103, 10/100 0.0552
        (0, 10, 0),
        (0, 1000, 0),
        (None, 10, 0),
        (1, 10, 5),
        (3, 10, 13),
        (3, 100, 4),
        (10, 100, 9),
        (100, 100, 64),
    ],
)
def test_what_explains_how_much_of_a_hundred_questions(moved: float | None, cases: int, most: int) -> None:
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


def test_a_hair_explains_no_lost_hit() -> None:
    """Last ranks that moved a graded metric by a hundredth of a point explain no lost question."""
    assert explained(band(0.01, 100), 100) == 0


def test_points_are_taken_as_shares_of_the_highest() -> None:
    """Of a judge's 5 points noise explains five times as much as of a hit, where five times as much moved."""
    cases = [make_case_score(f"q{number}", {"hit_at_5": 1.0, "groundedness": 5.0}) for number in range(100)]
    bands = {"hybrid": {"hit_at_5": band(3, 100), "groundedness": band(15, 100)}}
    noise = Noise(runs=5, measured="", bands=bands).stored()
    baseline = make_baseline(make_scorecard(*cases, fingerprint={KEY: noise}))
    for lost in (4, 5):
        doubts = [doubt({("hybrid", name): lost * most}, baseline) for name, most in BEST.items()]
        assert [bool(said) for said in doubts] == [lost > 4] * 2
