"""When an index counts as final."""

from __future__ import annotations

import pytest

from raggate.models.service import IndexState
from raggate.service.index_growth import Expected, Growth
from tables import each_row

SETTLE = 3.0
FIVE = Expected(documents=5, chunks=9)
UNKNOWN = Expected(documents=5)


def state(documents: int | None, chunks: int | None = None, empty: int | None = None, detail: str = "") -> IndexState:
    """Make the state of a healthy API that says it is not indexing."""
    return IndexState(healthy=True, indexing=False, documents=documents, chunks=chunks, empty=empty, detail=detail)


def final_at(expected: Expected, *states: IndexState | None) -> float | None:
    """Return the second at which looks, one each second, the last state over and over, are taken as final."""
    growth = Growth(expected, SETTLE)
    for second in range(20):
        if growth.finished(states[min(second, len(states) - 1)], float(second)):
            return float(second)
    return None


@each_row(
    ("expected", "states", "second"),
    [
        pytest.param(FIVE, [state(5, 9, 0)], 1, id="complete at the second look"),
        pytest.param(FIVE, [state(5, 12)], 1, id="more chunks than the baseline had"),
        pytest.param(FIVE, [state(5)], 1, id="no chunks told"),
        pytest.param(FIVE, [state(None)], 1, id="nothing counted"),
        pytest.param(FIVE, [state(None, 9)], 1, id="chunks alone, as many as the baseline had"),
        pytest.param(FIVE, [state(None, 8)], 3, id="chunks alone, fewer than the baseline had"),
        pytest.param(UNKNOWN, [state(None, 9)], 3, id="chunks alone, and how many there should be is not known"),
        pytest.param(FIVE, [state(None, detail="HTTP 503")], 3, id="kept from counting"),
        pytest.param(FIVE, [state(4, 9)], 3, id="a document is missing"),
        pytest.param(FIVE, [state(5, 8)], 3, id="fewer chunks than the baseline had"),
        pytest.param(FIVE, [state(5, 9, 2)], 3, id="documents without chunks"),
        pytest.param(UNKNOWN, [state(5, 9)], 3, id="how many chunks there should be is not known"),
        pytest.param(FIVE, [state(5, 7), state(5, 8), state(5, 9)], 5, id="complete, and seen to grow"),
        pytest.param(FIVE, [state(5, 9), None, state(5, 9)], 3, id="no answer in between"),
        pytest.param(FIVE, [state(1, 3), state(1, 3), state(1, 3), state(2, 5)], 6, id="a pause shorter than settle"),
    ],
)
def test_when_an_index_is_final(expected: Expected, states: list[IndexState | None], second: float) -> None:
    """One that is known to be complete at the second look; one that grew, or may be incomplete, once it has settled."""
    assert final_at(expected, *states) == second


@each_row(
    ("expected", "seen", "second"),
    [
        pytest.param(FIVE, state(5, 0), None, id="no chunk"),
        pytest.param(UNKNOWN, state(None, 0), None, id="no chunk, and no count of documents"),
        pytest.param(FIVE, state(0), None, id="no document"),
        pytest.param(Expected(documents=5, chunks=0), state(5, 0), 1, id="as the baseline's index counted"),
        pytest.param(Expected(documents=0), state(0, 0), 3, id="no note has text"),
    ],
)
def test_an_empty_index_is_never_final(expected: Expected, seen: IndexState, second: float | None) -> None:
    """No time makes an index that holds nothing one to ask, unless nothing is what it should count."""
    assert final_at(expected, seen) == second


def test_an_index_that_grows_for_ever() -> None:
    """Numbers that change from look to look are never final."""
    growth = Growth(FIVE, SETTLE)
    assert not any(growth.finished(state(5, number), float(number)) for number in range(100))
