"""trace.jsonl: every retrieved chunk of a run, one line each, in the trace schema of substrate.

A failed call and an empty list have no lines; results.jsonl.gz has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.text.jsonio import dump_line

STORED_TEXT = 200
"""Characters of a chunk's text that are kept."""

_SCHEMA_MODES = {"bm25": "fts"}
"""Modes that the schema has another word for."""


_NO_CHUNK = Chunk(chunk_id="", rel_path="", heading_path="", text="")


def render(run: Run, *, full_text: bool = False) -> str:
    """Serialise the retrieved chunks of a run: the same answers give the same bytes.

    Args:
        run: the labelled run; lines are in its order, then by rank.
    """
    return "".join(lines(run, full_text=full_text))


def lines(run: Run, *, full_text: bool = False) -> Iterator[str]:
    """Yield the lines of `render` one by one."""
    for item in run.results:
        for position in range(len(item.labels.matches)):
            yield dump_line(_line(item, position, full_text=full_text)).decode()


def _line(item: LabelledResult, position: int, *, full_text: bool) -> dict[str, Any]:
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
        "text": chunk.text if full_text or len(chunk.text) <= STORED_TEXT else chunk.text[:STORED_TEXT] + "...",
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
