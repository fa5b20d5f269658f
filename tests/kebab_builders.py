"""Rows, golden queries and an SQLite file in the exact shape of kebab's, built from what a test is about."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bounds import bounds
from raggate.config.schema import Config
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.service import Workspace
from raggate.service.ask import OnResult, questions_of
from raggate_interop.kebab.adapter import KebabAdapter
from raggate_interop.kebab.golden import GoldenQuery

STUB = Path(__file__).parent / "fakes" / "kebab_stub.py"
HEX = "0123456789abcdef" * 2
SNAPSHOT: dict[str, Any] = {
    "config": {},
    "eval_k": 10,
    "chunker_version": "md-heading-v2",
    "embedding": {"model": "none", "version": "1", "dimensions": 0, "provider": "none"},
    "llm": {"model_id": "m", "provider": "p"},
    "prompt_template_version": "rag-v4",
    "score_gate": 0.3,
    "rrf_k": 60,
    "index_version": None,
}
SCHEMA = """
CREATE TABLE eval_runs (run_id TEXT PRIMARY KEY, suite TEXT NOT NULL, config_snapshot_json TEXT NOT NULL,
  aggregate_json TEXT NOT NULL, commit_hash TEXT, created_at TEXT NOT NULL);
CREATE TABLE eval_query_results (run_id TEXT NOT NULL REFERENCES eval_runs(run_id) ON DELETE CASCADE,
  query_id TEXT NOT NULL, result_json TEXT NOT NULL, PRIMARY KEY (run_id, query_id));
CREATE TABLE documents (doc_id TEXT PRIMARY KEY, workspace_path TEXT NOT NULL UNIQUE);
CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL, text TEXT NOT NULL, heading_path_json TEXT,
  section_label TEXT, source_spans_json TEXT NOT NULL, chunker_version TEXT NOT NULL);
"""


def ask_stand_in(
    root: Path,
    cases: Sequence[Case],
    docs: Mapping[str, str],
    behaviour: str = "",
    *,
    program: Mapping[str, Any] | None = None,
    words: Sequence[str] = (),
    on_result: OnResult = lambda *_: None,
    give_up_after: int = 10,
    max_body_bytes: int = 8 << 20,
    **ask: Any,
) -> tuple[Result, ...]:
    """Ask the stand-in for kebab's command line, as a configuration of these keys of `api.command` and `ask` says.

    What it is told goes into the file `log` of the directory, the number of a child into `pid`.
    """
    environment = {
        "KEBAB_STUB": behaviour,
        "KEBAB_STUB_DOCS": json.dumps(docs),
        "KEBAB_STUB_LOG": str(root / "log"),
        "KEBAB_STUB_PID": str(root / "pid"),
    }
    run = [sys.executable, "-I", "-S", str(STUB), *words]
    stand_in = {"run": run, "env": environment, "pass_env": ["LD_LIBRARY_PATH"], **(program or {})}
    config = Config.model_validate(
        {
            "suite": "kb",
            "vault": {"kb": "notes"},
            "api": {"command": stand_in},
            "ask": {"adapter": "kebab", "timeout": 20, **ask},
        }
    )
    questions = questions_of(cases, config.ask.modes)
    workspace = Workspace(root=root, out=root, vaults={}, environment=os.environ)
    adapter = KebabAdapter(config, root, os.environ)
    with (
        bounds(give_up_after=give_up_after, max_body_bytes=max_body_bytes),
        adapter.start(config.api, workspace) as api,
    ):
        return adapter.ask(questions, api, on_result=on_result).results


def query(query_id: str = "q1", **fields: Any) -> GoldenQuery:
    return GoldenQuery(**{"id": query_id, "query": f"Question {query_id}?", **fields})


def queries(*items: GoldenQuery) -> dict[str, GoldenQuery]:
    return {item.id: item for item in items}


def hit(rank: int, chunk_id: str, doc_id: str, *, lines: tuple[int, int] = (1, 9), **fields: Any) -> dict[str, Any]:
    path = f"docs/{doc_id}.md"
    return {
        "rank": rank,
        "chunk_id": chunk_id,
        "doc_id": doc_id,
        "doc_path": path,
        "heading_path": ["Top", "Part"],
        "section_label": None,
        "snippet": f"text of {chunk_id}",
        "citation": {"kind": "line", "path": path, "start": lines[0], "end": lines[1], "section": None},
        "retrieval": {
            "method": "lexical",
            "fusion_score": 1 / rank,
            "lexical_score": 2.5,
            "vector_score": None,
            "lexical_rank": rank,
            "vector_rank": None,
        },
        "index_version": "fts5-v009",
        "embedding_model": None,
        "chunker_version": "md-heading-v2",
        "indexed_at": "2026-01-01T00:00:00Z",
        "stale": False,
        "score_kind": "bm25",
        **fields,
    }


def answer(
    text: str, *, grounded: bool = True, paths: Iterable[str] = ("docs/d1.md",), **fields: Any
) -> dict[str, Any]:
    """Build an Answer as it is stored, with a citation for each path."""
    cited = [{"kind": "line", "path": path, "start": 1, "end": 2, "section": "Part"} for path in paths]
    return {
        "answer": text,
        "citations": [{"marker": "[1]", "citation": one, "indexed_at": "x", "stale": False} for one in cited],
        "grounded": grounded,
        "refusal_reason": None if grounded else "score_gate",
        **fields,
    }


def row(query_id: str, *hits: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "query": f"Question {query_id}?",
        "mode": "lexical",
        "hits_top_k": list(hits),
        "answer": None,
        "elapsed_ms": 7,
        "error": None,
        **fields,
    }


def jsonl(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in rows)


def three_queries() -> tuple[list[dict[str, Any]], dict[str, GoldenQuery]]:
    """Return the example with first hits at rank 1, at rank 4 and nowhere."""
    golden = queries(*(query(f"q{n}", expected_chunk_ids=(f"c{n}",), expected_doc_ids=(f"d{n}",)) for n in (1, 2, 3)))
    misses = [hit(rank, f"x{rank}", f"y{rank}") for rank in (1, 2, 3)]
    return [row("q1", hit(1, "c1", "d1")), row("q2", *misses, hit(4, "c2", "d2")), row("q3", *misses)], golden


def three_queries_later() -> list[dict[str, Any]]:
    """Return a later run of the same queries, with first hits at ranks 2, 1 and 1."""
    miss = hit(1, "x1", "y1")
    return [row("q1", miss, hit(2, "c1", "d1")), row("q2", hit(1, "c2", "d2")), row("q3", hit(1, "c3", "d3"))]


def write_database(
    path: Path,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    snapshots: Mapping[str, Mapping[str, Any]] | None = None,
    aggregates: Mapping[str, Mapping[str, Any]] | None = None,
    chunks: Mapping[str, tuple[str, tuple[int, int]]] | None = None,
) -> Path:
    """Write an SQLite file with these runs; `chunks` maps an id to its document and lines, and fills both tables."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        for number, (run_id, rows) in enumerate(runs.items(), 1):
            snapshot = {**SNAPSHOT, **(snapshots or {}).get(run_id, {})}
            stored = json.dumps((aggregates or {}).get(run_id, {}))
            day = f"2026-01-{number:02d}T00:00:00Z"
            connection.execute(
                "INSERT INTO eval_runs VALUES (?, 'golden', ?, ?, NULL, ?)", (run_id, json.dumps(snapshot), stored, day)
            )
            for item in rows:
                connection.execute(
                    "INSERT INTO eval_query_results VALUES (?, ?, ?)", (run_id, item["query_id"], json.dumps(item))
                )
        for chunk_id, (doc_id, (start, end)) in (chunks or {}).items():
            spans = json.dumps([{"kind": "line", "start": start, "end": end}])
            connection.execute("INSERT OR IGNORE INTO documents VALUES (?, ?)", (doc_id, f"docs/{doc_id}.md"))
            connection.execute(
                "INSERT INTO chunks VALUES (?, ?, 'text', '[]', NULL, ?, 'md-heading-v2')", (chunk_id, doc_id, spans)
            )
        connection.commit()
    return path
