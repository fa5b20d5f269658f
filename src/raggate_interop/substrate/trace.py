"""trace.jsonl of substrate, in and out: one line per query, mode and result.

As specified, a line has `node_id` and `source_channel_ranks` holds ranks (`bm25_rank`, `vector_rank`, `fused_rank`) for
hybrid modes. As their code writes it, there is no `node_id`, and `source_channel_ranks` repeats scores by channel. Both
are read and written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Required

from msgspec import Struct
from pydantic import StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.jsonio import dump_line, parse
from raggate.base.quote import cut, quoted
from raggate.config.question_settings import mode_name
from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult, Run
from raggate_interop.json_shapes import Name, Number, Rank, check
from raggate_interop.substrate.records import read_lines, script_mode

CHANNELS = ("fts", "vector", "rrf", "rerank", "retrieval", "bonus")
"""Channels whose scores their code repeats under `source_channel_ranks`, in its order."""

STORED_TEXT = 200
"""Characters of a chunk's text that are kept."""

_SCHEMA_MODES = {"bm25": "fts"}
"""Modes that the schema has another word for."""


_NO_CHUNK = Chunk(chunk_id="", rel_path="", heading_path="", text="")


class _Line(TypedDict, total=False):
    query: Required[Name]
    mode: Required[Name]
    rank: Required[Rank]
    doc_id: Required[Name]
    node_id: StrictStr | None
    score_final: Number | None
    score_components: dict[str, Number] | None
    source_channel_ranks: dict[str, Number | None] | None


_LINE: TypeAdapter[Any] = TypeAdapter(_Line)


class TraceLine(Struct, frozen=True, kw_only=True):
    """One result of one query in one mode.

    Attributes:
        query: the text of the query.
        mode: the mode under raggate's name.
        rank: place in the result list, from 1.
        doc_id: the document.
        node_id: the chunk, None where it is not told.
        score_final: the score that ranks, None where it is not told.
        score_components: scores by channel; only those that apply.
        heading_only: whether the question meets its heading alone, None where it is not told.
        place: file and line it was read from.
    """

    query: str
    mode: str
    rank: int
    doc_id: str
    node_id: str | None
    score_final: float | None
    score_components: Mapping[str, float]
    heading_only: Any
    place: str


def read_trace(path: Path) -> tuple[TraceLine, ...]:
    """Read a `trace.jsonl` of either form."""
    return _checked(read_lines(path))


def parse_trace(text: bytes, name: str) -> tuple[TraceLine, ...]:
    """Read the content of a `trace.jsonl`."""
    rows = enumerate(text.split(b"\n"), 1)
    return _checked((f"{name}:{number}", parse(row, f"{name}:{number}")) for number, row in rows if row.strip())


def _checked(rows: Iterable[tuple[str, Any]]) -> tuple[TraceLine, ...]:
    lines: list[TraceLine] = []
    seen: dict[tuple[str, str, int], str] = {}
    for place, value in rows:
        line = _line(check(_LINE, value, place), place)
        first = seen.setdefault((line.query, line.mode, line.rank), place)
        if first != place:
            raise UsageError(f"{place}: rank {line.rank} of this query and mode is already in {cut(first)}")
        lines.append(line)
    return tuple(lines)


def render_trace(lines: Sequence[TraceLine]) -> str:
    """Return the text of a `trace.jsonl` as their scripts write it."""
    return "".join(json.dumps(_written(line), ensure_ascii=False) + "\n" for line in lines)


def to_rows(lines: Sequence[TraceLine]) -> tuple[dict[str, Any], ...]:
    """Make rows as in `results.jsonl` of a trace; queries without a result are not in a trace."""
    lists: dict[tuple[str, str], list[TraceLine]] = {}
    for line in lines:
        lists.setdefault((line.query, line.mode), []).append(line)
    rows = []
    for (query, mode), members in lists.items():
        ordered = sorted(members, key=lambda line: line.rank)
        for expected, line in enumerate(ordered, 1):
            if line.rank != expected:
                raise UsageError(
                    f"{line.place}: expected rank {expected} of {quoted(query, limit=80)} in mode "
                    f"{cut(mode)}, found {line.rank}: its ranks have gaps"
                )
        rows.append({"query": query, "mode": mode, "results": [_entry(line) for line in ordered]})
    return tuple(rows)


def _line(row: dict[str, Any], place: str) -> TraceLine:
    for key, value in (row.get("source_channel_ranks") or {}).items():
        if key.endswith("_rank") and value is not None and (value != int(value) or value < 1):
            raise UsageError(f"{place}: source_channel_ranks.{cut(key)}: expected a whole number from 1")
    return TraceLine(
        query=row["query"],
        mode=mode_name(row["mode"]),
        rank=row["rank"],
        doc_id=row["doc_id"],
        node_id=row.get("node_id"),
        score_final=row.get("score_final"),
        score_components=row.get("score_components") or {},
        heading_only=row.get("heading_only"),
        place=place,
    )


def _written(line: TraceLine) -> dict[str, Any]:
    scores = dict(line.score_components)
    # their code repeats the components whenever one of the three main channels is among them
    repeated = {channel: scores[channel] for channel in CHANNELS if channel in scores}
    return {
        "query": line.query,
        "mode": script_mode(line.mode),
        "rank": line.rank,
        "doc_id": line.doc_id,
        "score_final": line.score_final,
        "score_components": scores,
        "source_channel_ranks": repeated if {"fts", "vector", "rrf"} & scores.keys() else None,
    }


def _entry(line: TraceLine) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rank": line.rank,
        "doc_id": line.doc_id,
        "score": line.score_final,
        "scores": dict(line.score_components),
    }
    optional = {"node_id": line.node_id, "heading_only": line.heading_only}
    return {**entry, **{key: value for key, value in optional.items() if value is not None}}


def trace_of(run: Run) -> str:
    """Return the trace of a run as specified: each retrieved chunk in the order of the run, then by rank.

    A failed call and an empty list have no lines.
    """
    places = ((item, position) for item in run.results for position in range(len(item.labels.matches)))
    return "".join(dump_line(_of_chunk(item, position)).decode() for item, position in places)


def _of_chunk(item: LabelledResult, position: int) -> dict[str, Any]:
    case, labels, response = item.case, item.labels, item.result.response
    chunk = response.chunks[position] if response else _NO_CHUNK
    mode = item.result.mode
    scores = {"fts": chunk.score_lexical, "vector": chunk.score_vector}
    line: dict[str, Any] = {
        "query": case.question,
        "case_id": case.id,
        "mode": _SCHEMA_MODES.get(mode, mode),
        "rank": position + 1,
        "doc_id": chunk.document,
        "node_id": chunk.chunk_id or None,
        "score_final": chunk.score_final,
        "score_components": {name: score for name, score in scores.items() if score is not None},
        "vault": chunk.vault,
        "heading_path": chunk.heading_path,
        "text": chunk.text if len(chunk.text) <= STORED_TEXT else chunk.text[:STORED_TEXT] + "...",
        "difficulty": case.difficulty,
        "hit": bool(labels.matches[position]),
        "expected": bool(labels.matches[position]) or _is_expected(chunk, case),
        "supports": list(labels.matches[position]),
        "heading_only": labels.heading_only[position],
        "duplicate": position in labels.duplicates,
    }
    if mode.startswith("hybrid"):
        # the list of a plain hybrid search is the fused one; other ranks of its channels no API tells
        line["source_channel_ranks"] = {"fused_rank": position + 1} if mode == "hybrid" else {}
    return line


def _is_expected(chunk: Chunk, case: Case) -> bool:
    """Return whether a chunk is from a document that the case names, whatever the section."""
    for support in case.gold_supports:
        if support.doc_id is not None and support.doc_id == chunk.document:
            return True
        if support.rel_path and support.rel_path == chunk.rel_path and case.may_be_in(chunk.vault, support):
            return True
    return False
