"""kebab's rows of results, `QueryResult`: JSON lines in, checked rows out, and back without loss.

A row is kept as the JSON object it is; only what is read of it is checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from raggate.errors import UsageError
from raggate.interop.json_shapes import check
from raggate.text.jsonio import dumps, parse
from raggate.text.quote import quoted

MAX_BYTES = 512 << 20

_Text = Annotated[str, Field(strict=True)]
_Flag = Annotated[bool, Field(strict=True)]
_Count = Annotated[int, Field(strict=True, ge=0)]
_Rank = Annotated[int, Field(strict=True, ge=1)]
_Number = Annotated[float, Field(strict=True)]


class _Citation(TypedDict, total=False):
    path: _Text
    kind: _Text


class _PathRequired(TypedDict):
    path: _Text


class _CitedPath(_PathRequired, total=False):
    section: _Text | None


class _CitedRequired(TypedDict):
    citation: _CitedPath


class _AnswerRequired(TypedDict):
    answer: _Text
    grounded: _Flag
    citations: list[_CitedRequired]


class _Answer(_AnswerRequired, total=False):
    refusal_reason: _Text | None


class _Retrieval(TypedDict, total=False):
    method: _Text
    fusion_score: _Number | None
    lexical_score: _Number | None
    vector_score: _Number | None


class _HitRequired(TypedDict):
    rank: _Rank
    chunk_id: _Text
    doc_id: _Text


class _Hit(_HitRequired, total=False):
    doc_path: _Text
    heading_path: list[_Text]
    snippet: _Text
    citation: _Citation | None
    retrieval: _Retrieval | None
    index_version: _Text | None
    chunker_version: _Text | None
    score_kind: _Text | None
    stale: _Flag | None


class _RowRequired(TypedDict):
    query_id: Annotated[str, Field(strict=True, min_length=1)]
    hits_top_k: list[_Hit]


class _Row(_RowRequired, total=False):
    query: _Text
    mode: _Text
    answer: _Answer | None
    elapsed_ms: _Count
    error: _Text | None


_ROW: TypeAdapter[Any] = TypeAdapter(_Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run of theirs. `snapshot` and `aggregate` are JSON objects, empty where they are not known."""

    run_id: str
    rows: tuple[dict[str, Any], ...]
    suite: str = ""
    created_at: str = ""
    commit_hash: str | None = None
    snapshot: dict[str, Any] = field(default_factory=dict)
    aggregate: dict[str, Any] = field(default_factory=dict)


def read_rows(data: bytes, name: str) -> tuple[dict[str, Any], ...]:
    """Read a `per_query.jsonl`.

    Raises:
        UsageError: naming the line of the first row that is none, or that a query has already.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: larger than {MAX_BYTES} bytes")
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            row = read_row(line, f"{name}:{number}")
            if row["query_id"] in rows:
                raise UsageError(f"{name}:{number}: query {quoted(row['query_id'])} stands twice")
            rows[row["query_id"]] = row
    return tuple(rows.values())


def read_row(data: bytes | str, place: str) -> dict[str, Any]:
    """Read one row. Keys that are not known, or that older versions do not write, do not matter.

    Raises:
        UsageError: naming the place and what is wrong.
    """
    row: dict[str, Any] = check(_ROW, parse(data, place), f"{place}: not a result of kebab")
    return row


def write_rows(rows: Iterable[dict[str, Any]]) -> bytes:
    """Write a `per_query.jsonl`; every key of a row is kept."""
    return b"".join(dumps(row) + b"\n" for row in rows)
