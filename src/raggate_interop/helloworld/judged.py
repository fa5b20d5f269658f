"""What helloworld's judges leave behind, in and out: scores in rows, and the cache `judge_cache.jsonl`.

Their cache knows a judge by the name of its model and the label of its prompt, and says nothing of the words that were
asked. So it is no cassette: what it holds becomes scores of the run whose answers it is about, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.jsonio import fields
from raggate.base.numbers import setting
from raggate.base.quote import quoted
from raggate.config.imported import ImportedConfig
from raggate.models.judging import JUDGES, JUDGING, Coverage, Judgement, JudgingSummary, NotJudgedReason, judges_of
from raggate.models.run import LabelledResult, Run
from raggate_interop.helloworld.read import CACHE_LINE
from raggate_interop.json_shapes import check, json_lines

SCORES = ("groundedness", "correctness")
PROMPT_VERSION = "v1.0"
"""What their scripts call the prompts, unless told otherwise."""

_HASHED_TEXT = 500
_SHOWN_TEXT = 200
_VERSION_LENGTH = 12
_NOT_THERE = "their results have no score of it"

Cache = Mapping[str, Mapping[str, Any]]
"""Their results by cache key."""


def read_cache(data: bytes, name: str) -> Cache:
    """Read a `judge_cache.jsonl`; of two lines of a key the last one counts, as there."""
    entries = (check(CACHE_LINE, value, place) for place, value in json_lines(data.split(b"\n"), name))
    return {entry["cache_key"]: entry["result"] for entry in entries}


def cache_key(score: str, row: Mapping[str, Any], *, model: str, version: str) -> str:
    """Return the key that their script looks for, of a row as its file holds it.

    The first 32 digits of the SHA-256 of score, model, version, question, answer and the hash of the chunks'
    first 500 characters.
    """
    chunks = [
        {"chunk_id": chunk.get("chunk_id", ""), "text": chunk.get("text", "")[:_HASHED_TEXT]}
        for chunk in row.get("retrieved_chunks") or []
    ]
    context = hashlib.sha256(json.dumps(chunks, sort_keys=True).encode()).hexdigest()[:16]
    parts = (score, model, version, row.get("question", ""), row.get("answer") or "", context)
    return hashlib.sha256("|".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def of_another_answer(row: Mapping[str, Any]) -> bool:
    """Return whether a row has scores, and its `judge_input` is not the row's own question, answer and chunks.

    The judge may have seen the first of the chunks alone.
    """
    shown = row.get("judge_input")
    if not shown or not any(row.get(score) for score in SCORES):
        return False
    ids = [chunk.get("chunk_id", "") for chunk in row.get("retrieved_chunks") or []]
    judged_ids = shown.get("context_chunk_ids", ids)
    texts = [(shown.get(key, row.get(key)) or "") == (row.get(key) or "") for key in ("question", "answer")]
    return not all(texts) or judged_ids != ids[: len(judged_ids)]


def without_scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as if nobody had judged it."""
    return {key: value for key, value in row.items() if key not in {*SCORES, "judge_input"}}


def with_cached(row: Mapping[str, Any], cache: Cache, *, model: str, version: str) -> dict[str, Any]:
    """Return a row with the scores of the cache where it has none of its own."""
    cached = {score: cache.get(cache_key(score, row, model=model, version=version)) for score in SCORES}
    return {**row, **{score: result for score, result in cached.items() if result is not None and not row.get(score)}}


def judged(run: Run, rows: Sequence[Mapping[str, Any]], *, model: str, version: str) -> Run:
    """Return a run with the scores that rows hold of its answers; the same run where they hold none."""
    by_id = {row["test_case_id"]: row for row in rows}
    results = tuple(
        replace(item, judgements=tuple(_judgement(score, by_id.get(item.case.id, {}), item, model) for score in SCORES))
        for item in run.results
    )
    coverages = {score: Coverage.of(score, [item.judgements for item in results]) for score in SCORES}
    scores = [score for score, coverage in coverages.items() if coverage.judged]
    if not scores:
        return run
    summary = JudgingSummary(scores={score: coverages[score] for score in scores})
    identity = {
        "models": [{"model": model, "build": "", "endpoint": "helloworld"}],
        "prompts": {"version": version},
        "scores": scores,
        "temperature": run.config.settings.get("judge_temperature") if isinstance(run.config, ImportedConfig) else None,
    }
    fingerprint = {**run.fingerprint, JUDGES: identity, JUDGING: summary.stored()}
    return replace(run, results=results, fingerprint=fingerprint)


def score_fields(item: LabelledResult, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what their script writes into a row of what it has judged: scores, and what the judge saw."""
    given = {judgement.score: judgement for judgement in item.judgements if judgement.value is not None}
    if not given.keys() & set(SCORES):
        return {}
    scores: dict[str, Any] = {
        name: {"score": given[name].value, "reasoning": given[name].reasoning} for name in SCORES if name in given
    }
    if "groundedness" in given:
        claims = {"unsupported_claims": given["groundedness"].unsupported}
        claims["supported_claims"] = given["groundedness"].supported
        scores["groundedness"] |= {name: list(texts) for name, texts in claims.items()}
    chunks = row.get("retrieved_chunks") or []
    shown = {
        "question": row.get("question", ""),
        "answer": row.get("answer", ""),
        "context_chunk_ids": [chunk["chunk_id"] for chunk in chunks],
        "context_chunks_truncated": [_shortened(chunk["text"]) for chunk in chunks],
    }
    return {**scores, "judge_input": shown}


def config_fields(run: Run) -> dict[str, Any]:
    """Return what a `config.json` of theirs tells of the judges of a run; nothing where nobody judged it."""
    identity = run.fingerprint.get(JUDGES)
    if not isinstance(identity, Mapping):
        return {}
    # theirs has one judge, so a panel is one of several names
    model, prompts = ", ".join(name for name, _ in judges_of(run.fingerprint)), fields(identity.get("prompts"))
    # what raggate asks has no label; the hash of all its prompts stands for one
    digest = hashlib.sha256(json.dumps(prompts, sort_keys=True).encode()).hexdigest()
    version = prompts.get("version") or (digest[:_VERSION_LENGTH] if prompts else None)
    temperature = identity.get("temperature")
    return {"judge_model": model or None, "judge_prompt_version": version, "judge_temperature": temperature}


def _judgement(score: str, row: Mapping[str, Any], item: LabelledResult, model: str) -> Judgement:
    result = row.get(score)
    if not result:
        response = item.result.response
        empty = response is None or not response.answer or not response.chunks
        reason: NotJudgedReason = "nothing_to_judge" if empty else "replay_miss"
        return Judgement(score=score, value=None, reason=reason, detail=_NOT_THERE, judge=model)
    value = float(result.get("score", 0.0))
    if not 0 <= value <= 5:
        raise UsageError(
            f"question {quoted(item.case.id)}: {score}: expected a score from 0 to 5, found {setting(value)}"
        )
    return Judgement(
        score=score,
        value=value,
        reasoning=str(result.get("reasoning", "")),
        supported=tuple(map(str, result.get("supported_claims") or ())),
        unsupported=tuple(map(str, result.get("unsupported_claims") or ())),
        judge=model,
    )


def _shortened(text: str) -> str:
    return text[:_SHOWN_TEXT] + "..." if len(text) > _SHOWN_TEXT else text
