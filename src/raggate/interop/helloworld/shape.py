"""The types of the values in helloworld's files, for checking: keys that are not theirs are let through."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

_Number = Annotated[float, Field(strict=True)]
_Count = Annotated[int, Field(strict=True)]
_Text = Annotated[str, Field(strict=True)]
_Flag = Annotated[bool, Field(strict=True)]


class _Chunk(TypedDict, total=False):
    chunk_id: _Text
    rel_path: _Text
    heading_path: _Text
    text: _Text
    rank: _Count | None
    score_vector: _Number | None
    score_lexical: _Number | None
    score_final: _Number | None


class _Reference(TypedDict, total=False):
    vault: _Text
    rel_path: _Text
    heading_path: _Text
    chunk_index: _Count


class _Verdict(TypedDict, total=False):
    score: _Number
    reasoning: _Text


class _Abstention(TypedDict, total=False):
    abstained: _Flag
    hallucinated: _Flag


class _Cost(TypedDict, total=False):
    judge_tokens: _Count
    judge_cost_usd: _Number


class _Scores(TypedDict, total=False):
    recall_at_k: _Number
    recall_all_at_k: _Number
    mrr: _Number
    precision_at_k: _Number
    scope_miss: _Flag
    attribution_hit: _Flag


class _Config(TypedDict, total=False):
    k: Annotated[int, Field(strict=True, ge=0, le=1000)]
    rerank_weights: dict[str, _Number] | None
    folder_mode: _Text | None
    judge_temperature: _Number | None
    judge_model: _Text | None
    judge_prompt_version: _Text | None
    eval_set_commit_hash: _Text | None


class _TokenStats(TypedDict):
    min: _Number
    max: _Number
    mean: _Number
    p95: _Number


class _Coverage(TypedDict, total=False):
    docs_processed: _Count
    docs_with_0_chunks: _Count
    chunks_attempted: _Count
    chunks_embedded: _Count
    chunks_skipped: _Count
    chunks_skipped_reasons: dict[str, _Count] | None
    chunk_token_stats: _TokenStats | None


class _Operational(TypedDict, total=False):
    error_rate: _Number | None
    timeout_rate: _Number | None
    empty_response_rate: _Number | None
    coverage_by_doc_type: dict[str, Any] | None


class _RowRequired(TypedDict):
    test_case_id: Annotated[str, Field(strict=True, min_length=1)]


class _Row(_RowRequired, total=False):
    question: _Text
    answer: _Text | None
    references: list[_Reference] | None
    retrieved_chunks: list[_Chunk] | None
    config: _Config | None
    latency: dict[str, _Number | None] | None
    indexing_coverage: _Coverage | None
    retrieval_metrics: _Scores | None
    groundedness: _Verdict | None
    correctness: _Verdict | None
    abstention: _Abstention | None
    cost: _Cost | None


class _Metrics(TypedDict, total=False):
    run_id: _Text
    k: Annotated[int, Field(strict=True, ge=1, le=1000)]
    timestamp: _Text
    config_hash: _Text
    eval_set_commit_hash: _Text | None
    aggregate_metrics: dict[str, Any]


ROW: TypeAdapter[Any] = TypeAdapter(_Row)
CONFIG: TypeAdapter[Any] = TypeAdapter(_Config)
METRICS: TypeAdapter[Any] = TypeAdapter(_Metrics)
AGGREGATE: TypeAdapter[Any] = TypeAdapter(_Number | None)
NESTED: dict[str, TypeAdapter[Any]] = {
    "operational_metrics": TypeAdapter(_Operational | None),
    "latency": TypeAdapter(dict[str, _Number | None] | None),
    "indexing_coverage": TypeAdapter(_Coverage | None),
    "cost": TypeAdapter(dict[str, _Number | None] | None),
    "judge_reliability": TypeAdapter(dict[str, _Number | None] | None),
}
"""The aggregates that are objects."""
NUMBERS = (
    "recall_at_k_avg",
    "recall_all_at_k_avg",
    "mrr_avg",
    "precision_at_k_avg",
    "scope_miss_rate",
    "attribution_hit_rate",
    "groundedness_avg",
    "correctness_avg",
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "unanswerable_tests",
    "answerable_tests",
)
"""The aggregates that are numbers."""
