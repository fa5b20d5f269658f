"""What all lists of both sides show: thresholds, floors, scores that changed, documents that are gone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score, make_labelled, make_run, make_scorecard
from raggate.gate.cause_evidence import cause_evidence, list_evidence, threshold
from raggate.gate.cause_wording import threshold_change
from raggate.models.comparison import NoteChange
from raggate.models.scorecard import CaseScore, ListEntry


def asked(number: int, *scores: float | None, abstained: bool = False, **fields: Any) -> CaseScore:
    """Build a case whose list has these final scores, each of a chunk of its own."""
    entries = tuple(ListEntry("0000000a", f"{rank:08x}", score) for rank, score in enumerate(scores, 1))
    values = {"false_abstention_rate": float(abstained)}
    return make_case_score(f"q{number}", values, entries=entries, **fields)


def answers(abstained: list[float], answered: list[float]) -> list[CaseScore]:
    """Build cases by the best score of their lists."""
    cases = [asked(number, score, score / 2, abstained=True) for number, score in enumerate(abstained)]
    return cases + [asked(100 + number, score, score / 2) for number, score in enumerate(answered)]


TWENTY = [0.3 + number / 100 for number in range(20)]


@pytest.mark.parametrize(
    ("abstained", "answered", "limits"),
    [
        pytest.param([0.1, 0.2, 0.15], TWENTY, (0.2, 0.3), id="between"),
        pytest.param([], TWENTY, (None, 0.3), id="nothing-refused"),
        pytest.param(TWENTY, [], (0.49, None), id="all-refused"),
        pytest.param([0.1, 0.2, 0.31], TWENTY, None, id="not-by-the-score"),
        pytest.param([0.1, 0.2, 0.3], TWENTY, None, id="one-score-on-both-sides"),
        pytest.param([0.1, 0.2], TWENTY, None, id="two-may-be-accident"),
        pytest.param([0.1, 0.2, 0.25], TWENTY[:16], None, id="too-few-answers"),
        pytest.param([], [], None, id="no-scores"),
    ],
)
def test_threshold(abstained: list[float], answered: list[float], limits: tuple[float, float] | None) -> None:
    """A threshold is seen where every answer is on its side of one, by its best score, and enough answers say so."""
    assert threshold(answers(abstained, answered)) == limits


def test_failed_calls_and_empty_lists_have_no_say() -> None:
    """A call that failed counts as abstained, but did not abstain; a list without scores has no best one."""
    cases = answers([0.1, 0.2, 0.15], TWENTY)
    others = [asked(300, 0.9, abstained=True, failure="timeout"), asked(301, abstained=True), asked(302, None)]
    assert threshold([*cases, *others]) == (0.2, 0.3)


@given(
    st.lists(st.floats(0, 1), min_size=20, max_size=60),
    st.lists(st.floats(0, 1), min_size=20, max_size=60),
    st.floats(0, 1),
)
def test_the_same_threshold_never_looks_moved(before: list[float], now: list[float], limit: float) -> None:
    """Whatever the scores of two runs are, a threshold that stayed is not said to be another."""
    sides = [
        threshold(answers([score for score in side if score < limit], [score for score in side if score >= limit]))
        for side in (before, now)
    ]
    assert threshold_change(*sides) == ""


@given(st.lists(st.floats(0, 1), min_size=20, max_size=60), st.lists(st.floats(0, 1), min_size=20, max_size=60))
def test_a_threshold_that_is_said_to_move_moved_that_way(before: list[float], now: list[float]) -> None:
    """Of two thresholds the one that is called higher is."""
    sides = [
        threshold(answers([score for score in side if score < limit], [score for score in side if score >= limit]))
        for side, limit in ((before, 0.3), (now, 0.6))
    ]
    assert threshold_change(*sides) in {"", "higher"}
    assert threshold_change(*reversed(sides)) in {"", "lower"}


def test_floors_are_the_lowest_scores_of_all() -> None:
    """The floor of a side is the lowest final score of any chunk, None where no chunk has one."""
    evidence = list_evidence([asked(1, 0.9, 0.2), asked(2, 0.5)], [asked(1, None), asked(2)])
    assert evidence.floors == (0.2, None)


@pytest.mark.parametrize(
    ("shared", "moved", "rescored"),
    [
        pytest.param(20, 0, {"final": False}, id="as-before"),
        pytest.param(20, 20, {"final": True}, id="all-moved"),
        pytest.param(20, 1, {"final": True}, id="more-than-one-in-a-hundred"),
        pytest.param(100, 1, {"final": False}, id="one-in-a-hundred"),
        pytest.param(19, 19, {}, id="too-few"),
    ],
)
def test_rescored(shared: int, moved: int, rescored: dict[str, bool]) -> None:
    """Scores are as before, or not, by the chunks that both sides list for the same question."""
    before = [asked(number, 0.5) for number in range(shared)]
    now = [asked(number, 0.6 if number < moved else 0.5) for number in range(shared)]
    assert list_evidence(before, now).rescored == rescored


def test_chunks_without_ids_and_other_questions_are_not_shared() -> None:
    """A chunk is the same by its id and for the same question alone."""
    nameless = [make_case_score(f"q{number}", entries=(ListEntry("0000000a", "", 0.5),)) for number in range(30)]
    assert list_evidence(nameless, nameless).rescored == {}
    before = [asked(number, 0.5, hash="old") for number in range(30)]
    assert list_evidence(before, [asked(number, 0.6, hash="new") for number in range(30)]).rescored == {}


@pytest.mark.parametrize(
    ("before", "now", "documents"),
    [
        ({"vault": "v", "documents": 9}, {"vault": "v", "documents": 7}, (9, 7)),
        ({"vault": "v", "documents": 9}, {"vault": "w", "documents": 7}, None),
        ({"documents": 9}, {"documents": 7}, None),
        ({"vault": "v"}, {"vault": "v", "documents": 7}, None),
        ({"vault": "v", "documents": "9"}, {"vault": "v", "documents": 7}, None),
        ({"vault": "v", "documents": True}, {"vault": "v", "documents": 7}, None),
    ],
)
def test_documents_count_for_the_same_notes(before: dict[str, Any], now: dict[str, Any], documents: object) -> None:
    """How many documents an index held and holds is only known of the same notes, in numbers."""
    sides = [make_scorecard(make_case_score(), fingerprint=side) for side in (before, now)]
    assert cause_evidence(make_run(make_labelled()), sides[1], sides[0], ()).documents == documents


@pytest.mark.parametrize(
    "folders", [None, 3, [], {"hybrid": 4}, {"hybrid": {"several": "x"}}, {"other": {"several": 3}}]
)
def test_a_strange_fingerprint_says_nothing(folders: object) -> None:
    """A baseline that somebody edited, or another system wrote, gives no counts of folders."""
    sides = [make_scorecard(make_case_score(), fingerprint={"folders": folders}) for _ in range(2)]
    assert cause_evidence(make_run(make_labelled()), sides[1], sides[0], ()).folders == {"hybrid": ({}, {})}


def test_what_came_back_and_what_changed_is_gathered() -> None:
    """The paths of all that came back, the notes of the vaults and how they differ are at hand."""
    card = make_scorecard(make_case_score())
    run = make_run(make_labelled(), fingerprint={"notes": {"work/a.md": "1"}})
    evidence = cause_evidence(run, card, card, (NoteChange("added", "work/a.md"),))
    assert evidence.retrieved == {"hybrid": {"a.md": {"# A"}}}
    assert (evidence.notes, evidence.changes) == ({"work/a.md": "1"}, {"work/a.md": "added"})
