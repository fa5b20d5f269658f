"""Canonical import records of pragmata in, records and cases of a golden set out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from raggate.base.csv_table import Row, Table, decode, parse_json, read_table, refuse_conflict
from raggate.base.errors import UsageError
from raggate.base.headings import fold
from raggate.base.jsonio import parse
from raggate.base.quote import quoted
from raggate.inputs.golden import complete
from raggate.models.golden import Case, Support
from raggate_interop.golden_rows import Note, note
from raggate_interop.json_shapes import Text, typed
from raggate_interop.labels.metrics import grade
from raggate_interop.labels.models import RetrievalJudgment

_RECORD = ("query", "answer", "chunks", "context_set", "language")
_FLAT = ("chunk_text", "chunk_id", "doc_id", "chunk_rank")
_GROUP = ("record_id", "group")
_RANK = re.compile(r"[0-9]{1,9}\Z")

MISLEADING = "misleading"


class _Chunk(Struct, forbid_unknown_fields=True):
    chunk_id: Text
    doc_id: Text
    chunk_rank: Annotated[int, Meta(ge=1)]
    text: Text


class _Record(Struct, forbid_unknown_fields=True, kw_only=True):
    query: Text
    answer: Text
    context_set: Text
    chunks: Annotated[tuple[_Chunk, ...], Meta(min_length=1)]
    language: str | None = None


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
    row = typed(_Record, value, place)
    documents = {chunk.chunk_id: chunk.doc_id for chunk in row.chunks}
    if len(documents) < len(row.chunks):
        raise UsageError(f"{place}: a chunk_id occurs twice: remove one")
    return CanonicalRecord(query=row.query, documents=documents, language=row.language)


def to_cases(
    judgments: Iterable[RetrievalJudgment], records: Sequence[CanonicalRecord]
) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
    """Make a case of each judged query. Its id is the record's; one without a relevant chunk is one to abstain from.

    Args:
        records: the canonical records, for document ids and languages; found by the text of the query.

    Returns:
        The cases in the order of the file, and what was dropped.
    """
    by_record: dict[str, list[RetrievalJudgment]] = {}
    for judgment in judgments:
        by_record.setdefault(judgment.record, []).append(judgment)
    # a query may stand in several records, of other answers or other chunks
    by_query: dict[str, list[CanonicalRecord]] = {}
    for record in records:
        by_query.setdefault(fold(record.query), []).append(record)
    cases, notes = [], []
    for name, rows in by_record.items():
        about = by_query.get(fold(rows[0].query), [])
        documents = {chunk: document for record in about for chunk, document in record.documents.items()}
        languages = dict.fromkeys(record.language for record in about if record.language)
        grades = {judgment.chunk_id: grade(judgment.labels) for judgment in rows}
        relevant = {chunk: value for chunk, value in grades.items() if value > 0}
        case = Case(
            id=name,
            question=rows[0].query,
            answerable=bool(relevant),
            gold_supports=tuple(Support(rel_path="", chunk_id=chunk, grade=value) for chunk, value in relevant.items()),
            expected_chunk_ids=tuple(relevant),
            expected_doc_ids=tuple(dict.fromkeys(documents[chunk] for chunk in relevant if chunk in documents)),
            lang=next(iter(languages), None),
        )
        cases.append(complete(case))
        notes += _dropped(case, rows, grades)
        if records and not about:
            notes.append(note(name, "doc_id", "dropped", "no record has this query, so its documents are not known"))
    return tuple(cases), tuple(notes)


def _dropped(case: Case, rows: Sequence[RetrievalJudgment], grades: Mapping[str, int]) -> list[Note]:
    zero = sum(value == 0 for value in grades.values())
    misleading = sum(judgment.labels.get(MISLEADING, False) for judgment in rows)
    notes = []
    if zero:
        notes.append(note(case.id, "labels", "dropped", f"{zero} chunks judged not relevant"))
    if misleading:
        notes.append(note(case.id, MISLEADING, "dropped", f"{misleading} chunks"))
    if not case.answerable:
        notes.append(note(case.id, "answerable", "changed", "no chunk is relevant, so it became one to abstain from"))
    return notes
