"""kebab's rows of results, `QueryResult`: JSON lines in, checked rows out, and back without loss.

A row is kept as the JSON object it is; only what is read of it is checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Required

from msgspec import Struct, field
from pydantic import Field, StrictBool, StrictFloat, StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.base.quote import quoted
from raggate_interop.json_shapes import check, json_lines

MAX_BYTES = 512 << 20

_Count = Annotated[int, Field(strict=True, ge=0)]
_Rank = Annotated[int, Field(strict=True, ge=1)]


class _Citation(TypedDict, total=False):
    path: StrictStr


class _CitedPath(TypedDict, total=False):
    path: Required[StrictStr]
    section: StrictStr | None


class _Cited(TypedDict):
    citation: _CitedPath


class _Answer(TypedDict, total=False):
    answer: Required[StrictStr]
    grounded: Required[StrictBool]
    citations: Required[list[_Cited]]
    refusal_reason: StrictStr | None


class _Retrieval(TypedDict, total=False):
    method: StrictStr
    fusion_score: StrictFloat | None
    lexical_score: StrictFloat | None
    vector_score: StrictFloat | None


class _Hit(TypedDict, total=False):
    rank: Required[_Rank]
    chunk_id: Required[StrictStr]
    doc_id: Required[StrictStr]
    doc_path: StrictStr
    heading_path: list[StrictStr]
    snippet: StrictStr
    citation: _Citation | None
    retrieval: _Retrieval | None
    index_version: StrictStr | None
    chunker_version: StrictStr | None


class _Row(TypedDict, total=False):
    query_id: Required[Annotated[str, Field(strict=True, min_length=1)]]
    hits_top_k: Required[list[_Hit]]
    query: StrictStr
    mode: StrictStr
    answer: _Answer | None
    elapsed_ms: _Count
    error: StrictStr | None


_ROW: TypeAdapter[Any] = TypeAdapter(_Row)


class StoredRun(Struct, frozen=True, kw_only=True):
    """One run of theirs. `snapshot` and `aggregate` are JSON objects, empty where they are not known."""

    run_id: str
    rows: tuple[dict[str, Any], ...]
    suite: str = ""
    created_at: str = ""
    commit_hash: str | None = None
    snapshot: dict[str, Any] = field(default_factory=dict)
    aggregate: dict[str, Any] = field(default_factory=dict)


def read_rows(data: bytes, name: str) -> tuple[dict[str, Any], ...]:
    """Read a `per_query.jsonl`."""
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: larger than {MAX_BYTES} bytes")
    rows: dict[str, dict[str, Any]] = {}
    for place, value in json_lines(data.split(b"\n"), name):
        row = check_row(value, place)
        if rows.setdefault(row["query_id"], row) is not row:
            raise UsageError(f"{place}: query {quoted(row['query_id'])} occurs twice")
    return tuple(rows.values())


def check_row(value: object, place: str) -> dict[str, Any]:
    """Check one row. Keys that are not known, or that older versions do not write, do not matter."""
    row: dict[str, Any] = check(_ROW, value, f"{place}: not a result of kebab")
    return row


def write_rows(rows: Iterable[dict[str, Any]]) -> bytes:
    """Write a `per_query.jsonl`; every key of a row is kept."""
    return b"".join(dumps(row) + b"\n" for row in rows)
