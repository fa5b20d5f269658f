"""A run of kebab as a run of raggate: its rows and the cases in, labelled results out.

What raggate has no place for is dropped on the way in: spans, section labels, the usage of an answer, and the hits of a
query whose answer failed. Whoever needs them keeps the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from raggate.base.dates import stamp
from raggate.base.errors import UsageError
from raggate.base.headings import written
from raggate.base.numbers import rounded
from raggate.base.quote import cut, quoted
from raggate.config.gate_settings import Score
from raggate.config.imported import ImportedConfig
from raggate.config.invariant_settings import Invariants
from raggate.config.question_settings import mode_name
from raggate.models.golden import Case, Golden
from raggate.models.run import Chunk, Failure, LabelledResult, Reference, Response, Result, Run
from raggate.scoring.score import label
from raggate_interop.kebab.metrics import CUTOFFS
from raggate_interop.kebab.rows import StoredRun

DEFAULT_MODE = "hybrid"

MAX_DEPTH = 1000

UNKNOWN = "unknown"
"""Stands in rows that raggate writes for a name that kebab requires and raggate does not know."""

# more than 0x0fff… milliseconds is a year of five digits
_RUN_ID = re.compile(r"run_(0[0-9a-f]{11})7[0-9a-f]{19}")
VERSIONS = ("chunker_version", "index_version")

NO_TIME = "1970-01-01T00:00:00Z"
"""Stands for a time that is not known."""
MODES = {"lexical": "lexical", "bm25": "lexical", "vector": "vector", "hybrid": "hybrid"}
"""kebab's modes by raggate's names of them."""
_KINDS = {"lexical": "bm25", "vector": "cosine", "hybrid": "rrf"}
_REASONS = (
    *("score_gate", "llm_self_judge", "no_index", "no_chunks", "llm_stream_aborted"),
    *("multi_hop_decompose_failed", "nli_verification_failed", "nli_model_unavailable"),
)
_MAX_COUNT = (1 << 32) - 1


def to_run(stored: StoredRun, golden: Golden, *, k: int | None = None) -> Run:
    """Make a raggate run. Rows of other queries are left out; a case without a row becomes a failed call.

    Args:
        k: how many hits were asked for, where the run does not say; without it the deepest rank is taken for that.
    """
    modes = {row.get("mode", DEFAULT_MODE) for row in stored.rows}
    if len(modes) != 1:
        problem = f"rows of {len(modes)} modes" if modes else "no rows"
        raise UsageError(f"run {cut(stored.run_id)}: {problem}, expected rows of one retrieval mode")
    mode = str(modes.pop())
    rows = {row["query_id"]: row for row in stored.rows}
    results = [(case, _result(case, rows.get(case.id), mode)) for case in golden.cases]
    answered = any(row.get("answer") is not None for row in stored.rows)
    k = _depth(stored, k)
    return Run(
        run_id=stored.run_id,
        suite="default",
        started=stored.created_at or _made(stored.run_id),
        golden=golden,
        results=tuple(label(case, result) for case, result in results),
        config=ImportedConfig(
            system="kebab",
            settings=stored.snapshot,
            score=Score(k=list(CUTOFFS)),
            # a snippet is cut around the words of the question, so one chunk has several texts
            invariants=Invariants(chunk_ids_stable="off"),
        ),
        fingerprint={
            "adapter": "kebab",
            "k": k,
            "retrieval_only": not answered,
            "modes": [mode],
            "golden": golden.hash,
            **_versions(stored),
        },
        duration_s=rounded(sum(result.elapsed_ms for _, result in results) / 1000, 3),
    )


def recorded_depth(stored: StoredRun) -> int | None:
    """Return how many hits the run says that it asked for, None when it does not say."""
    asked = stored.snapshot.get("eval_k")
    return min(asked, MAX_DEPTH) if type(asked) is int and asked > 0 else None


def _depth(stored: StoredRun, wanted: int | None) -> int:
    asked = recorded_depth(stored)
    if asked is not None:
        if wanted not in (None, asked):
            raise UsageError(f"k is {wanted}, but run {cut(stored.run_id)} asked for {asked}")
        return asked
    deepest = min(max((hit["rank"] for row in stored.rows for hit in row["hits_top_k"]), default=1), MAX_DEPTH)
    if wanted is not None and wanted < deepest:
        raise UsageError(f"k is {wanted}, but run {cut(stored.run_id)} has a hit of rank {deepest}")
    return wanted or deepest


def _made(run_id: str) -> str:
    """The time that stands in a run id of theirs, `run_` and a UUID of version 7, to the second; else nothing."""
    match = _RUN_ID.fullmatch(run_id)
    if match is None:
        return ""
    return stamp(datetime.fromtimestamp(int(match[1], 16) // 1000, UTC))


def _versions(stored: StoredRun) -> dict[str, str]:
    """Return the versions that the snapshot, or else every hit, agrees on."""
    names = (*VERSIONS, "prompt_template_version")
    recorded = {name: value for name in names if isinstance(value := stored.snapshot.get(name), str)}
    return {**_agreed(stored.rows), **recorded}


def _result(case: Case, row: dict[str, Any] | None, mode: str) -> Result:
    failure = None
    if row is None:
        failure = Failure(kind="aborted", message="no row in the run: the query was not asked")
    elif row.get("error") is not None:
        failure = Failure(kind="status", message=cut(row["error"]))
    elapsed = float((row or {}).get("elapsed_ms", 0))
    response = None if failure or row is None else _response(row)
    return Result(case_id=case.id, mode=mode, response=response, failure=failure, retries=0, elapsed_ms=elapsed)


def _response(row: dict[str, Any]) -> Response:
    chunks = tuple(map(_chunk, row["hits_top_k"]))
    response = Response(chunks=chunks, coverage=_agreed([row]) or None)
    answer = row.get("answer")
    if answer is None:
        return response
    cited = (item["citation"] for item in answer["citations"])
    return replace(
        response,
        answer=answer["answer"],
        references=tuple(
            Reference(vault="", rel_path=one["path"], heading_path=one.get("section") or "", chunk_index=0)
            for one in cited
        ),
        # an answer that is not grounded abstains
        abstained=not answer["grounded"],
        abstain_reason=answer.get("refusal_reason"),
        grounded=answer["grounded"],
    )


def _chunk(hit: dict[str, Any]) -> Chunk:
    scores = hit.get("retrieval") or {}
    return Chunk(
        chunk_id=hit["chunk_id"],
        rel_path=hit.get("doc_path", ""),
        # headings have no levels there, so each counts as one deeper than the one before
        heading_path=written(tuple(hit.get("heading_path") or ())),
        text=hit.get("snippet", ""),
        rank=hit["rank"],
        score_final=scores.get("fusion_score"),
        score_vector=scores.get("vector_score"),
        score_lexical=scores.get("lexical_score"),
        doc_id=hit["doc_id"],
    )


def _agreed(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the versions that every hit has and that are the same in all."""
    hits = [hit for row in rows for hit in row["hits_top_k"]]
    agreed = {}
    for name in VERSIONS:
        values = {hit.get(name) for hit in hits}
        if len(values) == 1 and isinstance(only := values.pop(), str) and only != UNKNOWN:
            agreed[name] = only
    return agreed


def to_rows(run: Run, mode: str) -> tuple[dict[str, Any], ...]:
    """Make rows of what a run found in one mode."""
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
