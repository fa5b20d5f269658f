"""Canonical import records of pragmata: JSON array, JSON lines or CSV in, records out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from raggate.errors import UsageError
from raggate.text.csv_table import Row, Table, decode, parse_json, read_table, refuse_conflict
from raggate.text.jsonio import parse
from raggate.text.quote import quoted
from raggate_interop.json_shapes import check_keys

_RECORD = ("query", "answer", "chunks", "context_set", "language")
_CHUNK = ("chunk_id", "doc_id", "chunk_rank", "text")
_FLAT = ("chunk_text", "chunk_id", "doc_id", "chunk_rank")
_GROUP = ("record_id", "group")
_RANK = re.compile(r"[0-9]{1,9}\Z")


class CanonicalRecord(Struct, frozen=True, kw_only=True):
    """What is kept of a canonical import record: its query, the document of each chunk id, and the language."""

    query: str
    documents: Mapping[str, str]
    language: str | None = None


def read_records(data: bytes, name: str) -> tuple[CanonicalRecord, ...]:
    """Read canonical records; the ending of the name says how: `.json`, `.jsonl` or `.csv`.

    A CSV file has the chunks as JSON in a column `chunks`, or a row for every chunk with `chunk_text`, `chunk_id`,
    `doc_id` and `chunk_rank`; such rows belong together by `record_id` or `group`, or else by query, answer and
    context set.

    Raises:
        UsageError: naming file, line (or number of the record) and key of the first thing that is not as it should be.
    """
    ending = name.rpartition(".")[2].lower()
    if ending == "csv":
        records = _from_table(read_table(data, name))
    elif ending == "jsonl":
        records = _from_lines(decode(data, name), name)
    elif ending == "json":
        records = _from_array(data, name)
    else:
        raise UsageError(f"{name}: expected a file that ends in .json, .jsonl or .csv")
    if not records:
        raise UsageError(f"{name}: no records")
    return records


def _from_array(data: bytes, name: str) -> tuple[CanonicalRecord, ...]:
    values = parse_json(data, name)
    if not isinstance(values, list):
        raise UsageError(f"{name}: expected a JSON array of records")
    return tuple(_record(value, f"{name}: record {number}") for number, value in enumerate(values, 1))


def _from_lines(text: str, name: str) -> tuple[CanonicalRecord, ...]:
    records = []
    # not splitlines: JSON strings may hold the other line separators as they are
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{name}:{number}"
        refuse_conflict(line.rstrip("\r"), place)
        if line.strip():
            records.append(_record(parse(line, place), place))
    return tuple(records)


def _from_table(table: Table) -> tuple[CanonicalRecord, ...]:
    columns = (*_RECORD, *_FLAT, *_GROUP)
    unknown = next((column for column in table.columns if column not in columns), None)
    if unknown is not None:
        raise UsageError(f"{table.name}:1: unknown column {quoted(unknown)}", hint=f"Known: {', '.join(columns)}.")
    if "chunks" in table.columns:
        return tuple(
            _record({**_filled(row, _RECORD), "chunks": parse(row.text("chunks"), f"{row.place}: chunks")}, row.place)
            for row in table.rows
        )
    missing = [column for column in _FLAT if column not in table.columns]
    if missing:
        raise UsageError(
            f"{table.name}:1: neither a column chunks nor {', '.join(missing)}",
            hint=f"Give the chunks as JSON in a column chunks, or a row for every chunk with {', '.join(_FLAT)}.",
        )
    group = next((column for column in _GROUP if column in table.columns), None)
    rows: dict[tuple[str, ...], list[Row]] = {}
    for row in table.rows:
        keys = ("query", "answer", "context_set") if group is None else (group,)
        rows.setdefault(tuple(row.values.get(key, "") for key in keys), []).append(row)
    return tuple(_grouped(members) for members in rows.values())


def _grouped(rows: list[Row]) -> CanonicalRecord:
    chunks = [
        {
            "chunk_id": row.values["chunk_id"],
            "doc_id": row.values["doc_id"],
            "chunk_rank": int(row.values["chunk_rank"]) if _RANK.match(row.values["chunk_rank"].strip()) else None,
            "text": row.values["chunk_text"],
        }
        for row in rows
    ]
    return _record({**_filled(rows[0], _RECORD), "chunks": chunks}, rows[0].place)


def _filled(row: Row, columns: tuple[str, ...]) -> dict[str, Any]:
    # an empty cell of an optional column is no value, as CSV has no other way to say so
    return {column: row.values[column] for column in columns if row.values.get(column, "")}


def _record(value: object, place: str) -> CanonicalRecord:
    row = check_keys(value, _RECORD, place, optional=_RECORD)
    chunks = row.get("chunks")
    if not isinstance(chunks, list) or not chunks:
        raise UsageError(f"{place}: chunks: expected at least one chunk")
    documents: dict[str, str] = {}
    for number, chunk in enumerate(chunks, 1):
        chunk_id, doc_id = _chunk(chunk, f"{place}: chunk {number}")
        if chunk_id in documents:
            raise UsageError(f"{place}: chunk_id {quoted(chunk_id)} occurs twice")
        documents[chunk_id] = doc_id
    language = row.get("language")
    if language is not None and not isinstance(language, str):
        raise UsageError(f"{place}: language: expected text or null")
    texts = {key: _text(row, key, place) for key in ("query", "answer", "context_set")}
    return CanonicalRecord(query=texts["query"], documents=documents, language=language)


def _chunk(value: object, place: str) -> tuple[str, str]:
    """Check a chunk, and give its id and that of its document."""
    row = check_keys(value, _CHUNK, place, optional=_CHUNK)
    rank = row.get("chunk_rank")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise UsageError(f"{place}: chunk_rank: expected a whole number from 1")
    texts = {key: _text(row, key, place) for key in ("chunk_id", "doc_id", "text")}
    return texts["chunk_id"], texts["doc_id"]


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{place}: {key}: expected text")
    return value
