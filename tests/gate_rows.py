"""Rows of a comparison, and policies to judge them by: shared by the tests of what decides."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from builders import make_delta
from raggate.config.gate_settings import Gate, Rule
from raggate.models.comparison import Delta
from raggate.models.scorecard import OVERALL

PLAIN = Gate(metrics={"hit_at_5": 0.05, "wrong_rate": 0.05})


SAME = make_delta(0.8, 0.8)


WORSE = make_delta(0.8, 0.7)


def rate(baseline: float | None, current: float | None, **fields: Any) -> Delta:
    """Build a delta of a metric of which less is better."""
    return make_delta(baseline, current, direction="lower", metric="wrong_rate", **fields)


def slice_delta(baseline: float | None = 0.8, current: float | None = 0.7, *, n: int = 10, **fields: Any) -> Delta:
    """Build a delta of the slice `difficulty=hard` with `n` cases on both sides."""
    delta = make_delta(baseline, current, slice="difficulty=hard", **fields)
    return replace(delta, baseline=replace(delta.baseline, n=n), current=replace(delta.current, n=n))


def emptied(**fields: Any) -> Delta:
    """Build a delta whose mode and slice have no case at all any more."""
    return make_delta(0.8, None, **fields)


FLOOR = Gate(metrics={"hit_at_5": Rule(tolerance=0.5, floor=0.75)})


CEILING = Gate(metrics={"wrong_rate": Rule(tolerance=0.5, ceiling=0.25)})


VALUES = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 0.75, 0.8, 1.0]))


DELTAS = st.builds(
    make_delta,
    VALUES,
    VALUES,
    direction=st.sampled_from(["higher", "lower"]),
    metric=st.sampled_from(["hit_at_5", "wrong_rate", "other"]),
    slice=st.sampled_from([OVERALL, "tag=x"]),
    mode=st.sampled_from(["hybrid", "bm25"]),
)


GATES = st.builds(
    Gate,
    tolerance=st.sampled_from([0.0, 0.05, 1.0]),
    slices=st.sampled_from(["warn", "fail", "off"]),
    metrics=st.sampled_from([{}, {"wrong_rate": 0.1}, {"hit_at_5": Rule(floor=0.5), "wrong_rate": Rule(ceiling=0.2)}]),
)
