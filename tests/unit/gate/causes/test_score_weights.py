"""Score weights: what an API adds up, read off what it lists, exactly or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from raggate.gate.causes.score_weights import FEWEST, ScoreParts, Weights, fitted_weights
from raggate.models.scorecard import ListEntry
from tables import each_row

# neither part can be had from the other
PAIRS = [(0.9, 0.1), (0.8, 0.5), (0.7, 0.2), (0.6, 0.9), (0.5, 0.4), (0.4, 0.8), (0.3, 0.0), (0.2, 0.7)] * 2


def entry(final: float | None, vector: float | None, lexical: float | None) -> ListEntry:
    """Build a place of a list of which only the scores count."""
    return ListEntry(note="00000000", chunk="00000000", final=final, vector=vector, lexical=lexical)


def weights_of(entries: Iterable[ListEntry]) -> Weights | None:
    """Return the weights that the places of lists tell."""
    scores = ScoreParts()
    for place in entries:
        scores.add([place])
    return fitted_weights(scores)


def weighed(vector: float, lexical: float, pairs: Any = PAIRS) -> list[ListEntry]:
    """Build entries whose final score is this sum of its parts."""
    return [entry(vector * one + lexical * other, one, other) for one, other in pairs]


@each_row(("vector", "lexical"), [(0.7, 0.3), (1.0, 0.0), (0.4, 0.6), (0.0, 1.0), (2.0, -0.5)])
def test_weights_are_those_of_the_sum(vector: float, lexical: float) -> None:
    """Where the final score is a sum of weighed parts, the weights are found, also one of 0."""
    assert weights_of(weighed(vector, lexical)) == pytest.approx({"vector": vector, "lexical": lexical})


@each_row("dropped", [None, 0.0])
def test_a_part_that_no_chunk_has_has_no_weight(dropped: float | None) -> None:
    """A part that is never told, or always 0, is left out: nothing says what it would weigh."""
    entries = [entry(vector, vector, dropped) for vector, _ in PAIRS]
    assert weights_of(entries) == pytest.approx({"vector": 1.0})


def test_rounded_scores_still_agree() -> None:
    """Scores that an API rounds to four decimals give the weights as it has them."""
    rounded = [
        entry(round(0.7 * vector + 0.3 * lexical, 4), round(vector, 4), round(lexical, 4)) for vector, lexical in PAIRS
    ]
    assert weights_of(rounded) == pytest.approx({"vector": 0.7, "lexical": 0.3}, abs=1e-3)


@each_row(
    "entries",
    [
        pytest.param([], id="nothing-listed"),
        pytest.param(weighed(0.7, 0.3, PAIRS[: FEWEST - 1]), id="too-few"),
        pytest.param([entry(0.5, None, None)] * 20, id="no-parts"),
        pytest.param([entry(None, 0.5, 0.5)] * 20, id="no-final-score"),
        pytest.param([entry(0.0, 0.0, 0.0)] * 20, id="all-zero"),
        pytest.param([entry(vector, vector, 2 * vector) for vector, _ in PAIRS], id="parts-go-together"),
        pytest.param([entry(vector**2, vector, lexical) for vector, lexical in PAIRS], id="no-sum"),
        pytest.param([entry(1 / (60 + rank), 1 - rank / 40, rank % 7 / 7) for rank in range(1, 30)], id="of-ranks"),
        pytest.param([*weighed(0.7, 0.3), entry(0.9, 0.1, 0.1)], id="one-chunk-disagrees"),
        pytest.param([*weighed(0.7, 0.3), *[entry(0.5, 0.5, None)] * 20], id="a-part-most-chunks-lack"),
        pytest.param([*weighed(0.7, 0.3), entry(1e300, 1e300, 1e300)], id="huge"),
        pytest.param([*weighed(0.7, 0.3), entry(float("nan"), 0.1, 0.1)], id="no-number"),
    ],
)
def test_nothing_is_said_where_chunks_do_not_agree(entries: list[ListEntry]) -> None:
    """No weights are given where they are not exact, cannot be told apart, or too few chunks say so."""
    assert weights_of(entries) is None


SCORE = st.floats(0, 1)


@given(st.lists(st.tuples(SCORE, SCORE), min_size=FEWEST, max_size=40), SCORE, SCORE)
def test_what_is_said_holds_for_every_chunk(pairs: list[tuple[float, float]], vector: float, lexical: float) -> None:
    """Whatever the scores are, weights that are given make each final score of its parts."""
    entries = weighed(vector, lexical, pairs)
    weights = weights_of(entries)
    assume(weights is not None)
    largest = max(abs(item.final or 0.0) for item in entries)
    for item in entries:
        total = sum(weight * getattr(item, part) for part, weight in (weights or {}).items())
        assert total == pytest.approx(item.final, abs=2e-3 * largest)


@given(st.lists(st.tuples(*[st.none() | st.floats(allow_nan=True, allow_infinity=True)] * 3), max_size=30))
def test_any_scores_can_be_looked_at(scores: list[tuple[float | None, ...]]) -> None:
    """Scores of any size, or none, end in weights of the parts there are, or in nothing."""
    weights = weights_of(entry(*item) for item in scores)
    assert weights is None or set(weights) <= {"vector", "lexical"}
