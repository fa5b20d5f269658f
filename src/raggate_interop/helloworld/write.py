"""Run directories of helloworld, written: a raggate run becomes the four files its scripts leave behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from msgspec.structs import asdict

from raggate.base.escape import markdown, plain
from raggate.base.files import write_file
from raggate.config.imported import ImportedConfig
from raggate.models.run import Chunk, LabelledResult, Response, Run
from raggate_interop.helloworld import judged
from raggate_interop.helloworld.read import REDACTED, STORED_TEXT, RunFiles

RUN_CONFIG: dict[str, Any] = {
    "k": 5,
    **dict.fromkeys(("rerank_weights", "folder_mode", "llm_model", "embedding_model")),
    **dict.fromkeys(("judge_model", "judge_prompt_version", "judge_temperature")),
    **dict.fromkeys(("dataset_version", "index_build_version", "retriever_version", "answerer_version")),
}
"""The keys of their run configuration in their order; null is what a run does not tell."""

_TEXTS = frozenset(
    ("question", "answer", "text", "reasoning", "unsupported_claims", "supported_claims", "context_chunks_truncated")
)
"""Keys of a row, at any depth, that hold texts of notes, questions, answers and judges."""

_COMMIT = "eval_set_commit_hash"
_STEPS = ("folder_selection_ms", "retrieval_ms", "generation_ms", "judge_ms")
_ROW_KEYS = (
    *("test_case_id", "question", "answer", "references", "retrieved_chunks", "config", "indexing_coverage"),
    *("latency", "retrieval_metrics", "groundedness", "correctness", "abstention", "judge_input", "cost"),
)
_OVERVIEW = """\
### Retrieval Metrics

- **Recall@K**: share of the questions with a matching chunk among the first K
- **MRR (Mean Reciprocal Rank)**: mean of 1 / rank of the first match, 0 without one
- **Precision@K**: matching chunks among the first K / K
- **Scope Miss Rate**: share of the questions without a matching chunk in the whole list
- **Attribution Hit Rate**: share of the answerable questions whose answer cites a gold support

### Answer Quality Metrics

- **Groundedness (0-5)**: how far the context supports the answer
- **Correctness (0-5)**: how far the answer meets the question

### Abstention Metrics

- **Abstention Accuracy**: share of the unanswerable questions that were refused
- **Hallucination Rate on Unanswerable**: share of them that were answered
"""
_RESULTS = (
    ("Retrieval Metrics", "recall_at_k_avg", "Average Recall@K", ".3f"),
    ("Retrieval Metrics", "recall_all_at_k_avg", "Average Recall@K (all supports)", ".3f"),
    ("Retrieval Metrics", "mrr_avg", "Average MRR", ".3f"),
    ("Retrieval Metrics", "precision_at_k_avg", "Average Precision@K", ".3f"),
    ("Retrieval Metrics", "scope_miss_rate", "Scope Miss Rate", ".3f"),
    ("Retrieval Metrics", "attribution_hit_rate", "Attribution Hit Rate", ".3f"),
    ("Answer Quality Metrics", "groundedness_avg", "Average Groundedness", ".2f|/5.0"),
    ("Answer Quality Metrics", "correctness_avg", "Average Correctness", ".2f|/5.0"),
    ("Abstention Metrics", "abstention_accuracy", "Abstention Accuracy", ".3f"),
    ("Abstention Metrics", "hallucination_rate_unanswerable", "Hallucination Rate on Unanswerable", ".3f"),
    ("Operational Metrics", "error_rate", "Error Rate", ".2%"),
    ("Operational Metrics", "timeout_rate", "Timeout Rate", ".2%"),
    ("Operational Metrics", "empty_response_rate", "Empty Response Rate", ".2%"),
    ("Performance", "p50_ms", "Latency p50", ".0f|ms"),
    ("Performance", "p95_ms", "Latency p95", ".0f|ms"),
)
"""What a summary tells: section, key, label and format of the value with its unit."""
_CHANGED_SETTINGS = {
    "k": "K",
    "folder_mode": "Folder Mode",
    "judge_model": "Judge Model",
    "embedding_model": "Embedding Model",
}
_WEIGHTS = ("vector", "lexical")
_CHANGED_METRICS = {
    "recall_at_k_avg": ("Recall@K", ".3f"),
    "mrr_avg": ("MRR", ".3f"),
    "groundedness_avg": ("Groundedness", ".2f"),
}


def config_hash(config: Mapping[str, Any]) -> str:
    """Return their `config_hash` of a `config.json`: it covers everything but `eval_set_commit_hash`."""
    hashed = {key: value for key, value in config.items() if key != _COMMIT}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:16]


def run_config(run: Run) -> dict[str, Any]:
    """Return the `config.json` of a raggate run: the one it was imported with, else what raggate knows of the run.

    The hash of its content names the dataset, where their scripts write the commit of the repository. The folder
    mode is on if the API names the folders that it selected: whether it falls back, no API tells.
    """
    judges = judged.config_fields(run)
    if isinstance(run.config, ImportedConfig) and run.config.system == "helloworld" and run.config.settings:
        return {**run.config.settings, **judges}
    dataset = {"dataset_version": run.golden.hash, _COMMIT: run.golden.hash}
    told = ("embedding_model", "retriever_version", "answerer_version")
    versions = {name: run.fingerprint.get(name) for name in told}
    versions["index_build_version"] = run.fingerprint.get("index_version")
    responses = (item.result.response for item in run.results)
    scoped = any(response.selected_folders is not None for response in responses if response is not None)
    settings = {"k": run.fingerprint.get("k", RUN_CONFIG["k"]), "folder_mode": "on" if scoped else None}
    return {**RUN_CONFIG, **settings, **versions, **dataset, **judges}


def to_rows(
    items: Iterable[LabelledResult], config: Mapping[str, Any], *, full_text: bool = False
) -> list[dict[str, Any]]:
    """Return the rows of `results.jsonl`: one per answered call, not scored yet; failed calls have none.

    Args:
        full_text: whether chunk texts stay whole; their scripts cut them before scoring.
    """
    settings = {key: value for key, value in config.items() if key != _COMMIT}
    return [
        _row(item, item.result.response, settings, full_text=full_text)
        for item in items
        if item.result.response is not None
    ]


def write(
    directory: Path, files: RunFiles, *, description: str, eval_set: str, previous: RunFiles | None = None
) -> None:
    """Write `results.jsonl`, `config.json`, `metrics.json` and `summary.md`, each whole or not at all.

    Args:
        description: what the run is about. Untrusted text.
    """
    write_file(directory / "results.jsonl", _jsonl(files.rows))
    write_object(directory / "config.json", files.config)
    write_object(directory / "metrics.json", files.metrics)
    text = summary(files, description=description, eval_set=eval_set, previous=previous)
    write_file(directory / "summary.md", text.encode())


def update(directory: Path, files: RunFiles, rows: Sequence[Mapping[str, Any]], aggregates: Mapping[str, Any]) -> None:
    """Write scores into a run directory of theirs, in place: `results.jsonl`, and the means into `metrics.json`.

    What the files hold beside the scores stays, so that doing it again changes nothing.
    """
    means = {name: value for name, value in aggregates.items() if value is not None}
    write_file(directory / "results.jsonl", _jsonl(rows))
    write_object(directory / "metrics.json", {**files.metrics, "aggregate_metrics": {**files.aggregates, **means}})


def write_object(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object as their scripts do."""
    write_file(path, json.dumps(value, indent=2, ensure_ascii=False).encode())


def redacted(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the texts that are nobody's but the notes' and the askers': what stays is where and how well.

    A text becomes `REDACTED`, so that an answer that was there is still one; lists of texts become empty.
    """
    return {key: _redacted(key, value) for key, value in row.items()}


def _redacted(key: str, value: Any) -> Any:
    if key in _TEXTS:
        return [] if isinstance(value, list) else REDACTED if value else value
    if isinstance(value, Mapping):
        return {inner: _redacted(inner, part) for inner, part in value.items()}
    return [_redacted(key, part) for part in value] if isinstance(value, list) else value


def metrics_file(run: Run, config: Mapping[str, Any], aggregates: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `metrics.json`: all aggregates, where their scripts leave the operational ones alone."""
    commit = {_COMMIT: config[_COMMIT]} if config.get(_COMMIT) else {}
    return {
        "run_id": run.run_id,
        "timestamp": run.started.removesuffix("Z") + "+00:00" if run.started.endswith("Z") else run.started,
        "aggregate_metrics": dict(aggregates),
        "config_hash": config_hash(config),
        **commit,
    }


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(_ordered(row), ensure_ascii=False) + "\n" for row in rows).encode()


def _ordered(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: row[key] for key in _ROW_KEYS if key in row}, **row}


def _row(item: LabelledResult, response: Response, config: Mapping[str, Any], *, full_text: bool) -> dict[str, Any]:
    steps = {step: response.latency[step] for step in _STEPS if step in response.latency}
    row: dict[str, Any] = {
        "test_case_id": item.case.id,
        "question": item.case.question,
        "answer": response.answer or "",
        "references": [asdict(reference) for reference in response.references],
        "retrieved_chunks": [
            _chunk(chunk, position, full_text=full_text) for position, chunk in enumerate(response.chunks, 1)
        ],
        "config": dict(config),
        "latency": {"total_ms": response.latency.get("total_ms", item.result.elapsed_ms), **steps},
    }
    if response.coverage is not None:
        row["indexing_coverage"] = response.coverage
    if response.cost:
        # their tokens are whole numbers
        row["cost"] = {kind: int(cost) if kind == "judge_tokens" else cost for kind, cost in response.cost.items()}
    if response.abstained:
        row["abstention"] = {"abstained": True, "hallucinated": False}
    return {**row, **judged.score_fields(item, row)}


def _chunk(chunk: Chunk, position: int, *, full_text: bool) -> dict[str, Any]:
    whole = full_text or len(chunk.text) <= STORED_TEXT
    lexical = {} if chunk.score_lexical is None else {"score_lexical": chunk.score_lexical}
    return {
        "chunk_id": chunk.chunk_id,
        "rel_path": chunk.rel_path,
        "heading_path": chunk.heading_path,
        "rank": position if chunk.rank is None else chunk.rank,
        "score_vector": chunk.score_vector or 0.0,
        "score_final": chunk.score_final or 0.0,
        **lexical,
        "text": chunk.text if whole else chunk.text[:STORED_TEXT] + "...",
    }


def summary(files: RunFiles, *, description: str, eval_set: str, previous: RunFiles | None = None) -> str:
    """Render the summary of a run. A value that is missing or null is left out; foreign text is made inert.

    Args:
        previous: the run to compare with, None to leave the section out.
    """
    parts = [
        "# Evaluation Run Summary\n",
        f"**Run ID**: {_code(files.run_id)}\n**Timestamp**: {_text(files.metrics.get('timestamp'))}\n",
        "## Run Description\n",
        f"{markdown(description, limit=2000) or 'No description provided'}\n",
        "## Configuration\n",
        *_configuration(files.config, eval_set),
        "## Metrics Overview\n",
        _OVERVIEW,
        "## Results Summary\n",
        *_results(files.aggregates),
    ]
    if previous is not None:
        parts += ["## Comparison to Previous Run\n", *_changes(files, previous)]
    parts += [
        "## Files\n",
        "- `results.jsonl`: a row per answered question\n- `metrics.json`: the means\n- `config.json`: the settings\n",
    ]
    return "\n".join(parts)


def _configuration(config: Mapping[str, Any], eval_set: str) -> Iterator[str]:
    yield "### RAG Parameters\n"
    yield (
        f"- **K**: {_text(config.get('k'))}\n"
        f"- **Rerank Weights**: {_weights(config.get('rerank_weights'))}\n"
        f"- **Folder Mode**: {_text(config.get('folder_mode'))}\n"
    )
    yield "### Models\n"
    judge = "- **Judge Model**: Not used"
    if config.get("judge_model"):
        judge = (
            f"- **Judge Model**: {_text(config['judge_model'])}\n"
            f"- **Judge Prompt Version**: {_text(config.get('judge_prompt_version'))}\n"
            f"- **Judge Temperature**: {_text(config.get('judge_temperature'))}"
        )
    yield (
        f"- **LLM Model**: {_text(config.get('llm_model'), 'Not specified')}\n"
        f"- **Embedding Model**: {_text(config.get('embedding_model'), 'Not specified')}\n{judge}\n"
    )
    yield "### Dataset\n"
    version = config.get("dataset_version")
    commit = f"- **Eval Set Commit Hash**: {_code(str(version))}\n" if version else ""
    yield f"- **Eval Set**: {_code(eval_set)}\n{commit}"


def _weights(weights: Mapping[str, Any] | None) -> str:
    return "N/A" if not weights else ", ".join(f"{name.title()}={_text(weights.get(name))}" for name in _WEIGHTS)


def _results(aggregates: Mapping[str, Any]) -> Iterator[str]:
    rates = aggregates.get("operational_metrics") or {}
    values = {**aggregates, **rates, **(aggregates.get("latency") or {})}
    # EVAL.md counts empty answers as errors, and their script does not; both rates have one denominator
    if all(_is_number(rates.get(name)) for name in ("error_rate", "empty_response_rate")):
        values["error_rate"] = rates["error_rate"] + rates["empty_response_rate"]
    told = ""
    for title, key, label, spec in _RESULTS:
        if _is_number(values.get(key)):
            if title != told:
                yield f"\n### {title}\n" if told else f"### {title}\n"
            told = title
            yield f"- **{label}**: {_number(values[key], spec)}"
    yield ""


def _changes(files: RunFiles, previous: RunFiles) -> Iterator[str]:
    yield f"**Previous Run ID**: {_code(previous.run_id)}\n"
    yield "### Configuration Changes\n"
    for key, label in _CHANGED_SETTINGS.items():
        before, now = previous.config.get(key), files.config.get(key)
        if before != now:
            yield f"- **{label}**: {_text(before)} → {_text(now)}"
    yield "\n### Metric Changes\n"
    for key, (label, spec) in _CHANGED_METRICS.items():
        before, now = previous.aggregates.get(key), files.aggregates.get(key)
        if _is_number(before) and _is_number(now):
            yield f"- **{label}**: {before:{spec}} → {now:{spec}} ({now - before:+{spec}})"
    yield ""


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float, spec: str) -> str:
    layout, _, unit = spec.partition("|")
    return f"{value:{layout}}{unit}"


def _text(value: object, missing: str = "N/A") -> str:
    # a name in a code span is its own letters in the file too; a number needs no mark
    return missing if value in (None, "") else str(value) if _is_number(value) else _code(str(value))


def _code(text: str) -> str:
    # nothing is read inside a code span, so that a name stands in the file in its own letters
    return markdown(text) if {"`", "<"} & set(text) else f"`{plain(text) or '-'}`"
