"""How an index differs from the baseline's: what its numbers say, and what they do not."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_baseline, make_case_score, make_comparison, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate import completeness
from raggate.gate.causes import index_change
from raggate.gate.causes.index_change import IndexChange
from raggate.models.comparison import Comparison
from tables import each_row

INDEX = {
    "vault": "v",
    "documents": 9,
    "chunks": 90,
    "chunk_tokens": 50.0,
    "index_version": "i1",
    "chunker_version": "c1",
}


def change(**now: Any) -> IndexChange:
    return IndexChange(INDEX, {**INDEX, **now})


EIGHT = "the index has 8 documents of the same notes, 9 before"
RECUT = "the same notes are cut into other passages"
PASSAGES = "the index has 90 passages of the same notes, as before, with"


@each_row(
    ("now", "documents", "chunks"),
    [
        ({}, "", ""),
        ({"documents": 8, "chunks": 80}, EIGHT, ""),
        (
            {"documents": 8, "chunks": 190, "chunk_tokens": 22.0},
            EIGHT,
            f"{RECUT} (90 → 190, mean length 50 → 22 tokens)",
        ),
        ({"chunks": 60, "chunk_tokens": 75.0}, "", f"{RECUT} (90 → 60, mean length 50 → 75 tokens)"),
        # documents are not told
        ({"documents": None, "chunks": 60, "chunk_tokens": 75.0}, "", f"{RECUT} (90 → 60, mean length 50 → 75 tokens)"),
        ({"chunk_tokens": 48.0}, "", f"{PASSAGES} less text (mean length 50 → 48 tokens)"),
        ({"chunk_tokens": 52.0}, "", f"{PASSAGES} more text (mean length 50 → 52 tokens)"),
        # a rounded mean
        ({"chunk_tokens": 50.2}, "", ""),
        # text is gone
        ({"chunks": 60}, "", "the index has 60 passages of the same notes, 90 before, mean length 50 → 50 tokens"),
        # other notes
        ({"vault": "w", "chunk_tokens": 48.0}, "", ""),
        ({"vault": "w", "documents": 8, "chunks": 200}, "", ""),
        ({"documents": "many", "chunks": True}, "", ""),
    ],
)
def test_what_is_said_of_its_size(now: dict[str, Any], documents: str, chunks: str) -> None:
    """Other chunks are another cut if all documents or about as much text is there; else their number is told."""
    index = change(**now)
    assert (index.documents_words, index.chunks_words) == (documents, chunks)


@each_row(
    ("now", "lost", "same_size"),
    [
        ({}, 0, "of the same size"),
        ({"documents": 7}, 2, ""),
        ({"documents": 10}, -1, ""),
        ({"chunks": 91}, 0, ""),
        ({"chunks": None}, 0, ""),
        ({"vault": None, "documents": 7}, 0, ""),
    ],
)
def test_what_is_counted(now: dict[str, Any], lost: int, same_size: str) -> None:
    """Documents are lost, and sizes the same, where both sides tell them of the same notes."""
    assert (change(**now).lost, change(**now).same_size) == (lost, same_size)


def test_the_size_of_an_index_that_is_counted_by_half() -> None:
    """An API that counts only documents, or only chunks, has an index with as many of those; no more is said of it."""
    for noun in ("documents", "chunks"):
        side = {"vault": "v", noun: 9}
        assert IndexChange(side, side).same_size == f"with as many {noun}"
    assert IndexChange({"vault": "v"}, {"vault": "v"}).same_size == ""


@each_row(
    ("now", "versions", "recut"),
    [
        ({}, [], False),
        ({"index_version": "i2"}, ["the index is another version (i1 → i2)"], True),
        (
            {"index_version": "i2", "chunker_version": "c2"},
            ["the index is another version (i1 → i2)", "the chunker is another version (c1 → c2)"],
            True,
        ),
        ({"index_version": None}, [], False),
        ({"chunk_tokens": 49.0}, [], True),
        ({"chunks": 91, "vault": "w"}, [], False),
    ],
)
def test_versions(now: dict[str, Any], versions: list[str], *, recut: bool) -> None:
    """Versions are others where both sides tell them; other chunks or versions of the same notes are a new cut."""
    assert ([*change(**now).versions], change(**now).recut) == (versions, recut)


GATE = Gate(metrics={"hit_at_5": 0.05})


def sides(before: dict[str, Any], now: dict[str, Any]) -> Comparison:
    case = make_case_score()
    baseline = make_baseline(make_scorecard(case, fingerprint=before))
    return make_comparison(baseline=baseline, scorecard=make_scorecard(case, fingerprint=now))


FEWER = "the index has 8 documents of the same notes, 9 in the baseline's run"
HOLLOW = "6 more documents of the index without any passage than in the baseline"
WHOLE = {"vault": "v", "documents": 12, "chunks": 36, "chunker_version": "1"}


@each_row(
    ("before", "now", "words"),
    [
        pytest.param({"vault": "v", "documents": 9}, {"vault": "v", "documents": 8}, FEWER, id="one document less"),
        pytest.param({"vault": "v", "documents": 9}, {"vault": "v", "documents": 9}, "", id="as many"),
        pytest.param({"vault": "v", "documents": 9}, {"vault": "v", "documents": 10}, "", id="more"),
        pytest.param({"vault": "v", "documents": 9}, {"vault": "w", "documents": 8}, "", id="other notes"),
        pytest.param({"vault": "v", "documents": 9}, {"vault": "v"}, "", id="not told any more"),
        pytest.param({"documents": 9}, {"documents": 8}, "", id="notes not known"),
        # attack: an index that counts notes and keeps nothing of them has lost them, however their chunks were cut
        pytest.param({**WHOLE, "empty_documents": 0}, {**WHOLE, "empty_documents": 6}, HOLLOW, id="six more are empty"),
        pytest.param(
            {**WHOLE, "empty_documents": 0},
            {**WHOLE, "empty_documents": 6, "chunker_version": "2"},
            HOLLOW,
            id="six more are empty, and all were cut anew",
        ),
        pytest.param({**WHOLE, "empty_documents": 2}, {**WHOLE, "empty_documents": 2}, "", id="as many are empty"),
        pytest.param({**WHOLE, "empty_documents": 2}, {**WHOLE, "empty_documents": 0}, "", id="fewer are empty"),
        pytest.param(WHOLE, {**WHOLE, "empty_documents": 6}, "", id="empty ones were not counted"),
    ],
)
def test_an_index_that_lost_documents(before: dict[str, Any], now: dict[str, Any], words: str) -> None:
    """An index that lost documents of the same notes keeps a green comparison from being one, whatever was asked."""
    comparison = sides(before, now)
    for reasons in (completeness.incomplete(comparison, (), GATE), completeness.less_told(comparison, GATE)):
        told = [reason.message for reason in reasons if reason.code == "index-smaller"]
        assert [message.startswith(words) for message in told] == [True] * bool(words)


@each_row(
    ("gone", "way_out"),
    [
        ({"documents": 8}, "if notes are left out on purpose, promote a run without them, with --allow-regression"),
        (
            {"empty_documents": 3},
            "if they have nothing to be found, promote a run of this index, with --allow-regression",
        ),
    ],
)
def test_the_way_out_is_one_that_is_open(gone: dict[str, Any], way_out: str) -> None:
    """A chunker that skips tiny notes on purpose is promoted with permission, and without it that is refused."""
    before = {"vault": "v", "documents": 9, "empty_documents": 0}
    comparison = sides(before, {**before, **gone})
    (reason,) = index_change.documents(comparison, promoting=False)
    assert reason.message.endswith(f"{way_out} and a --reason")
    (refused,) = completeness.less_told(comparison, GATE)
    assert refused.code == reason.code
    assert "promote" not in refused.message


@each_row(
    ("now", "words"),
    [
        ({"documents": 9, "chunks": 30}, []),
        ({"chunks": 30}, ["the documents of its index"]),
        ({"documents": 9, "chunks": None}, ["the passages of its index"]),
        ({"documents": "9"}, ["the documents of its index", "the passages of its index"]),
    ],
    ids=["counted", "no documents", "null for chunks", "a text"],
)
def test_an_index_that_is_no_longer_counted(now: dict[str, Any], words: list[str]) -> None:
    """An API that stops counting its index cannot lose documents unseen: it keeps a green comparison from being one."""
    comparison = sides({"documents": 9, "chunks": 30}, now)
    reasons = [*completeness.incomplete(comparison, (), GATE)]
    told = [reason.message for reason in reasons if reason.code == "field-vanished"]
    assert len(told) == len(words)
    assert all(part in message for part, message in zip(words, told, strict=True))


def test_a_count_whose_field_of_answers_is_gone_is_told_once() -> None:
    """Where the answers themselves no longer tell the count, that says it."""
    fields = {"fields": {"hybrid": {"indexing_coverage.docs_processed": [4, 4]}}}
    gone = {"fields": {"hybrid": {"indexing_coverage.docs_processed": [0, 4]}}}
    comparison = sides({"documents": 9, **fields}, gone)
    (reason,) = completeness.lost_fields(comparison, GATE)
    assert "the API returned indexing_coverage.docs_processed (hybrid) in 4 of 4 answers of the" in reason.message
