"""How an index differs from the baseline's: what its numbers say, and what they do not."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.gate.causes.index_change import IndexChange
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
    """Hold an index against one that differs in these facts."""
    return IndexChange(INDEX, {**INDEX, **now})


@each_row(
    ("now", "documents", "chunks"),
    [
        pytest.param({}, "", "", id="the-same"),
        pytest.param(
            {"documents": 8, "chunks": 80}, "the index has 8 documents of the same notes, 9 before", "", id="fewer"
        ),
        pytest.param(
            {"documents": 1, "chunks": 10}, "the index has 1 document of the same notes, 9 before", "", id="one-is-left"
        ),
        pytest.param(
            {"chunks": 1, "chunk_tokens": None},
            "",
            "the index has 1 chunk of the same notes, 90 before",
            id="one-chunk",
        ),
        pytest.param(
            {"documents": 18, "chunks": 180},
            "the index has 18 documents of the same notes, 9 before",
            "",
            id="notes-twice",
        ),
        pytest.param(
            {"documents": 8, "chunks": 190, "chunk_tokens": 22.0},
            "the index has 8 documents of the same notes, 9 before",
            "the same notes are cut into other chunks (90 → 190, mean length 50 → 22 tokens)",
            id="fewer-documents-in-more-chunks",
        ),
        pytest.param(
            {"chunks": 60, "chunk_tokens": 75.0},
            "",
            "the same notes are cut into other chunks (90 → 60, mean length 50 → 75 tokens)",
            id="longer-chunks",
        ),
        pytest.param(
            {"chunks": 60},
            "",
            "the index has 60 chunks of the same notes, 90 before, mean length 50 → 50 tokens",
            id="text-is-gone",
        ),
        pytest.param(
            {"documents": None, "chunks": 60, "chunk_tokens": 75.0},
            "",
            "the index has 60 chunks of the same notes, 90 before, mean length 50 → 75 tokens",
            id="documents-are-not-told",
        ),
        pytest.param(
            {"chunks": 60, "chunk_tokens": None},
            "",
            "the index has 60 chunks of the same notes, 90 before",
            id="no-lengths",
        ),
        pytest.param({"vault": "w", "documents": 8, "chunks": 200}, "", "", id="other-notes"),
        pytest.param({"documents": "many", "chunks": True}, "", "", id="no-numbers"),
    ],
)
def test_what_is_said_of_its_size(now: dict[str, Any], documents: str, chunks: str) -> None:
    """Other chunks are another cut only of as many documents and of about as much text; else their number is told."""
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
