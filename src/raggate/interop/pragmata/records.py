"""Canonical import records of pragmata: JSON array, JSON lines or CSV in, records out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from raggate.errors import UsageError
from raggate.interop.json_shapes import check_keys
from raggate.interop.pragmata.csv_table import Row, Table, decode, read_table, refuse_conflict
from raggate.text.jsonio import parse
from raggate.text.quote import quoted

_RECORD = ("query", "answer", "chunks", "context_set", "language")
_CHUNK = ("chunk_id", "doc_id", "chunk_rank", "text")
_FLAT = ("chunk_text", "chunk_id", "doc_id", "chunk_rank")
_GROUP = ("record_id", "group")
_RANK = re.compile(r"[0-9]{1,9}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalChunk:
    """A retrieved chunk of a canonical record; `rank` counts from 1."""

    chunk_id: str
    doc_id: str
    rank: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRecord:
    """A canonical import record: a query, its answer, its chunks in file order and the context set as text."""

    query: str
    answer: str
    chunks: tuple[CanonicalChunk, ...]
    context_set: str
    language: str | None = None
    place: str = field(default="", compare=False)


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
        records = _from_array(decode(data, name), name)
    else:
        raise UsageError(f"{name}: expected a file that ends in .json, .jsonl or .csv")
    if not records:
        raise UsageError(f"{name}: no records")
    return records


def _from_array(text: str, name: str) -> tuple[CanonicalRecord, ...]:
    for number, line in enumerate(text.split("\n"), 1):
        refuse_conflict(line.rstrip("\r"), f"{name}:{number}")
    values = parse(text, name)
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
    read = tuple(_chunk(chunk, f"{place}: chunk {number}") for number, chunk in enumerate(chunks, 1))
    ids = [chunk.chunk_id for chunk in read]
    twice = next((chunk for chunk in ids if ids.count(chunk) > 1), None)
    if twice is not None:
        raise UsageError(f"{place}: chunk_id {quoted(twice)} stands there twice")
    language = row.get("language")
    if language is not None and not isinstance(language, str):
        raise UsageError(f"{place}: language: expected text or null")
    return CanonicalRecord(
        query=_text(row, "query", place),
        answer=_text(row, "answer", place),
        chunks=read,
        context_set=_text(row, "context_set", place),
        language=language,
        place=place,
    )


def _chunk(value: object, place: str) -> CanonicalChunk:
    row = check_keys(value, _CHUNK, place, optional=_CHUNK)
    rank = row.get("chunk_rank")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise UsageError(f"{place}: chunk_rank: expected a whole number from 1")
    return CanonicalChunk(
        chunk_id=_text(row, "chunk_id", place),
        doc_id=_text(row, "doc_id", place),
        rank=rank,
        text=_text(row, "text", place),
    )


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{place}: {key}: expected text")
    return value
