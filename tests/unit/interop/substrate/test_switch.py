"""A team that used substrate can move: its checklist, item by item, on files of its exact shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from raggate.base.errors import ExitCode, RaggateError
from raggate.base.jsonio import as_dict
from raggate.inputs import golden
from raggate_interop.substrate import (
    gate,
    golden as substrate_golden,
    metrics as substrate_metrics,
    metrics_files,
    records,
    results as substrate_results,
    trace,
)
from raggate_interop.substrate.command import substrate
from raggate_interop.substrate.golden import from_cases, to_cases

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


def put(path: Path, value: Any) -> Path:
    """Write a file as their scripts do: JSON indented by two, or JSON lines."""
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in value)
    else:
        text = json.dumps(value, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    """Run a substrate command; give what it exits with and what it prints."""
    result = CliRunner().invoke(substrate, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(result.exception, RaggateError):
        return int(result.exception.exit_code), result.output + result.exception.message
    assert result.exception is None, result.exception
    return int(result.return_value or 0), result.output


@pytest.mark.parametrize("value", [QUERIES, {"version": "1.0", "description": "golden", "queries": QUERIES}])
def test_queries_of_both_forms(tmp_path: Path, value: Any) -> None:
    """Item: queries.json, wrapped and as a bare array, is read, and written back the same."""
    path = put(tmp_path / "queries.json", value)
    read = substrate_golden.read_queries(path)
    assert [query.row() for query in read.queries] == QUERIES
    before = json.loads(path.read_text(encoding="utf-8"))
    substrate_golden.write_queries(path, read, bare=isinstance(value, list))
    assert json.loads(path.read_text(encoding="utf-8")) == before


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


def test_optional_ids(tmp_path: Path) -> None:
    """Item: an id is kept where a query has one, and made where it has none, the same one every time."""
    queries = substrate_golden.read_queries(put(tmp_path / "queries.json", [{**QUERIES[0], "id": "q1"}, QUERIES[1]]))
    cases = to_cases(queries)
    again = to_cases(queries)
    assert cases[0].id == "q1"
    assert cases[1].id == again[1].id


def test_conversion_to_raggates_golden_set(tmp_path: Path) -> None:
    """Item: modes, difficulty and expected documents survive the way to raggate's golden set and back."""
    queries = substrate_golden.read_queries(put(tmp_path / "queries.json", QUERIES))
    cases = to_cases(queries)
    loaded = golden.load(b"".join(golden.write_case(case) for case in cases), "eval_set.jsonl")
    back = from_cases(loaded.cases)
    kept = ("query", "expected_docs", "difficulty", "retriever_types")
    assert [{key: query.row()[key] for key in kept} for query in back] == [
        {key: query[key] for key in kept} for query in QUERIES
    ]


def test_corpus_file(tmp_path: Path) -> None:
    """Item: corpus.jsonl is read, with titles, bodies and front matter."""
    documents = substrate_golden.read_corpus(put(tmp_path / "corpus.jsonl", CORPUS))
    assert [as_dict(document) for document in documents.values()] == [{"frontmatter": {}, **row} for row in CORPUS]


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
    assert trace.render_trace(trace.read_trace(path)).encode() == text


def test_metrics_in_the_seeds_shape(tmp_path: Path) -> None:
    """Item: metrics.json with by_retriever, by_difficulty and overall is read, and written back the same."""
    path = put(tmp_path / "metrics.json", METRICS)
    text = path.read_text(encoding="utf-8")
    table = metrics_files.read_shaped(path)[0]
    assert table["bm25"]["overall"]["count"] == 40
    assert metrics_files.render_metrics(metrics_files.from_table(table)) == text


@pytest.mark.parametrize(
    ("shape", "content"),
    [
        (
            "by_mode",
            {"by_mode": {"fts": {"easy": {"count": 6.0, "hit_at_1": 0.5}}, "hybrid_rerank": {"hard": {"x": 1}}}},
        ),
        ("bare", {"bm25": {"easy": {"count": 6.0, "hit_at_1": 0.5}}, "vector": {"hard": {"hit_at_1": 1.0}}}),
    ],
)
def test_metrics_in_the_shapes_of_their_code(tmp_path: Path, shape: Any, content: dict[str, Any]) -> None:
    """Item: both shapes that their code writes are read and written back the same, with fts and bm25 as one mode."""
    path = put(tmp_path / "metrics.json", content)
    text = path.read_text(encoding="utf-8")
    table = metrics_files.read_shaped(path)[0]
    assert table["bm25"]["easy"]["hit_at_1"] == 0.5
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


def test_ndcg_is_deduplicated_and_can_be_graded() -> None:
    """Item: nDCG is linear, of documents and not chunks, binary or by grades."""
    row = {"query": "q", "mode": "hybrid", "results": [_result(1, "a", rrf=1.0), _result(2, "a", rrf=0.9)]}
    (binary,) = substrate_metrics.join([{"query": "q", "expected_docs": ["a"]}], [row]).asked
    (graded,) = substrate_metrics.join([{"query": "q", "expected_docs": ["a"], "relevance": {"b": 3}}], [row]).asked
    assert substrate_metrics.ndcg(binary, 10) == 1.0
    assert substrate_metrics.ndcg(graded, 10) == pytest.approx(1 / (3 + 0.6309297535714574))


def test_their_own_numbers_beside_ours(tmp_path: Path) -> None:
    """Item: their scripts' and their harness's numbers are there too, where definitions differ."""
    queries, results = put(tmp_path / "queries.json", QUERIES), put(tmp_path / "results.jsonl", RESULTS)
    skill = json.loads(run("score", queries, results, "--json", "--exact", "--shape", "by_mode")[1])["by_mode"]
    assert skill["hybrid_rerank"]["easy"] == {
        "count": 1.0,
        "hit_at_1": 1.0,
        "hit_at_3": 1.0,
        "hit_at_10": 1.0,
        "mrr_at_10": 1.0,
        "ndcg_at_10": 1.0,
        "heading_dominance_rate": 0.0,
    }
    assert skill["fts"]["easy"]["heading_dominance_rate"] == 1.0
    harness = json.loads(run("score", queries, results, "--json", "--exact", "--shape", "bare")[1])
    assert harness["hybrid"]["hard"] == {
        "count": 1.0,
        "hit_at_1": 0.0,
        "hit_at_3": 1.0,
        "hit_at_5": 1.0,
        "hit_at_10": 1.0,
    }
    assert "hard" not in harness["bm25"]


def test_three_heading_dominances(tmp_path: Path) -> None:
    """Item: heading dominance is the specification's by default, and the two of their code by name."""
    queries, results = put(tmp_path / "queries.json", QUERIES), put(tmp_path / "results.jsonl", RESULTS)
    corpus = put(tmp_path / "corpus.jsonl", CORPUS)
    rates = {}
    for rule in ("seed", "build_metrics", "heading_bias"):
        _, output = run("score", queries, results, "--json", "--corpus", corpus, "--heading", rule)
        rates[rule] = json.loads(output)["by_retriever"]["bm25"]["overall"]["heading_dominance_rate"]
    assert rates == {"seed": 0.0, "build_metrics": 1.0, "heading_bias": 0.0}


def test_thresholds_by_metric(tmp_path: Path) -> None:
    """Item: a thresholds file gives each metric its own; others may drop by up to 0.05, and exactly 0.05 is allowed."""
    baseline = put(tmp_path / "baseline.json", METRICS)
    thresholds = put(tmp_path / "thresholds.json", {"hit_at_1": 0.03, "mrr_at_10": 0.05, "heading_dominance_rate": 0.1})
    now = json.loads(json.dumps(METRICS))
    now["by_retriever"]["bm25"]["overall"].update(hit_at_1=0.66, mrr_at_10=0.73)
    current = put(tmp_path / "metrics.json", now)
    assert run("compare", current, baseline)[0] == 0
    code, output = run("compare", current, baseline, "--thresholds", thresholds)
    assert code == 1
    assert [line.split()[2] for line in output.splitlines() if line.endswith("REGRESSED")] == ["hit_at_1"]
    assert run("compare", current, baseline, "--strict")[0] == 1


def test_what_vanished_is_a_failure(tmp_path: Path) -> None:
    """Item: a retriever, a difficulty or a metric that is gone fails by default, also when nothing else regressed."""
    baseline = put(tmp_path / "baseline.json", METRICS)
    now = json.loads(json.dumps(METRICS))
    del now["by_retriever"]["bm25"]["by_difficulty"]["easy"]
    current = put(tmp_path / "metrics.json", now)
    code, output = run("compare", current, baseline)
    assert code == ExitCode.CANNOT_TELL
    assert "vanished: bm25/easy" in output
    assert run("compare", current, baseline, "--allow-vanished")[0] == 0
    assert run("compare", current, baseline, "--as-written")[0] == 0


def test_absolute_floors_and_targets(tmp_path: Path) -> None:
    """Item: the harness's minima and the scenarios' targets are demanded beside the relative thresholds."""
    now = json.loads(json.dumps(METRICS))
    now["by_retriever"]["bm25"]["by_difficulty"]["easy"]["hit_at_1"] = 0.69
    current = put(tmp_path / "metrics.json", now)
    assert run("compare", current, current)[0] == 0
    code, output = run("compare", current, current, "--floors")
    assert code == 1
    assert "limit: bm25/easy/hit_at_1: 69.0% < 70.0%" in output
    code, output = run("compare", current, current, "--scenario", "exact_match")
    assert code == 1
    assert "limit: bm25/overall/hit_at_1: 70.0% < 85.0%" in output
    assert gate.EVAL_THRESHOLDS["hybrid"]["fusion"]["hit_at_10"] == 0.80


def test_small_buckets(tmp_path: Path) -> None:
    """Item: a bucket of fewer queries than asked for is shown and not judged."""
    now = json.loads(json.dumps(METRICS))
    now["by_retriever"]["bm25"]["by_difficulty"]["easy"]["hit_at_1"] = 0.1
    arguments = ("compare", put(tmp_path / "metrics.json", now), put(tmp_path / "baseline.json", METRICS))
    assert run(*arguments)[0] == 1
    assert run(*arguments, "--min-count", 13)[0] == 0


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
    code, output = run("baseline", "update", path, "--dir", directory)
    assert code == 0
    (stored,) = directory.iterdir()
    assert stored.read_bytes() == path.read_bytes()
    assert not set(stored.name) & set('/:\\"<>|?*')
    assert run("compare", path, directory)[0] == 0

    worse = json.loads(json.dumps(RECORD))
    worse["metrics"]["bm25"]["easy"]["hit_at_1"] = 0.5
    put(path, worse)
    assert run("compare", path, directory)[0] == 1
    code, output = run("baseline", "update", path, "--dir", directory)
    assert code == ExitCode.USAGE
    assert "REGRESSED" in output
    assert run("baseline", "update", path, "--dir", directory, "--force")[0] == 0
    assert run("compare", path, directory)[0] == 0

    worse["settings"]["rag_v2"]["rrf_k"] = 10
    assert run("compare", put(path, worse), directory)[0] == ExitCode.CANNOT_TELL


def test_a_baseline_under_its_plain_key(tmp_path: Path) -> None:
    """Item: a baseline that they stored under the key itself is used where the key can be a file name."""
    record = json.loads(json.dumps(RECORD))
    record["settings"]["embedding_model"] = "minilm"
    key = records.baseline_key(record)
    stored = put(tmp_path / f"{key}.json", record)
    assert records.baseline_path(tmp_path, key) == stored


def test_exit_codes(tmp_path: Path) -> None:
    """Item: 0 for no regression, 1 for one, 2 for an unusable file; 3 is new, for what could not be compared."""
    baseline = put(tmp_path / "baseline.json", METRICS)
    assert run("compare", baseline, baseline)[0] == 0
    now = json.loads(json.dumps(METRICS))
    now["by_retriever"]["bm25"]["overall"]["hit_at_1"] = 0.1
    assert run("compare", put(tmp_path / "metrics.json", now), baseline)[0] == 1
    assert run("compare", put(tmp_path / "metrics.json", {"x": 1}), baseline)[0] == 2
    assert run("compare", put(tmp_path / "metrics.json", {"vector": {"easy": {"hit_at_1": 1}}}), baseline)[0] == 3
