"""Canonical records in all their forms, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from label_builders import to_csv
from raggate.base.errors import UsageError
from raggate_interop.pragmata.records import CanonicalRecord, read_records
from tables import each_row

RECORD: dict[str, Any] = {
    "query": "What is it?",
    "answer": "It is this.",
    "chunks": [
        {"chunk_id": "c1", "doc_id": "d1", "chunk_rank": 1, "text": "One."},
        {"chunk_id": "c2", "doc_id": "d1", "chunk_rank": 2, "text": "Two."},
    ],
    "context_set": "One.[CTX_SEP]Two.",
    "language": "en",
}
EXPECTED = CanonicalRecord(query="What is it?", documents={"c1": "d1", "c2": "d1"}, language="en")
FLAT = ["query", "answer", "context_set", "language", "chunk_id", "doc_id", "chunk_rank", "chunk_text"]


def flat(**more: str) -> list[dict[str, str]]:
    """Return the record as a row for every chunk."""
    texts = {key: RECORD[key] for key in ("query", "answer", "context_set", "language")}
    rows = []
    for chunk in RECORD["chunks"]:
        values = {"chunk_id": chunk["chunk_id"], "doc_id": chunk["doc_id"], "chunk_text": chunk["text"]}
        rows.append({**texts, **values, "chunk_rank": str(chunk["chunk_rank"]), **more})
    return rows


@each_row(
    ("name", "data"),
    [
        ("r.json", json.dumps([RECORD]).encode()),
        ("r.JSON", json.dumps([RECORD], indent=2).encode()),
        ("r.jsonl", json.dumps(RECORD).encode() + b"\n\n"),
        ("r.csv", to_csv(list(RECORD), [{**RECORD, "chunks": json.dumps(RECORD["chunks"])}])),
        ("r.csv", to_csv(FLAT, flat())),
        ("r.csv", to_csv(["record_id", *FLAT], flat(record_id="7"))),
    ],
)
def test_forms(name: str, data: bytes) -> None:
    """The same record is read from each of its forms."""
    assert read_records(data, name) == (EXPECTED,)


def test_language_may_be_missing() -> None:
    """A record need not say its language; an empty cell says nothing."""
    without = {key: value for key, value in RECORD.items() if key != "language"}
    assert read_records(json.dumps([without]).encode(), "r.json") == (replace(EXPECTED, language=None),)
    assert read_records(to_csv(FLAT, flat(language="")), "r.csv") == (replace(EXPECTED, language=None),)


def test_rows_are_grouped() -> None:
    """Rows belong together by their group, or else by their texts, wherever they stand."""
    first, second = flat()
    other = {**first, "query": "Other?"}
    assert [len(record.documents) for record in read_records(to_csv(FLAT, [first, other, second]), "r.csv")] == [2, 1]
    grouped = [{**first, "group": "a"}, {**second, "group": "b"}]
    assert [len(record.documents) for record in read_records(to_csv(["group", *FLAT], grouped), "r.csv")] == [1, 1]


def lines(**changes: Any) -> bytes:
    """Write the record as JSON lines with changes."""
    return json.dumps({**RECORD, **changes}).encode()


def chunk(**changes: Any) -> bytes:
    """Write the record with a change in its first chunk."""
    return lines(chunks=[{**RECORD["chunks"][0], **changes}])


@each_row(
    ("name", "data", "message"),
    [
        ("r.jsonl", lines(extra=1), "r.jsonl:1: Object contains unknown field `extra`"),
        ("r.jsonl", lines(query=" "), r"r.jsonl:1: Expected `str` matching regex '\\S' - at `$.query`"),
        ("r.jsonl", lines(chunks=[]), "r.jsonl:1: Expected `array` of length >= 1 - at `$.chunks`"),
        ("r.jsonl", lines(chunks=RECORD["chunks"][:1] * 2), "r.jsonl:1: a chunk_id occurs twice"),
        ("r.jsonl", chunk(chunk_rank=0), "r.jsonl:1: Expected `int` >= 1 - at `$.chunks[0].chunk_rank`"),
        ("r.jsonl", lines() + b"\n{", "r.jsonl:2: not valid JSON"),
        ("r.jsonl", lines() + b"\n=======\n", "r.jsonl:2: a merge-conflict marker"),
        ("r.json", b"{}", "r.json: expected a JSON array"),
        ("r.json", b"[\n<<<<<<< HEAD\n]", "r.json:2: a merge-conflict marker"),
        ("r.json", b"[]", "r.json: no records"),
        ("r.csv", to_csv(["query", "chunk_id"], [{"query": "a"}]), "r.csv:1: neither a column chunks nor chunk_text"),
        ("r.csv", to_csv(["chunks", "score"], [{"chunks": "[]"}]), "r.csv:1: unknown column 'score'"),
        ("r.csv", to_csv(["chunks"], [{"chunks": "{"}]), "r.csv:2: chunks: not valid JSON"),
        (
            "r.csv",
            to_csv(FLAT, [{**flat()[0], "chunk_rank": "x"}]),
            "r.csv:2: Expected `int`, got `null` - at `$.chunks[0].chunk_rank`",
        ),
        ("r.csv", to_csv(FLAT, [{**flat()[0], "answer": ""}]), "r.csv:2: Object missing required field `answer`"),
        ("r.txt", b"", "r.txt: expected a file that ends in"),
    ],
)
def test_refused(name: str, data: bytes, message: str) -> None:
    """What is not a canonical record is an error that names its place and key."""
    with pytest.raises(UsageError) as caught:
        read_records(data, name)
    assert caught.value.message.startswith(message)
