"""The types of the values in helloworld's files, for checking: keys that are not theirs are let through."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, TypeAdapter
from typing_extensions import TypedDict


class _Chunk(TypedDict, total=False):
    chunk_id: StrictStr
    rel_path: StrictStr
    heading_path: StrictStr
    text: StrictStr
    rank: StrictInt | None
    score_vector: StrictFloat | None
    score_lexical: StrictFloat | None
    score_final: StrictFloat | None


class _Reference(TypedDict, total=False):
    vault: StrictStr
    rel_path: StrictStr
    heading_path: StrictStr
    chunk_index: StrictInt


class _Verdict(TypedDict, total=False):
    score: StrictFloat
    reasoning: StrictStr
    unsupported_claims: list[Any] | None
    supported_claims: list[Any] | None


class _CacheLine(TypedDict, total=False):
    cache_key: Required[StrictStr]
    judge_type: StrictStr
    result: Required[_Verdict]
    tokens: StrictInt
    cost_usd: StrictFloat


class _Abstention(TypedDict, total=False):
    abstained: StrictBool
    hallucinated: StrictBool


class _Cost(TypedDict, total=False):
    judge_tokens: StrictInt
    judge_cost_usd: StrictFloat


class _JudgeInput(TypedDict, total=False):
    question: StrictStr
    answer: StrictStr | None
    context_chunk_ids: list[StrictStr]


class _Scores(TypedDict, total=False):
    recall_at_k: StrictFloat
    recall_all_at_k: StrictFloat
    mrr: StrictFloat
    precision_at_k: StrictFloat
    scope_miss: StrictBool
    attribution_hit: StrictBool


class _Config(TypedDict, total=False):
    k: Annotated[int, Field(strict=True, ge=0, le=1000)]
    rerank_weights: dict[str, StrictFloat] | None
    folder_mode: StrictStr | None
    judge_temperature: StrictFloat | None
    judge_model: StrictStr | None
    judge_prompt_version: StrictStr | None
    eval_set_commit_hash: StrictStr | None


class _TokenStats(TypedDict):
    min: StrictFloat
    max: StrictFloat
    mean: StrictFloat
    p95: StrictFloat


class _Coverage(TypedDict, total=False):
    docs_processed: StrictInt
    docs_with_0_chunks: StrictInt
    chunks_attempted: StrictInt
    chunks_embedded: StrictInt
    chunks_skipped: StrictInt
    chunks_skipped_reasons: dict[str, StrictInt] | None
    chunk_token_stats: _TokenStats | None


class _Operational(TypedDict, total=False):
    error_rate: StrictFloat | None
    timeout_rate: StrictFloat | None
    empty_response_rate: StrictFloat | None
    coverage_by_doc_type: dict[str, Any] | None


class _Row(TypedDict, total=False):
    test_case_id: Required[Annotated[str, Field(strict=True, min_length=1)]]
    question: StrictStr
    answer: StrictStr | None
    references: list[_Reference] | None
    retrieved_chunks: list[_Chunk] | None
    config: _Config | None
    latency: dict[str, StrictFloat | None] | None
    indexing_coverage: _Coverage | None
    retrieval_metrics: _Scores | None
    groundedness: _Verdict | None
    correctness: _Verdict | None
    abstention: _Abstention | None
    judge_input: _JudgeInput | None
    cost: _Cost | None


class _Metrics(TypedDict, total=False):
    run_id: StrictStr
    k: Annotated[int, Field(strict=True, ge=1, le=1000)]
    timestamp: StrictStr
    config_hash: StrictStr
    eval_set_commit_hash: StrictStr | None
    aggregate_metrics: dict[str, Any]


ROW: TypeAdapter[Any] = TypeAdapter(_Row)
CACHE_LINE: TypeAdapter[Any] = TypeAdapter(_CacheLine)
CONFIG: TypeAdapter[Any] = TypeAdapter(_Config)
METRICS: TypeAdapter[Any] = TypeAdapter(_Metrics)
AGGREGATE: TypeAdapter[Any] = TypeAdapter(StrictFloat | None)
NESTED: dict[str, TypeAdapter[Any]] = {
    "operational_metrics": TypeAdapter(_Operational | None),
    "latency": TypeAdapter(dict[str, StrictFloat | None] | None),
    "indexing_coverage": TypeAdapter(_Coverage | None),
    "cost": TypeAdapter(dict[str, StrictFloat | None] | None),
    "judge_reliability": TypeAdapter(dict[str, StrictFloat | None] | None),
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
