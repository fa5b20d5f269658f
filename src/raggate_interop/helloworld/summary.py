"""`summary.md` of helloworld's run directories: the files of a run in, Markdown in its sections out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from raggate.text.escape import markdown, plain
from raggate_interop.helloworld.read import RunFiles

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

_SECTIONS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Retrieval Metrics",
        (
            ("recall_at_k_avg", "Average Recall@K", ".3f"),
            ("recall_all_at_k_avg", "Average Recall@K (all supports)", ".3f"),
            ("mrr_avg", "Average MRR", ".3f"),
            ("precision_at_k_avg", "Average Precision@K", ".3f"),
            ("scope_miss_rate", "Scope Miss Rate", ".3f"),
            ("attribution_hit_rate", "Attribution Hit Rate", ".3f"),
        ),
    ),
    (
        "Answer Quality Metrics",
        (
            ("groundedness_avg", "Average Groundedness", ".2f|/5.0"),
            ("correctness_avg", "Average Correctness", ".2f|/5.0"),
        ),
    ),
    (
        "Abstention Metrics",
        (
            ("abstention_accuracy", "Abstention Accuracy", ".3f"),
            ("hallucination_rate_unanswerable", "Hallucination Rate on Unanswerable", ".3f"),
        ),
    ),
    (
        "Operational Metrics",
        (
            ("error_rate", "Error Rate", ".2%"),
            ("timeout_rate", "Timeout Rate", ".2%"),
            ("empty_response_rate", "Empty Response Rate", ".2%"),
        ),
    ),
    ("Performance", (("p50_ms", "Latency p50", ".0f|ms"), ("p95_ms", "Latency p95", ".0f|ms"))),
)
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
    for title, lines in _SECTIONS:
        items = [
            f"- **{label}**: {_number(values[key], spec)}\n"
            for key, label, spec in lines
            if _is_number(values.get(key))
        ]
        if items:
            yield f"### {title}\n"
            yield "".join(items)


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
