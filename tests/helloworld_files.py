"""Run directories of helloworld in their exact shape, built with defaults for the switch-over tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CONFIG: dict[str, Any] = {
    "k": 5,
    "rerank_weights": {"vector": 0.7, "lexical": 0.3},
    "folder_mode": "on_with_fallback",
    "llm_model": "Qwen2.5-3B-Instruct-Q4_K_M",
    "embedding_model": "ggml-org_embeddinggemma-300M-GGUF_embeddinggemma-300M-Q8_0",
    "judge_model": "Qwen2.5-3B-Instruct-Q4_K_M",
    "judge_prompt_version": "v1.0",
    "judge_temperature": 0.0,
    "dataset_version": "db0a866e59180bf1d4fd6abda7e8c38223f4ec81",
    "index_build_version": None,
    "retriever_version": None,
    "answerer_version": None,
}
COMMIT = "db0a866e59180bf1d4fd6abda7e8c38223f4ec81"
OPERATIONAL: dict[str, Any] = {
    "operational_metrics": {
        "error_rate": 0.0,
        "timeout_rate": 0.0,
        "empty_response_rate": 0.0,
        "coverage_by_doc_type": {},
    },
    "latency": {"p50_ms": 2455.4, "p95_ms": 2989.7, "total_ms": 22106.7},
}
FLAT = {
    "recall_at_k_avg": 0.7,
    "mrr_avg": 0.52,
    "precision_at_k_avg": 0.16,
    "scope_miss_rate": 0.2,
    "attribution_hit_rate": 0.8,
    "groundedness_avg": 3.0,
    "correctness_avg": 4.2,
}
CASES: tuple[dict[str, Any], ...] = (
    {
        "id": "test_001",
        "question": "How are strings sorted?",
        "answerable": True,
        "expected_key_facts": ["no built in string sort"],
        "gold_supports": [
            {"rel_path": "Software/Tips.md", "heading_path": "# Golang", "snippets": ["no built in string sort"]}
        ],
        "required_support_groups": None,
        "recency_conflict_rule": None,
        "tags": ["personal", "code"],
        "vaults": ["personal"],
        "folders": ["Software"],
        "category": "factual",
        "difficulty": "easy",
    },
    {
        "id": "test_002",
        "question": "Who starts and who ends the process?",
        "answerable": True,
        "expected_key_facts": [],
        "gold_supports": [
            {"rel_path": "a.md", "heading_path": "# A", "snippets": []},
            {"rel_path": "b.md", "heading_path": "# B", "snippets": []},
        ],
        "required_support_groups": [[0, 1]],
        "recency_conflict_rule": None,
        "tags": ["work"],
        "vaults": ["work"],
        "folders": [],
        "category": "multi_hop",
        "difficulty": "hard",
    },
    {
        "id": "test_003",
        "question": "What is the capital of France?",
        "answerable": False,
        "expected_key_facts": [],
        "gold_supports": [],
        "required_support_groups": None,
        "recency_conflict_rule": None,
        "tags": ["general"],
        "vaults": ["personal"],
        "folders": [],
        "category": "general",
        "difficulty": "medium",
    },
)


def make_chunk_row(rel_path: str = "a.md", heading_path: str = "# A", rank: int = 1, **fields: Any) -> dict[str, Any]:
    scores = {"score_vector": 0.7, "score_final": 0.6}
    name = f"{rel_path} {heading_path} {rank}"
    place = {"chunk_id": name, "rel_path": rel_path, "heading_path": heading_path, "rank": rank}
    return {**place, **scores, "text": "Text.", **fields}


def make_row(case_id: str = "test_001", *chunks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Build one row of results.jsonl, not scored yet."""
    row = {
        "test_case_id": case_id,
        "question": f"Question {case_id}?",
        "answer": "An answer.",
        "references": [],
        "retrieved_chunks": list(chunks),
        "config": CONFIG,
        "latency": {"total_ms": 1500.0},
    }
    return {**row, **fields}


ROWS = (
    make_row(
        "test_001",
        make_chunk_row("Software/Tips.md", "# Golang Tips & Oddities", 1, text="There is NO built in string sort."),
        make_chunk_row("a.md", "# A", 2),
        references=[
            {"vault": "personal", "rel_path": "Software/Tips.md", "heading_path": "# Golang", "chunk_index": 1}
        ],
        groundedness={"score": 4.0, "reasoning": "", "unsupported_claims": [], "supported_claims": []},
        correctness={"score": 5.0, "reasoning": ""},
        cost={"judge_tokens": 100, "judge_cost_usd": 0.0},
    ),
    make_row("test_002", make_chunk_row("c.md", "# C", 1), make_chunk_row("a.md", "# A > ## Sub", 2)),
    make_row(
        "test_003",
        answer="I couldn't find any relevant information in your notes to answer this question.",
        abstention={"abstained": True, "hallucinated": False},
    ),
)


def write_golden(directory: Path, cases: Sequence[dict[str, Any]] = CASES) -> Path:
    """Write an eval_set.jsonl."""
    path = directory / "eval_set.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def write_run(
    parent: Path,
    run_id: str = "20251219_235258",
    *,
    rows: Sequence[dict[str, Any]] | None = ROWS,
    config: dict[str, Any] | None = None,
    aggregates: dict[str, Any] | None = None,
) -> Path:
    """Write a run directory; `rows` None leaves out results.jsonl, as in their git."""
    directory = parent / run_id
    directory.mkdir(parents=True)
    config = {**CONFIG, **(config or {}), "eval_set_commit_hash": COMMIT}
    metrics = {
        "run_id": run_id,
        "timestamp": "2025-12-19T23:53:20.701942+00:00",
        "aggregate_metrics": OPERATIONAL if aggregates is None else aggregates,
        "config_hash": "03254b2cb94682e1",
        "eval_set_commit_hash": COMMIT,
    }
    (directory / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (directory / "metrics.json").write_text(json.dumps(metrics, indent=2), encoding="utf-8")
    (directory / "summary.md").write_text("# Evaluation Run Summary\n<<<<<<< not read\n", encoding="utf-8")
    if rows is not None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (directory / "results.jsonl").write_text(text, encoding="utf-8")
    return directory
