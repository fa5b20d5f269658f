"""kebab's own type of a result row, `QueryResult`, as strict as its deserialiser: what it requires must be there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")]
Count = Annotated[int, Field(ge=0, lt=1 << 32)]
Mode = Literal["lexical", "vector", "hybrid"]


class Citation(BaseModel):
    """A place in lines; the other kinds are not written by raggate."""

    kind: Literal["line"]
    path: str
    start: Count
    end: Count
    section: str | None = None


class Retrieval(BaseModel):
    """How a hit was found."""

    method: Mode
    fusion_score: float
    lexical_score: float | None = None
    vector_score: float | None = None
    lexical_rank: Count | None = None
    vector_rank: Count | None = None


class Hit(BaseModel):
    """A search hit."""

    rank: Count
    chunk_id: str
    doc_id: str
    doc_path: str
    heading_path: list[str]
    section_label: str | None = None
    snippet: str
    citation: Citation
    retrieval: Retrieval
    index_version: str
    embedding_model: str | None = None
    chunker_version: str
    indexed_at: Time
    stale: bool
    score_kind: Literal["rrf", "bm25", "cosine"] = "rrf"


class Cited(BaseModel):
    """A citation of an answer."""

    marker: str | None = None
    citation: Citation
    indexed_at: Time
    stale: bool


class Model(BaseModel):
    """A model by name."""

    id: str
    provider: str
    dimensions: Count | None = None


class Summary(BaseModel):
    """What was retrieved for an answer."""

    trace_id: str
    mode: Mode
    k: Count
    score_gate: float
    top_score: float
    chunks_returned: Count
    chunks_used: Count


class Usage(BaseModel):
    """What an answer took."""

    prompt_tokens: Count
    completion_tokens: Count
    latency_ms: Count


class Answer(BaseModel):
    """An answer."""

    answer: str
    citations: list[Cited]
    grounded: bool
    refusal_reason: (
        Literal[
            "score_gate",
            "llm_self_judge",
            "no_index",
            "no_chunks",
            "llm_stream_aborted",
            "multi_hop_decompose_failed",
            "nli_verification_failed",
            "nli_model_unavailable",
        ]
        | None
    ) = None
    model: Model
    embedding: Model | None = None
    prompt_template_version: str
    retrieval: Summary
    usage: Usage
    created_at: Time


class QueryResult(BaseModel):
    """A row."""

    query_id: str
    query: str
    mode: Mode
    hits_top_k: list[Hit]
    answer: Answer | None = None
    elapsed_ms: Count
    error: str | None = None
