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

from raggate.config.imported import ImportedConfig
from raggate.config.invariant_settings import Invariants
from raggate.config.score_settings import Score
from raggate.errors import UsageError
from raggate.models.golden import Case, Golden
from raggate.models.run import Chunk, Failure, Reference, Response, Result, Run
from raggate.scoring.score import label
from raggate.text.anchors import written
from raggate.text.dates import stamp
from raggate.text.numbers import rounded
from raggate.text.quote import cut
from raggate_interop.kebab.metrics import CUTOFFS
from raggate_interop.kebab.rows import StoredRun

DEFAULT_MODE = "hybrid"

MAX_DEPTH = 1000

UNKNOWN = "unknown"
"""Stands in rows that raggate writes for a name that kebab requires and raggate does not know."""

# more than 0x0fff… milliseconds is a year of five digits
_RUN_ID = re.compile(r"run_(0[0-9a-f]{11})7[0-9a-f]{19}")
VERSIONS = ("chunker_version", "index_version")


def to_run(stored: StoredRun, golden: Golden, *, k: int | None = None) -> Run:
    """Make a raggate run, so that it can be scored and compared as any other.

    Args:
        stored: the run; rows of queries that the golden set does not have are left out.
        golden: the cases. One without a row becomes a failed call.
        k: how many hits were asked for, where the run does not say; without it the deepest rank is taken for that.

    Raises:
        UsageError: when the run has no row, or rows of several modes, or asked for another k.
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
    chunks = tuple(chunk_of(hit) for hit in row["hits_top_k"])
    versions = _agreed([row])
    answer = row.get("answer")
    response = Response(chunks=chunks) if answer is None else answer_of(answer, chunks)
    return replace(response, coverage=versions or None)


def _agreed(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the versions that every hit has and that are the same in all."""
    hits = [hit for row in rows for hit in row["hits_top_k"]]
    agreed = {}
    for name in VERSIONS:
        values = {hit.get(name) for hit in hits}
        if len(values) == 1 and isinstance(only := values.pop(), str) and only != UNKNOWN:
            agreed[name] = only
    return agreed


def chunk_of(hit: dict[str, Any]) -> Chunk:
    """Make a chunk of a hit. Its headings have no levels, so each counts as one deeper than the one before."""
    scores = hit.get("retrieval") or {}
    return Chunk(
        chunk_id=hit["chunk_id"],
        rel_path=hit.get("doc_path", ""),
        heading_path=written(tuple(hit.get("heading_path") or ())),
        text=hit.get("snippet", ""),
        rank=hit["rank"],
        score_final=scores.get("fusion_score"),
        score_vector=scores.get("vector_score"),
        score_lexical=scores.get("lexical_score"),
        doc_id=hit["doc_id"],
    )


def answer_of(answer: dict[str, Any], chunks: tuple[Chunk, ...]) -> Response:
    """Make a response of an answer and the chunks retrieved for it; one that is not grounded abstains."""
    cited = [item["citation"] for item in answer["citations"]]
    grounded = answer["grounded"]
    return Response(
        chunks=chunks,
        answer=answer["answer"],
        references=tuple(
            Reference(
                vault="",
                rel_path=citation.get("path", ""),
                heading_path=str(citation.get("section") or ""),
                chunk_index=0,
            )
            for citation in cited
        ),
        abstained=not grounded,
        abstain_reason=answer.get("refusal_reason"),
        grounded=grounded,
    )
