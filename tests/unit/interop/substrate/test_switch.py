"""A team that used substrate can move: its checklist, item by item, on files of its exact shape."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from invoked import ended
from raggate.base.errors import CannotTell, UsageError
from raggate_interop.substrate import (
    golden as substrate_golden,
    metrics as substrate_metrics,
    metrics_files,
    records,
    results as substrate_results,
    trace,
)
from raggate_interop.substrate.command import substrate
from substrate_files import put

QUERIES: list[dict[str, Any]] = [
    {
        "query": "what is reciprocal rank fusion",
        "expected_docs": ["LabelFiles/RRF.md"],
        "difficulty": "easy",
        "retriever_types": ["bm25", "vector", "hybrid"],
        "notes": "the title says it",
    },
    {
        "query": "combine two rankings",
        "expected_docs": ["LabelFiles/RRF.md", "LabelFiles/Fusion.md"],
        "difficulty": "hard",
        "retriever_types": ["hybrid"],
    },
]
CORPUS = [
    {
        "doc_id": "LabelFiles/RRF.md",
        "title": "RRF",
        "body": "# RRF\n\nReciprocal rank fusion.",
        "frontmatter": {"a": 1},
    },
    {"doc_id": "LabelFiles/Fusion.md", "title": "Fusion", "body": "# Fusion\n\nTwo rankings become one."},
]


def _result(rank: int, doc_id: str, **scores: float) -> dict[str, Any]:
    return {"rank": rank, "doc_id": doc_id, "score": sum(scores.values()), "scores": scores}


RESULTS: list[dict[str, Any]] = [
    {
        "query": query["query"],
        "mode": mode,
        "difficulty": query["difficulty"],
        "expected_docs": query["expected_docs"],
        "results": results,
    }
    for mode, lists in {
        "fts": ([_result(1, "LabelFiles/RRF.md", fts=2.0)], []),
        "vector": ([_result(1, "x.md", vector=0.5), _result(2, "LabelFiles/RRF.md", vector=0.4)], []),
        "hybrid": (
            [_result(1, "LabelFiles/RRF.md", fts=0.02, vector=0.01, rrf=0.03)],
            [_result(1, "x.md", rrf=0.03), _result(2, "x.md", rrf=0.02), _result(3, "LabelFiles/Fusion.md", rrf=0.01)],
        ),
        "hybrid_rerank": (
            [_result(1, "LabelFiles/RRF.md", retrieval=0.6, rerank=0.4)],
            [_result(1, "LabelFiles/Fusion.md", retrieval=0.2, rerank=0.8)],
        ),
    }.items()
    for query, results in zip(QUERIES, lists, strict=True)
]
RECORD: dict[str, Any] = {
    "run_id": "2026-03-02T10:00:00+00:00",
    "git": {"commit": "240a7af", "branch": "main", "dirty": True},
    "corpus": {"path": "/vault", "hash": "sha256:" + "ab" * 32},
    "queries": {"path": "/queries.json", "version": "1.0"},
    "settings": {
        "embedding_model": "mlx-community/all-MiniLM-L6-v2-bf16",
        "fts_impl": "sqlite_fts5",
        "rag_v2": {
            "chunk_size": 768,
            "chunk_overlap": 96,
            "rrf_k": 60,
            "rerank_enabled": False,
            "expansion_enabled": True,
        },
    },
    "metrics": {"bm25": {"easy": {"count": 6.0, "hit_at_1": 0.75, "hit_at_3": 0.9}}},
}
# the example of the specification
METRICS: dict[str, Any] = {
    "by_retriever": {
        "bm25": {
            "by_difficulty": {
                "easy": {
                    "hit_at_1": 0.75,
                    "hit_at_3": 0.90,
                    "hit_at_5": 0.95,
                    "hit_at_10": 1.0,
                    "mrr_at_10": 0.82,
                    "count": 12,
                }
            },
            "overall": {
                "hit_at_1": 0.70,
                "hit_at_3": 0.85,
                "hit_at_5": 0.92,
                "hit_at_10": 0.97,
                "mrr_at_10": 0.78,
                "count": 40,
            },
        }
    }
}


run = partial(ended, substrate)


def test_queries_are_keyed_by_text_and_mode(tmp_path: Path) -> None:
    """Item: a query has no id; one text may stand twice in different modes, and the right one is scored in each."""
    twice = [
        {**QUERIES[0], "retriever_types": ["bm25"], "expected_docs": ["LabelFiles/RRF.md"]},
        {**QUERIES[0], "retriever_types": ["vector"], "expected_docs": ["x.md"]},
    ]
    queries = substrate_golden.read_queries(put(tmp_path / "queries.json", twice))
    rows = substrate_results.read_results(put(tmp_path / "results.jsonl", RESULTS))
    table = substrate_metrics.score(substrate_metrics.join([query.row() for query in queries.queries], rows).asked)
    assert (table["bm25"]["easy"]["hit_at_1"], table["vector"]["easy"]["hit_at_1"]) == (1.0, 1.0)


def test_results_file(tmp_path: Path) -> None:
    """Item: results.jsonl in four modes is read, and written back byte for byte."""
    path = put(tmp_path / "results.jsonl", RESULTS)
    text = path.read_bytes()
    rows = substrate_results.read_results(path)
    assert tuple(dict.fromkeys(row["mode"] for row in rows)) == ("bm25", "vector", "hybrid", "hybrid_rerank")
    assert substrate_results.render_results(rows).encode() == text


def test_trace_as_specified(tmp_path: Path) -> None:
    """Item: a trace with every field of the specification is read, its node_id and scores kept for the results."""
    lines = [
        {
            "query": "q",
            "mode": mode,
            "rank": 1,
            "doc_id": "a.md",
            "node_id": node_id,
            "score_final": 0.03,
            "score_components": {"fts": 2.0, "vector": 0.5, "rrf": 0.03},
            **ranks,
        }
        for mode, node_id, ranks in [
            ("fts", None, {}),
            ("hybrid", "n1", {"source_channel_ranks": {"bm25_rank": 1, "vector_rank": 4, "fused_rank": 1}}),
        ]
    ]
    entry = {
        "rank": 1,
        "doc_id": "a.md",
        "score": 0.03,
        "scores": {"fts": 2.0, "vector": 0.5, "rrf": 0.03},
    }
    assert trace.to_rows(trace.read_trace(put(tmp_path / "trace.jsonl", lines))) == (
        {"query": "q", "mode": "bm25", "results": [entry]},
        {"query": "q", "mode": "hybrid", "results": [{**entry, "node_id": "n1"}]},
    )


def test_trace_as_written(tmp_path: Path) -> None:
    """Item: a trace of their script, with scores for ranks, is read as scores and written back byte for byte."""
    lines = [
        {
            "query": "q",
            "mode": mode,
            "rank": 1,
            "doc_id": "a.md",
            "score_final": 0.9,
            "score_components": scores,
            "source_channel_ranks": channels,
        }
        for mode, scores, channels in [
            ("hybrid", {"fts": 2.0, "rrf": 0.03}, {"fts": 2.0, "rrf": 0.03}),
            ("hybrid_rerank", {"retrieval": 0.5, "rerank": 0.4}, None),
        ]
    ]
    path = put(tmp_path / "trace.jsonl", lines)
    text = path.read_bytes()
    assert trace.as_scripts_write(text.decode(), str(path)).encode() == text


@pytest.mark.parametrize(
    ("shape", "content"),
    [
        ("seed", METRICS),
        (
            "by_mode",
            {"by_mode": {"fts": {"easy": {"count": 6.0, "hit_at_1": 0.5}}, "hybrid_rerank": {"hard": {"x": 1}}}},
        ),
        ("bare", {"bm25": {"easy": {"count": 6.0, "hit_at_1": 0.5}}, "vector": {"hard": {"hit_at_1": 1.0}}}),
    ],
)
def test_metrics_in_every_shape(tmp_path: Path, shape: Any, content: dict[str, Any]) -> None:
    """Item: the seed's shape and both that their code writes are read and written back, fts and bm25 as one mode."""
    path = put(tmp_path / "metrics.json", content)
    text = path.read_text(encoding="utf-8")
    table = metrics_files.read_shaped(path)[0]
    assert table["bm25"]["easy"]["hit_at_1"] in {0.5, 0.75}
    assert metrics_files.render_metrics(metrics_files.from_table(table, shape)) == text


def test_metrics_of_all_ks(tmp_path: Path) -> None:
    """Item: hit, MRR and nDCG at 1, 3, 5 and 10, the heading, duplicate and diversity rates, and count."""
    queries, results = put(tmp_path / "queries.json", QUERIES), put(tmp_path / "results.jsonl", RESULTS)
    code, output = run("score", queries, results, "--json", "--corpus", put(tmp_path / "corpus.jsonl", CORPUS))
    assert code == 0
    overall = json.loads(output)["by_retriever"]["hybrid"]["overall"]
    assert overall.keys() == {
        *(f"{name}_at_{k}" for name in ("hit", "mrr", "ndcg") for k in (1, 3, 5, 10)),
        "heading_dominance_rate",
        "heading_only_hit_rate",
        "duplicate_doc_rate",
        "diversity_rate",
        "count",
    }
    assert overall["hit_at_1"] == 0.5
    assert overall["mrr_at_10"] == pytest.approx((1 + 1 / 3) / 2)
    assert overall["duplicate_doc_rate"] == pytest.approx((0 + 1 / 3) / 2)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ((), 1),
        (("--min-count", 13), 0),
        (("--threshold", 1), 0),
        (("--threshold", 1, "--strict"), 1),
        (("--threshold", 1, "--scenario", "exact_match"), 1),
    ],
)
def test_what_fails_is_said_by_flags(tmp_path: Path, flags: tuple[Any, ...], code: int) -> None:
    """Item: thresholds, strict, the smallest bucket that is judged, and absolute targets of a scenario."""
    now = json.loads(json.dumps(METRICS))
    now["by_retriever"]["bm25"]["by_difficulty"]["easy"]["hit_at_1"] = 0.1
    arguments = ("compare", put(tmp_path / "metrics.json", now), put(tmp_path / "baseline.json", METRICS))
    assert run(*arguments, *flags)[0] == code


def test_run_record_and_key(tmp_path: Path) -> None:
    """Item: a run record with commit, dirty flag and corpus hash is read, and its key is theirs, letter by letter."""
    record = records.read_record(put(tmp_path / "record.json", RECORD))
    assert record == RECORD
    assert records.baseline_key(record) == (
        f"sha256:{'ab' * 32}__1.0__mlx-community/all-MiniLM-L6-v2-bf16__sqlite_fts5__chunk_size=768__chunk_overlap=96__"
        "rrf_k=60__rerank=0__expand=1"
    )


def test_baselines_directory(tmp_path: Path) -> None:
    """Item: a baseline is a reviewed copy under the name of its key, found again by a run of the same settings."""
    directory = tmp_path / "baselines"
    path = put(tmp_path / "record.json", RECORD)
    assert run("baseline", "update", path, "--dir", directory)[0] == 0
    (stored,) = directory.iterdir()
    assert stored.read_bytes() == path.read_bytes()
    assert not set(stored.name) & set('/:\\"<>|?*')
    assert run("compare", path, directory)[0] == 0

    worse = json.loads(json.dumps(RECORD))
    worse["metrics"]["bm25"]["easy"]["hit_at_1"] = 0.5
    put(path, worse)
    assert run("compare", path, directory)[0] == 1
    with pytest.raises(UsageError, match="exists already"):
        run("baseline", "update", path, "--dir", directory)
    assert run("baseline", "update", path, "--dir", directory, "--force")[0] == 0
    assert run("compare", path, directory)[0] == 0

    worse["settings"]["rag_v2"]["rrf_k"] = 10
    with pytest.raises(CannotTell):
        run("compare", put(path, worse), directory)
