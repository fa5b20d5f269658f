"""A run of raggate as kebab's rows of results: every field that its `QueryResult` requires, with a value that is true.

What raggate does not know stands as what says so: lines 0 to 0, the version or model `unknown`, the score 0, no tokens.
A chunk was indexed before the run began, so that is its time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from raggate.config.imported import ImportedConfig
from raggate.config.retrieval_modes import mode_name
from raggate.errors import UsageError
from raggate.models.run import Chunk, LabelledResult, Response, Run
from raggate.text.quote import cut, quoted
from raggate_interop.kebab.run import UNKNOWN, VERSIONS

NO_TIME = "1970-01-01T00:00:00Z"
"""Stands for a time that is not known."""

MODES = {"lexical": "lexical", "bm25": "lexical", "vector": "vector", "hybrid": "hybrid"}
"""kebab's modes by raggate's names of them."""

_KINDS = {"lexical": "bm25", "vector": "cosine", "hybrid": "rrf"}
_REASONS = frozenset(
    (
        "score_gate",
        "llm_self_judge",
        "no_index",
        "no_chunks",
        "llm_stream_aborted",
        "multi_hop_decompose_failed",
        "nli_verification_failed",
        "nli_model_unavailable",
    )
)
_MAX_COUNT = (1 << 32) - 1


def to_rows(run: Run, mode: str) -> tuple[dict[str, Any], ...]:
    """Make rows of what a run found in one mode.

    Raises:
        UsageError: for a mode that kebab does not have.
    """
    named = MODES.get(mode_name(mode))
    if named is None:
        raise UsageError(
            f"run {cut(run.run_id)}: kebab has no mode {quoted(mode)}",
            hint="It has lexical, vector and hybrid.",
        )
    return tuple(_row(item, run, named) for item in run.results if item.result.mode == mode)


def _row(item: LabelledResult, run: Run, mode: str) -> dict[str, Any]:
    response, failure = item.result.response, item.result.failure
    chunks = item.result.chunks
    recorded = {
        **{name: run.fingerprint.get(name) for name in VERSIONS},
        **((response.coverage if response else None) or {}),
    }
    versions = {name: value if isinstance(value := recorded.get(name), str) else UNKNOWN for name in VERSIONS}
    time = _time(run.started)
    embedding = run.fingerprint.get("embedding_model")
    indexed = {"embedding_model": embedding if isinstance(embedding, str) else None, **versions, **time}
    return {
        "query_id": item.case.id,
        "query": item.case.question,
        "mode": mode,
        "hits_top_k": [_hit(chunk, rank, mode, indexed) for rank, chunk in enumerate(chunks, 1)],
        "answer": _answer(response, run, mode, item) if response and response.answer is not None else None,
        "elapsed_ms": _count(item.result.elapsed_ms),
        "error": failure.message if failure else None,
    }


def _hit(chunk: Chunk, rank: int, mode: str, indexed: dict[str, Any]) -> dict[str, Any]:
    titles = [title.lstrip("#").strip() for title in chunk.heading_path.split(" > ")]
    titles = [title for title in titles if title]
    return {
        # gaps and ties are the API's own: kebab scores by the rank that a hit claims
        "rank": rank if chunk.rank is None or chunk.rank < 1 else chunk.rank,
        "chunk_id": chunk.chunk_id,
        "doc_id": chunk.document,
        "doc_path": chunk.rel_path,
        "heading_path": titles,
        "section_label": None,
        "snippet": chunk.text,
        "citation": _place(chunk.rel_path, titles[-1] if titles else None),
        "retrieval": {
            "method": mode,
            "fusion_score": chunk.score_final or 0.0,
            "lexical_score": chunk.score_lexical,
            "vector_score": chunk.score_vector,
            "lexical_rank": None,
            "vector_rank": None,
        },
        "score_kind": _KINDS[mode],
        **indexed,
    }


def _answer(response: Response, run: Run, mode: str, item: LabelledResult) -> dict[str, Any]:
    template = run.fingerprint.get("prompt_template_version")
    grounded = response.grounded if response.grounded is not None else not response.abstained
    time = _time(run.started)
    # an imported run keeps what kebab said of its settings
    settings = run.config.settings if isinstance(run.config, ImportedConfig) and run.config.system == "kebab" else {}
    scores = [chunk.score_final for chunk in response.chunks if chunk.score_final is not None]
    return {
        "answer": response.answer,
        "citations": [
            {"marker": None, "citation": _place(reference.rel_path, reference.heading_path or None), **time}
            for reference in response.references
        ],
        "grounded": grounded,
        "refusal_reason": response.abstain_reason if response.abstain_reason in _REASONS else None,
        "model": _model(settings.get("llm"), response.model),
        "embedding": None,
        "prompt_template_version": template if isinstance(template, str) else UNKNOWN,
        "retrieval": {
            "trace_id": f"{run.run_id}/{item.case.id}",
            "mode": mode,
            "k": _count(item.case.k or _number(run.fingerprint.get("k")) or len(response.chunks)),
            "score_gate": _number(settings.get("score_gate")),
            "top_score": max(scores, default=0.0),
            "chunks_returned": len(response.chunks),
            # which of them were shown to the model is not told; what was cited was
            "chunks_used": len(
                {
                    (reference.rel_path, reference.heading_path, reference.chunk_index)
                    for reference in response.references
                }
            ),
        },
        "usage": {
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "latency_ms": _count(response.latency.get("generation_ms", 0.0)),
        },
        "created_at": time["indexed_at"],
    }


def _model(stored: object, answering: str | None) -> dict[str, Any]:
    model = stored if isinstance(stored, dict) else {}
    names = {"id": answering or model.get("model_id"), "provider": model.get("provider")}
    return {
        **{name: value if isinstance(value, str) else UNKNOWN for name, value in names.items()},
        "dimensions": None,
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _place(path: str, section: str | None) -> dict[str, Any]:
    return {"kind": "line", "path": path, "start": 0, "end": 0, "section": section}


def _time(started: str) -> dict[str, Any]:
    """Return when something was indexed at the latest; whether it has become stale by then, nobody said."""
    try:
        valid = datetime.fromisoformat(started).tzinfo is not None and "T" in started
    except ValueError:
        valid = False
    return {"indexed_at": started if valid else NO_TIME, "stale": False}


def _count(value: float) -> int:
    return min(max(round(value), 0), _MAX_COUNT)
