"""One level up: what changed as a whole, and whether it explains most of the questions that got worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_baseline, make_case_score, make_comparison, make_flip, make_scorecard
from raggate.gate.cause_wording import GROUPS
from raggate.gate.diagnosis import diagnose
from raggate.models.cause import Cause, CauseCode, CauseEvidence, Diagnosis, ListEvidence
from raggate.models.comparison import Flip
from raggate.models.verdict import Verdict

INDEX = {
    "vault": "v",
    "documents": 9,
    "chunks": 90,
    "chunk_tokens": 50.0,
    "index_version": "i1",
    "chunker_version": "c1",
}
WEIGHTS = ({"vector": 0.7, "lexical": 0.3}, {"vector": 1.0, "lexical": 0.0})
MOVED = {"rescored": {"final": True, "vector": False, "lexical": True}}


def broken(*codes: CauseCode, mode: str = "hybrid", **fields: Any) -> list[Flip]:
    """Build questions that broke by these causes."""
    return [
        make_flip(f"{mode}{number}", mode=mode, cause=Cause(code=code), **fields) for number, code in enumerate(codes)
    ]


def diagnosis(
    flips: list[Flip],
    *,
    before: Mapping[str, Any] = INDEX,
    now: Mapping[str, Any] | None = None,
    lists: Mapping[str, Any] | None = None,
    fallen: tuple[Flip, ...] = (),
    fell: Mapping[tuple[str, str], str] | None = None,
    **evidence: Any,
) -> Diagnosis | None:
    """Diagnose these questions: the index is as before, and the lists show nothing, unless the fields say so."""
    sides = [make_scorecard(make_case_score(), fingerprint=dict(side)) for side in (before, {**before, **(now or {})})]
    modes = {flip.mode: ListEvidence(**(lists or {})) for flip in [*flips, *fallen]} or {"hybrid": ListEvidence()}
    comparison = make_comparison(
        baseline=make_baseline(sides[0]),
        scorecard=sides[1],
        flips=tuple(flips),
        evidence=CauseEvidence(lists=modes, **evidence),
    )
    decided = Verdict(outcome="regression", sentences=(), fell=fell or {})
    return diagnose(comparison, decided, fallen)


def likely(*codes: CauseCode, **fields: Any) -> str:
    """Give the sentence on the likely cause of questions that broke so."""
    found = diagnosis(broken(*codes), **fields)
    assert found is not None
    return found.likely


def test_causes_are_counted() -> None:
    """Causes are counted, the most frequent first, over the questions that got worse."""
    found = diagnosis(broken("nothing-retrieved", "demoted", "nothing-retrieved", "api-error"))
    assert found is not None
    assert found.questions == 4
    assert found.counts[0] == ("nothing was retrieved", 2)
    assert sum(count for _, count in found.counts) == 4


def test_what_is_no_part_of_it() -> None:
    """Fixed and waived questions, those that failed before too, and those of metrics that are not red, do not count."""
    flips = [make_flip("fixed", kind="fixed"), *broken("demoted", waived=True)]
    others = tuple(make_flip(kind, kind=kind, cause=Cause(code="demoted")) for kind in ("missed", "fell"))
    assert diagnosis(flips, fallen=others, fell={("hybrid", "missed"): "hit_at_5"}) is None
    found = diagnosis(flips, fallen=others, fell={("hybrid", "fell"): "hit_at_1"})
    assert found is not None
    assert found.questions == 1


@pytest.mark.parametrize(
    ("codes", "fields", "words"),
    [
        pytest.param(
            ("demoted", "demoted", "not-listed"),
            {"lists": {**MOVED, "weights": WEIGHTS}},
            "the lexical score no longer counts (weights: vector 0.7 → 1, lexical 0.3 → 0); it fits all 3",
            id="a-dropped-weight",
        ),
        pytest.param(
            ("demoted", "demoted"),
            {"lists": {**MOVED, "weights": ({"vector": 0.7, "lexical": 0.3}, {"vector": 1.0})}},
            "the lexical score no longer counts (weights: vector 0.7 → 1, lexical 0.3 → none); it fits all 2",
            id="a-part-that-is-gone",
        ),
        pytest.param(
            ("demoted", "demoted", "api-error"),
            {"lists": {**MOVED, "weights": ({"vector": 0.7, "lexical": 0.3}, {"vector": 0.5, "lexical": 0.5})}},
            "the final score is weighed otherwise (weights: vector 0.7 → 0.5, lexical 0.3 → 0.5); it fits 2 of the 3",
            id="other-weights",
        ),
        pytest.param(
            ("demoted", "demoted"),
            {"lists": {"rescored": {"final": True, "vector": True, "lexical": False}}},
            "the same chunks have other vector scores, in an index of the same size; it fits all 2",
            id="another-model",
        ),
        pytest.param(
            ("below-threshold", "abstained"),
            {"lists": {"thresholds": ((0.1, 0.2), (0.4, 0.5))}},
            "the score below which the API abstains is higher (between 0.4 and 0.5, between 0.1 and 0.2 before); "
            "it fits all 2",
            id="a-raised-threshold",
        ),
        pytest.param(
            ("did-not-abstain", "did-not-abstain"),
            {"lists": {"thresholds": ((0.1, 0.2), (None, 0.05))}},
            "the score below which the API abstains is lower (at most 0.05, between 0.1 and 0.2 before); it fits all 2",
            id="a-lowered-threshold",
        ),
        pytest.param(
            ("snippet-gone", "demoted"),
            {"now": {"chunks": 200, "chunk_tokens": 25.5, "index_version": "i2"}},
            "the same notes are cut into other chunks (90 → 200, mean length 50 → 25.5 tokens); it fits all 2",
            id="chunk-size",
        ),
        pytest.param(
            ("folder-not-indexed", "note-not-indexed"),
            {"now": {"documents": 7, "chunks": 80}},
            "the index holds 7 documents of the same notes, 9 before; it fits all 2",
            id="a-dropped-folder",
        ),
        pytest.param(
            ("demoted", "demoted"),
            {"now": {"index_version": "i2"}},
            "the index is another version (i1 → i2); it fits all 2",
            id="another-index",
        ),
        pytest.param(
            ("folder-left-out", "folder-left-out", "demoted"),
            {"folders": {"hybrid": ({"answers": 10, "selected": 60}, {"answers": 10, "selected": 10})}},
            "fewer folders are selected (6.0 → 1.0 in the mean); it fits 2 of the 3",
            id="fewer-folders",
        ),
        pytest.param(
            ("folder-not-searched", "not-listed"),
            {"folders": {"hybrid": ({"several": 40, "served": 30}, {"several": 40, "served": 0})}},
            "nothing comes from the folder that is selected first, in none of 40 answers (30 of 40 before); it fits "
            "all 2",
            id="the-first-folder-is-skipped",
        ),
    ],
)
def test_one_change_that_most_questions_fit(codes: tuple[CauseCode, ...], fields: dict[str, Any], words: str) -> None:
    """A change that was seen, and that most questions fit, is named as the most likely cause, and in the list."""
    assert likely(*codes, **fields) == f"Most likely cause: {words} questions that got worse."
    found = diagnosis(broken(*codes), **fields)
    assert found is not None
    assert found.changes == (words.partition("; it fits")[0],)


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        pytest.param({"lists": {"rescored": {"final": False}, "weights": WEIGHTS}}, 0, id="scores-are-as-before"),
        pytest.param({"lists": {"weights": (WEIGHTS[0], None)}}, 0, id="no-weights-now"),
        pytest.param({"lists": {"weights": (WEIGHTS[0], {"vector": 0.701, "lexical": 0.299})}}, 0, id="rounding"),
        pytest.param({"lists": {"thresholds": ((0.1, 0.3), (0.2, 0.4))}}, 0, id="one-threshold-may-be-both"),
        pytest.param({"before": {**INDEX, "vault": "w"}, "now": {"vault": "v", "chunks": 200}}, 0, id="other-notes"),
        pytest.param({"before": {}, "now": {"chunks": 200, "documents": 3}}, 0, id="an-old-baseline"),
        pytest.param({"now": {"chunks": "many"}}, 0, id="no-numbers"),
        pytest.param({"lists": MOVED, "now": {"chunks": None}}, 0, id="scores-moved-and-size-not-known"),
    ],
)
def test_what_is_not_known_is_no_change(fields: dict[str, Any], changes: int) -> None:
    """Nothing is called changed that both sides do not tell, or that may be the same."""
    found = diagnosis(broken("demoted", "demoted"), **fields)
    assert found is not None
    assert len(found.changes) == changes


@pytest.mark.parametrize(
    ("codes", "fields", "sentence"),
    [
        pytest.param(
            ("folder-left-out", "folder-left-out", "demoted"),
            {},
            "Most likely cause: folder selection left the note out (2 of 3 questions that got worse).",
            id="a-cause-without-a-change",
        ),
        pytest.param(
            ("nothing-retrieved", "nothing-retrieved", "demoted"),
            {},
            "What caused it does not show: nothing was retrieved (2 of 3 questions that got worse).",
            id="what-became-of-them-is-no-cause",
        ),
        pytest.param(("nothing-retrieved", "demoted"), {}, "No single cause shows.", id="half-and-half"),
        pytest.param(("demoted",), {}, "", id="one-question-says-it-itself"),
        pytest.param(
            ("demoted",),
            {"now": {"index_version": "i2"}},
            "Most likely cause: the index is another version (i1 → i2); it fits the question that got worse.",
            id="one-question-and-a-change",
        ),
        pytest.param(
            ("api-error", "api-error", "demoted"),
            {"now": {"index_version": "i2"}},
            "Most likely cause: the call failed (2 of 3 questions that got worse).",
            id="a-change-that-few-fit",
        ),
        pytest.param(
            ("demoted", "demoted"),
            {"now": {"index_version": "i2"}, "lists": {**MOVED, "weights": WEIGHTS}},
            "No single cause shows, as several changes fit: the index is another version (i1 → i2); the lexical score "
            "no longer counts (weights: vector 0.7 → 1, lexical 0.3 → 0).",
            id="two-changes",
        ),
    ],
)
def test_without_such_a_change(codes: tuple[CauseCode, ...], fields: dict[str, Any], sentence: str) -> None:
    """Without one change that most fit, a cause that most have is named; else it is said that none shows."""
    assert likely(*codes, **fields) == sentence


def test_what_rose_above_the_passages() -> None:
    """Where newer notes, or copies, rose above most passages, that is the cause."""
    flips = [
        make_flip(f"q{number}", cause=Cause(code="demoted", newer="added", copy=number > 0)) for number in range(3)
    ]
    found = diagnosis([*flips, *broken("demoted")])
    assert found is not None
    words = "notes added since the baseline rose above the passages (3 of 4 questions that got worse)"
    assert found.likely == f"Most likely cause: {words}."


def test_a_change_of_one_mode_is_said_of_that_mode() -> None:
    """With several modes, what changed in one explains the questions of that one alone."""
    flips = [*broken("demoted", "demoted", mode="vector"), *broken("demoted", mode="bm25")]
    found = diagnosis(flips, lists={**MOVED, "weights": WEIGHTS})
    assert found is not None
    assert [change.partition(" (")[0] for change in found.changes] == ["the lexical score no longer counts"] * 2
    assert found.changes[0].endswith(" in mode vector")
    assert "it fits 2 of the 3 questions" in found.likely


@given(
    codes=st.lists(st.sampled_from(list(GROUPS)), min_size=1, max_size=12),
    chunks=st.booleans(),
    weights=st.booleans(),
    threshold=st.booleans(),
)
def test_a_named_cause_was_seen_for_most(
    codes: list[CauseCode], *, chunks: bool, weights: bool, threshold: bool
) -> None:
    """Whatever became of the questions, a likely cause is one of the changes, or the cause of more than half."""
    fields: dict[str, Any] = {"now": {"chunks": 200}} if chunks else {}
    lists = {**MOVED, "weights": WEIGHTS} if weights else {}
    lists |= {"thresholds": ((0.1, 0.2), (0.4, 0.5))} if threshold else {}
    found = diagnosis(broken(*codes), lists=lists, **fields)
    assert found is not None
    if found.likely.startswith("Most likely cause: "):
        words = found.likely.removeprefix("Most likely cause: ")
        by_change = any(words.startswith(change) for change in found.changes)
        by_cause = 2 * found.counts[0][1] > len(codes) and words.startswith(found.counts[0][0])
        assert by_change or by_cause
