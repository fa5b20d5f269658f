"""trace.jsonl of substrate, in and out: one line per query, mode and result.

As specified, a line has `node_id` and `source_channel_ranks` holds ranks (`bm25_rank`, `vector_rank`, `fused_rank`) for
hybrid modes. As their code writes it, there is no `node_id`, and `source_channel_ranks` repeats scores by channel. Both
are read and written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Required

from pydantic import StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.jsonio import dump_line
from raggate.base.quote import cut, quoted
from raggate.config.question_settings import mode_name
from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult, Run
from raggate_interop.json_shapes import Name, Number, Rank, check, json_lines
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


def read_trace(path: Path) -> tuple[dict[str, Any], ...]:
    """Read a `trace.jsonl` of either form."""
    return tuple(row for _, row in _checked(read_lines(path)))


def as_scripts_write(trace: str, name: str) -> str:
    """Return the text of a `trace.jsonl` as their scripts write it."""
    lines = _checked(json_lines(trace.encode().split(b"\n"), name))
    return "".join(json.dumps(_written(row), ensure_ascii=False) + "\n" for _, row in lines)


def _checked(lines: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    seen: dict[tuple[str, str, int], str] = {}
    for place, value in lines:
        row = check(_LINE, value, place)
        row = {**row, "mode": mode_name(row["mode"]), "place": place}
        for key, rank in (row.get("source_channel_ranks") or {}).items():
            if key.endswith("_rank") and rank is not None and (rank != int(rank) or rank < 1):
                raise UsageError(f"{place}: source_channel_ranks.{cut(key)}: expected a whole number from 1")
        first = seen.setdefault((row["query"], row["mode"], row["rank"]), place)
        if first != place:
            raise UsageError(f"{place}: rank {row['rank']} of this query and mode is already in {cut(first)}")
        yield place, row


def to_rows(lines: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Make rows as in `results.jsonl` of a trace; queries without a result are not in a trace."""
    lists: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        lists.setdefault((line["query"], line["mode"]), []).append(line)
    rows = []
    for (query, mode), members in lists.items():
        ordered = sorted(members, key=lambda line: int(line["rank"]))
        for expected, line in enumerate(ordered, 1):
            if line["rank"] != expected:
                raise UsageError(
                    f"{line['place']}: expected rank {expected} of {quoted(query, limit=80)} in mode "
                    f"{cut(mode)}, found {line['rank']}: its ranks have gaps"
                )
        rows.append({"query": query, "mode": mode, "results": [_entry(line) for line in ordered]})
    return tuple(rows)


def _written(line: Mapping[str, Any]) -> dict[str, Any]:
    scores = dict(line.get("score_components") or {})
    # their code repeats the components whenever one of the three main channels is among them
    repeated = {channel: scores[channel] for channel in CHANNELS if channel in scores}
    return {
        "query": line["query"],
        "mode": script_mode(line["mode"]),
        "rank": line["rank"],
        "doc_id": line["doc_id"],
        "score_final": line.get("score_final"),
        "score_components": scores,
        "source_channel_ranks": repeated if {"fts", "vector", "rrf"} & scores.keys() else None,
    }


def _entry(line: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rank": line["rank"],
        "doc_id": line["doc_id"],
        "score": line.get("score_final"),
        "scores": dict(line.get("score_components") or {}),
    }
    return {**entry, **{key: line[key] for key in ("node_id", "heading_only") if line.get(key) is not None}}


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
