"""The switch-over checklist of helloworld, item by item, on files of its exact shape."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_run,
)
from helloworld_files import CASES, CONFIG, FLAT, OPERATIONAL, ROWS, write_golden, write_run
from raggate.base.errors import UsageError
from raggate.gate import baseline
from raggate.inputs import golden
from raggate.models.golden import Golden
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL
from raggate.scoring import score
from raggate_interop.helloworld import metrics as helloworld_metrics, read as reader, write
from raggate_interop.helloworld.baseline import converted
from raggate_interop.helloworld.write import summary
from tables import each_row

PAGE = Path(__file__).parents[4] / "docs" / "systems" / "helloworld.md"
OPTIONS = (
    "--eval-set --api-url --k --rerank-vector-weight --rerank-lexical-weight --folder-mode --judge-model "
    "--judge-temperature --judge-prompt-version --output-dir --retrieval-only --store-full-text --timeout --llm-model "
    "--embedding-model --limit --run-id --results-dir --aggregate-only --output-metrics --run-id-1 --run-id-2 "
    "--ignore-invariants --description --skip-judges --baseline-run-id --allow-regressions "
    "--regression-threshold-recall --spot-check"
)
METRICS = (
    "recall_at_k_avg recall_all_at_k_avg mrr_avg precision_at_k_avg scope_miss_rate attribution_hit_rate "
    "abstention_accuracy hallucination_rate_unanswerable unanswerable_tests answerable_tests groundedness_avg "
    "correctness_avg judge_reliability cost operational_metrics latency indexing_coverage"
)


def load(directory: Path, cases: Any = CASES) -> Golden:
    """Write and read a golden set."""
    return golden.load(write_golden(directory, cases).read_bytes(), "eval_set.jsonl")


def imported(directory: Path, **fields: Any) -> Run:
    """Write a run of theirs and read it as one of raggate."""
    return reader.to_run(reader.read(write_run(directory, **fields)), load(directory))


def test_inputs_old_run_directory_flat(tmp_path: Path) -> None:
    """Item: metrics.json with flat *_avg keys serves as a baseline of means, which stay as they are there."""
    assert reader.read(write_run(tmp_path, rows=None, aggregates={**OPERATIONAL, **FLAT})).scored
    written = tmp_path / "20251219_235258" / "metrics.json"
    read = baseline.read(written.read_bytes(), "metrics.json", score.directions([5]), written.parent)
    values = read.scorecard.slices["hybrid"][OVERALL]
    assert (read.paired, read.scorecard.run_id) == (False, "20251219_235258")
    assert {name: value.value for name, value in values.items()} == {
        "hit_at_5": 0.7,
        "mrr_at_5": 0.52,
        "precision_at_5": 0.16,
        "attribution_hit_rate": 0.8,
    }
    counted = {**FLAT, "answerable_tests": 7, "unanswerable_tests": 3, "abstention_accuracy": 1.0}
    files = reader.read(write_run(tmp_path, "counted", rows=None, aggregates=counted))
    bucket = converted({**files.metrics, "k": 5}, "m", None)["by_retriever"]["hybrid"]["overall"]
    assert bucket["hit_at_5"] == 0.7
    assert (bucket["count"], bucket["n"]["hit_at_5"], bucket["n"]["abstention_accuracy"]) == (10, 10, 3)


def test_inputs_flat_metrics_need_their_k(tmp_path: Path) -> None:
    """Item: a metrics.json needs a K, from its config.json or its own, and scores; else it is refused as a baseline."""
    written = write_run(tmp_path, rows=None, aggregates=FLAT, config={"k": 8}) / "metrics.json"
    content = json.loads(written.read_text(encoding="utf-8"))
    directions = score.directions([3, 5, 8])

    def names(value: dict[str, Any], beside: Path | None) -> list[str]:
        read = baseline.read(json.dumps(value).encode(), "old.json", directions, beside)
        return [name for name in read.scorecard.slices["hybrid"][OVERALL] if "_at_" in name]

    assert set(names(content, written.parent)) == {"hit_at_8", "precision_at_8", "mrr_at_8"}
    assert set(names({**content, "k": 3}, written.parent)) == {"hit_at_3", "precision_at_3", "mrr_at_3"}
    with pytest.raises(UsageError, match=r"old\.json: does not name the K"):
        names(content, None)
    with pytest.raises(UsageError, match=r"old\.json: k: "):
        names({**content, "k": "5"}, None)
    with pytest.raises(UsageError, match=r"old\.json: has no comparable scores"):
        names({**content, "aggregate_metrics": OPERATIONAL}, written.parent)
    with pytest.raises(UsageError, match=r"old\.json: aggregate_metrics\.mrr_avg: "):
        names({**content, "aggregate_metrics": {"mrr_avg": "high"}}, written.parent)


@pytest.mark.parametrize(
    ("present", "failed", "expected"),
    [
        pytest.param(["test_001", "test_003"], 0, ["ok", "failed", "ok"], id="a gap is a failed call"),
        pytest.param(["test_001"], 0, ["ok"], id="a limit is not"),
        pytest.param(["test_001"], 1, ["ok", "failed"], id="a failure at the end, told by the error rate"),
        pytest.param(["test_002"], 2, ["failed", "ok", "failed"], id="both"),
    ],
)
def test_inputs_failed_calls_have_no_row(tmp_path: Path, present: list[str], failed: int, expected: list[str]) -> None:
    """Item: calls that failed, which leave no row there, are misses and errors here."""
    files = reader.read(write_run(tmp_path, rows=[row for row in ROWS if row["test_case_id"] in present]))
    cases = load(tmp_path)
    asked = reader.asked_cases(files, cases, failed)
    run = reader.to_run(files, replace(cases, cases=asked))
    assert ["failed" if item.result.failure else "ok" for item in run.results] == expected


@each_row("name", (OPTIONS + " " + METRICS).split())
def test_options_and_metrics_are_mapped(name: str) -> None:
    """Item: every option of their scripts and every metric of their files stands in a table of the migration page."""
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")


def test_output_run_directory(tmp_path: Path) -> None:
    """Item: the four files are written in their layout, texts cut to 200 characters, and read back equal."""
    response = make_response(
        make_chunk(text="y" * 300, rank=None, score_lexical=0.4),
        answer="[File: a.md, Section: A]",
        coverage={"docs_processed": 1},
    )
    items = (
        make_labelled(make_case("q1"), make_result("q1", response=response)),
        make_labelled(make_case("q2"), make_result("q2", failure=make_failure())),
    )
    run = make_run(*items, fingerprint={"k": 8})
    config = write.run_config(run)
    results = [item.result for item in items]
    rows = write.to_rows(items, config)
    cases = {item.case.id: item.case for item in items}
    aggregates = helloworld_metrics.aggregate_metrics(results, rows, cases)
    files = reader.RunFiles(
        run_id=run.run_id,
        config=config,
        metrics=write.metrics_file(run, config, aggregates),
        rows=tuple(helloworld_metrics.scored(rows, cases)),
    )
    write.write(tmp_path / "out", files, description="more <b>", eval_set="eval_set.jsonl", previous=files)
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["config.json", "metrics.json", "results.jsonl", "summary.md"]
    back = reader.read(tmp_path / "out")
    assert back == files
    (row,) = back.rows
    keys = "test_case_id question answer references retrieved_chunks config indexing_coverage latency retrieval_metrics"
    assert list(row) == keys.split()
    assert row["retrieved_chunks"][0]["text"] == "y" * 200 + "..."
    assert row["config"] == {key: value for key, value in config.items() if key != "eval_set_commit_hash"}
    assert back.aggregates["recall_at_k_avg"] == 1.0
    assert back.aggregates["operational_metrics"]["error_rate"] == 1 / 3
    assert back.metrics["timestamp"] == "2026-01-02T03:04:05+00:00"
    whole = write.to_rows(items, config, full_text=True)
    assert whole[0]["retrieved_chunks"][0]["text"] == "y" * 300


def test_output_leaves_null_what_a_run_does_not_tell(tmp_path: Path) -> None:
    """Item: weights, folder mode, judges and scope misses of a run that tells none of them are null or left out."""
    item = make_labelled(make_case("q1"), make_result("q1", response=make_response(make_chunk(rel_path="other.md"))))
    run = make_run(item, fingerprint={"k": 8})
    config = write.run_config(run)
    unknown = ("rerank_weights", "folder_mode", "judge_model", "judge_prompt_version", "judge_temperature")
    assert [config[name] for name in unknown] == [None] * len(unknown)
    nameless = {"k": 8, "judges": {"models": [{"model": "m"}], "prompts": {}}}
    assert write.run_config(replace(run, fingerprint=nameless))["judge_prompt_version"] is None
    rows = write.to_rows([item], config)
    aggregates = helloworld_metrics.aggregate_metrics([item.result], rows, {"q1": item.case})
    assert "scope_miss_rate" not in aggregates
    assert aggregates["recall_at_k_avg"] == 0.0
    files = reader.RunFiles(run_id="r", config=config, metrics={"aggregate_metrics": aggregates}, rows=tuple(rows))
    text = summary(files, description="", eval_set="e")
    assert "- **Rerank Weights**: N/A\n- **Folder Mode**: N/A\n" in text
    write.write(tmp_path / "out", files, description="", eval_set="e")
    assert reader.read(tmp_path / "out").config == config


def test_output_folder_mode_is_on_if_the_api_tells_folders() -> None:
    """Item: an API that names the folders it selected has folder selection on, and its scope misses count."""
    response = make_response(make_chunk(rel_path="other.md"), selected_folders=("personal/a",))
    item = make_labelled(make_case("q1"), make_result("q1", response=response))
    config = write.run_config(make_run(item))
    assert config["folder_mode"] == "on"
    rows = write.to_rows([item], config)
    assert helloworld_metrics.aggregate(rows, {"q1": item.case})["scope_miss_rate"] == 1.0


def test_output_round_trip_of_an_old_run(tmp_path: Path) -> None:
    """Item: an old run that went through raggate comes out with its settings, its rows and its config hash."""
    run = imported(tmp_path)
    config = write.run_config(run)
    assert config == {**CONFIG, "eval_set_commit_hash": CONFIG["dataset_version"]}
    rows = write.to_rows(run.results, config)
    questions = {case.id: case.question for case in run.golden.cases}
    judged = {"groundedness", "correctness"}
    assert rows == [
        {key: value for key, value in row.items() if key not in judged} | {"question": questions[row["test_case_id"]]}
        for row in ROWS
    ]


def test_output_config_hash() -> None:
    """Item: config_hash is reproduced: the value that stands in their committed run of 2025-12-19 05:07:59."""
    assert write.config_hash({**CONFIG, "eval_set_commit_hash": "whatever"}) == "03254b2cb94682e1"
    other = {
        **CONFIG,
        "judge_model": "bartowski_Qwen2.5-14B-Instruct-GGUF_Qwen2.5-14B-Instruct-Q4_K_M",
        "dataset_version": "5a105241ba75c516a0a118cb8ce62c7cf7c5c87f",
    }
    assert write.config_hash(other) == "6329e097fc497a59"


def test_output_summary(tmp_path: Path) -> None:
    """Item: summary.md has their sections in their order, leaves out nulls, and foreign text is inert."""
    hostile = {"folder_mode": "<img src=x> @everyone", "llm_model": "a`b"}
    aggregates = {**OPERATIONAL, **FLAT, "abstention_accuracy": None}
    files = reader.read(write_run(tmp_path, rows=None, config=hostile, aggregates=aggregates))
    before = reader.read(write_run(tmp_path, "old", rows=None, aggregates={**FLAT, "recall_at_k_avg": 0.1}))
    text = summary(files, description="# not a heading\n<!-- -->", eval_set="e|v", previous=before)
    sections = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    first = ["Run Description", "Configuration", "Metrics Overview", "Results Summary"]
    assert sections == [*first, "Comparison to Previous Run", "Files"]
    assert "- **Average Recall@K**: 0.700\n" in text
    assert "- **Average Groundedness**: 3.00/5.0\n" in text
    assert "- **Latency p95**: 2990ms\n" in text
    assert "- **Recall@K**: 0.100 → 0.700 (+0.600)" in text
    assert "- **Rerank Weights**: Vector=0.7, Lexical=0.3\n" in text
    assert "- **Embedding Model**: `ggml-org_embeddinggemma" in text
    assert "Abstention Accuracy**: N" not in text
    assert "<img" not in text
    assert "@everyone" not in text
    assert "<!--" not in text
    assert "## Comparison" not in summary(files, description="", eval_set="e")


def test_output_summary_counts_empty_answers_as_errors(tmp_path: Path) -> None:
    """Item: the error rate of summary.md is of calls that failed, timed out or returned nothing, as in EVAL.md."""
    rates = {"error_rate": 0.1, "timeout_rate": 0.0, "empty_response_rate": 0.05, "coverage_by_doc_type": {}}
    files = reader.read(write_run(tmp_path, rows=None, aggregates={**FLAT, "operational_metrics": rates}))
    text = summary(files, description="", eval_set="e")
    assert "- **Error Rate**: 15.00%\n" in text
    assert "- **Empty Response Rate**: 5.00%\n" in text
    assert files.aggregates["operational_metrics"] == rates


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("results.jsonl", "{}\n", "results.jsonl:1: test_case_id"),
        ("results.jsonl", '\n{"test_case_id": "a", "retrieved_chunks": [{"rank": "1"}]}', "results.jsonl:2: retrieved"),
        ("results.jsonl", "[]", "results.jsonl:1: Input should be a valid dictionary"),
        ("metrics.json", '{"aggregate_metrics": {"mrr_avg": "high"}}', "aggregate_metrics.mrr_avg"),
        ("metrics.json", '{"aggregate_metrics": {"latency": {"p50_ms": "x"}}}', "aggregate_metrics.latency.p50_ms"),
        ("metrics.json", '{"aggregate_metrics": {"operational_metrics": 1}}', "aggregate_metrics.operational_metrics"),
        ("config.json", '{"k": -1}', "config.json: k"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    """A file that does not hold what it should is refused with its name, line and key."""
    directory = write_run(tmp_path)
    (directory / name).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        reader.read(directory)


def test_missing_files(tmp_path: Path) -> None:
    """A directory without any of the files, no directory, two rows of a case, and no rows to score are refused."""
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError, match=r"neither metrics\.json|no such directory"):
            reader.read(directory)
    with pytest.raises(UsageError, match=r"results\.jsonl:3: question 'test_001' has two rows"):
        reader.read(write_run(tmp_path, rows=[ROWS[0], ROWS[1], ROWS[0]]))
    with pytest.raises(UsageError, match="raggate cannot score it again"):
        imported(tmp_path / "b", rows=None)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """What is no file in place of one of the files is refused at once."""
    directory = write_run(tmp_path, rows=None)
    os.mkfifo(directory / "results.jsonl")
    with pytest.raises(UsageError, match=r"results\.jsonl: not a file"):
        reader.read(directory)
