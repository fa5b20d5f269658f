"""The noise of an API: how far the means of equal runs lie apart, by hand, and what is read back of it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case_score, make_scorecard
from raggate.models.scorecard import CaseScore
from raggate.scoring.noise import KEY, Band, Noise, kept, measure, share_not_seen
from tables import each_row

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def answers(case_id: str, *hits: float | None, mode: str = "hybrid") -> list[CaseScore]:
    """Return a question's scores in runs one after the other."""
    return [make_case_score(case_id, {"hit_at_1": value}, mode=mode) for value in hits]


def test_the_band_of_a_metric() -> None:
    """Three runs of four questions, means 3/4, 2/4 and 2/4: a spread of 0.25, and two questions that differ.

    Each of these flips between two of its three pairs of runs, so that 4/3 flips are expected between two runs.
    """
    noise = measure(
        [answers("q1", 1, 1, 1), answers("q2", 1, 0, 1), answers("q3", 1, 1, 0), answers("q4", 0, 0, 0)], ""
    )
    assert noise is not None
    assert noise.runs == 3
    assert noise.bands == {"hybrid": {"hit_at_1": Band(low=0.5, high=0.75, differ=2, cases=4, moved=4 / 3)}}
    assert noise.bands["hybrid"]["hit_at_1"].spread == 0.25


def test_what_does_not_apply_is_no_value() -> None:
    """A question to which a metric never applies is left out; one to which it does now and then differs."""
    noise = measure([answers("q1", 1, 1), answers("q2", None, None), answers("q3", 0, None)], "")
    assert noise is not None
    assert noise.bands["hybrid"]["hit_at_1"] == Band(low=0.5, high=1.0, differ=1, cases=2, moved=0)


def test_graded_values_move_by_their_mean_difference() -> None:
    """Between answers of 1, 1/2, 1/4 and 1/4 the six differences sum to 5/2, so that the question moves by 5/12."""
    noise = measure([answers("q1", 1, 0.25, 0.5, 0.25)], "")
    assert noise is not None
    assert noise.bands["hybrid"]["hit_at_1"].moved == pytest.approx(5 / 12)


def test_a_call_that_failed_is_no_movement() -> None:
    """A failed call counts as a miss and not as a ranking that came out otherwise."""
    (score,) = answers("q1", 0)
    noise = measure([[*answers("q1", 1), replace(score, failure="timeout")]], "")
    assert noise is not None
    assert noise.bands["hybrid"]["hit_at_1"] == Band(low=0, high=1, differ=1, cases=1, moved=0)


@each_row("runs", [[], [answers("q1", 1)], [answers("q1", 1, 1), answers("q2", 1)]])
def test_a_run_that_lacks_answers_has_no_band(runs: list[list[CaseScore]]) -> None:
    """Means of different questions are no noise."""
    assert measure(runs, "") is None


def test_a_promoted_run_keeps_the_noise_there_is() -> None:
    """A run that asked once does not know how noisy the API is; one that asked several times knows better."""
    before, own = ({KEY: measured(spread).stored()} for spread in (0.3, 0.1))
    plain, calibrated = make_scorecard(fingerprint={"k": 10}), make_scorecard(fingerprint={"k": 10, **own})
    assert kept(plain, before).fingerprint == {"k": 10, **before}
    assert kept(calibrated, before) is calibrated
    assert kept(plain, {KEY: "damaged"}) is plain


def measured(spread: float) -> Noise:
    """Build the noise of three runs."""
    band = Band(low=0.5, high=0.5 + spread, differ=2, cases=10, moved=1.5)
    return Noise(runs=3, measured="2026-01-02T03:04:05Z", bands={"hybrid": {"hit_at_1": band}})


COUNT, NUMBER = st.integers(-1, 3), st.integers(-1, 3) | st.floats(-1, 2)
BAND = st.tuples(NUMBER, NUMBER, COUNT, COUNT) | st.tuples(NUMBER, NUMBER, COUNT, COUNT, NUMBER)
# hardly anything that is drawn freely is a band
BANDS = st.fixed_dictionaries({"hybrid": st.dictionaries(st.text(max_size=3), BAND, min_size=1, max_size=8)})


@given(
    st.one_of(
        BANDS, JSON, st.fixed_dictionaries({KEY: JSON}), st.fixed_dictionaries({"runs": st.just(3), "bands": JSON})
    )
)
def test_nothing_that_is_stored_does_harm(stored: object) -> None:
    """Whatever stands in a file is read as bands that can be, or as nothing."""
    for fingerprint in (stored, {KEY: {"runs": 3, "measured": "", "bands": stored}}, {KEY: stored}):
        noise = Noise.of(fingerprint)
        if noise is not None:
            assert noise.runs > 1
            assert all(band.spread >= 0 for bands in noise.bands.values() for band in bands.values())


def test_what_was_not_seen_may_be_there() -> None:
    """No flip of 40 questions leaves room for noise on 7.2% of such questions, of 400 for 0.7%."""
    assert share_not_seen(40) == pytest.approx(0.0722, abs=0.0001)
    assert share_not_seen(400) == pytest.approx(0.0075, abs=0.0001)
