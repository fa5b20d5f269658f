"""What scores prove of a passage that did not come back. The sentences are specified with the causes."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_case_score, make_chunk, make_labelled, make_result
from raggate.gate.causes.causes import (
    absent_entry,
    answered_for_less,
    find_cause,
    lacks_better,
    outscored,
    stood_clear,
)
from raggate.gate.causes.passages import Asked
from raggate.models.comparison import CauseEvidence, ListEvidence
from raggate.models.run import Chunk
from raggate.scoring.score import list_entries
from tables import each_row

STEADY = {"rescored": {"final": False}}
GOLD = make_chunk("gold", score_final=0.8, score_vector=0.5)


def other(final: float | None, number: int = 1) -> Chunk:
    return make_chunk(f"x{number}", rel_path=f"x{number}.md", score_final=final)


def lost(*now: Chunk, before: tuple[Chunk, ...] = (GOLD,), **lists: Any) -> Asked:
    """Build a question whose passage stood first in the baseline's list and is not among these chunks."""
    case = make_case()
    was, item = (make_labelled(case, make_result("q1", *chunks)) for chunks in (before, now))
    old = make_case_score("q1", rank=1, entries=list_entries(was, 10))
    evidence = CauseEvidence(lists={"hybrid": ListEvidence(**lists)})
    return Asked(item=item, metric="hit_at_5", before=1, after=None, old=old, evidence=evidence)


@each_row(
    ("score", "lists", "clear"),
    [
        pytest.param(0.7, {"shift": 0.0002}, True, id="above-by-more-than-any-score-moved"),
        pytest.param(0.7, {"shift": 0.2}, False, id="others-moved-as-far"),
        pytest.param(0.7, {"shift": 0.0002, "unordered": True}, False, id="less-is-no-lower-place"),
        pytest.param(0.7, {}, False, id="no-shared-scores"),
        pytest.param(0.9, {"shift": 0.0002}, False, id="below-the-last"),
        pytest.param(
            0.2,
            {"shift": 0.7, "rescored": {"vector": False}, "weights": (None, {"vector": 0.5})},
            True,
            id="by-weights",
        ),
        pytest.param(
            0.7,
            {"shift": 0.0, "rescored": {"vector": False}, "weights": (None, {"vector": 0.5})},
            False,
            id="weighed-less",
        ),
    ],
)
def test_a_passage_that_stood_clear_by_score(score: float, lists: dict[str, Any], *, clear: bool) -> None:
    """A passage that others than moved scores put out scored more than the last by more than any score moved."""
    assert stood_clear(lost(other(score), **lists)) is clear


@each_row(("overtaking", "clear"), [(0, True), (1, True), (2, False)])
def test_a_passage_that_stood_clear_by_place(overtaking: int, *, clear: bool) -> None:
    """It stood above more chunks that are still listed than any chunk was overtaken by, whatever the scores are."""
    old, new = ([other(score, number) for number in range(2)] for score in (0.1, 5.0))
    assert stood_clear(lost(*new, before=(GOLD, *old), overtaking=overtaking, shift=9.0)) is clear
    # what came in since then did not stand below it
    assert stood_clear(lost(other(5.0, 7), other(5.0, 8), before=(GOLD, *old), shift=9.0)) is False


@each_row(
    ("now", "lists", "less"),
    [
        pytest.param((), {"answered": 0.3, "shift": 0.1}, True, id="it-had-more-than-moved"),
        pytest.param((), {"answered": 0.75, "shift": 0.1}, False, id="it-may-have-fallen-below"),
        pytest.param((), {"answered": 0.3}, False, id="no-shift-known"),
        pytest.param((), {"shift": 0.0}, False, id="nothing-is-answered"),
        pytest.param((), {"answered": 0.3, "shift": 0.1, "unordered": True}, False, id="scores-are-no-places"),
        pytest.param((0.5,), {"answered": 0.3, "shift": 9.0}, True, id="it-has-more-now"),
        pytest.param((0.2,), {"answered": 0.3, "shift": 0.0}, False, id="it-has-less-now"),
        pytest.param(
            (),
            {"answered": 0.3, "shift": 0.0, "rescored": {"vector": False}, "weights": (None, {"vector": 0.5})},
            False,
            id="less-by-the-weights-of-now",
        ),
    ],
)
def test_others_that_are_answered_for_less(now: tuple[float, ...], lists: dict[str, Any], *, less: bool) -> None:
    """A question was not refused for its scores where others are answered by lists that score less."""
    assert answered_for_less(lost(*map(other, now), **lists)) is less


def test_a_passage_by_its_note() -> None:
    """Where ids are given anew, one that came back may be of another chunk, and a passage is gone with its note."""
    again = make_chunk("gold", rel_path="else.md", score_final=0.1)
    assert absent_entry(lost(again, **STEADY)) is None
    assert outscored(lost(again, renumbered=True, **STEADY)) is True
    own = make_chunk("else", heading_path="# Z", score_final=0.1)
    assert absent_entry(lost(own, renumbered=True, **STEADY)) is None


@each_row(
    ("floors", "lists", "found"),
    [
        pytest.param((0.1, 0.7), STEADY, True, id="scores-more-than-what-is-returned"),
        pytest.param((0.1, 0.8), STEADY, False, id="as-much"),
        pytest.param((0.1, 0.85), STEADY, False, id="less"),
        pytest.param((None, None), STEADY, False, id="no-floor-shows"),
        pytest.param((0.1, 0.7), {}, False, id="scores-may-be-others"),
    ],
)
def test_no_floor_took_what_scores_more(floors: Any, lists: dict[str, Any], *, found: bool) -> None:
    """A list that is empty, though its chunks score more than others that are returned, was not ended by a floor."""
    asked = lost(before=(GOLD,), floors=floors, **lists)
    assert lacks_better(asked) is found
    assert find_cause(asked).stood_clear is found
