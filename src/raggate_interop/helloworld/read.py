"""Run directories of helloworld, read: its files in, rows, a raggate run or bare metrics out.

`results.jsonl` holds a row per answered call, `config.json` the settings, `metrics.json` the aggregates: operational
ones alone, or with the flat `*_avg` keys that were merged in by hand. `summary.md` is not read. Any file may be
missing, as `results.jsonl` is kept out of git.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Required

from msgspec import Struct
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.files import read_file, reading
from raggate.base.jsonio import parse_object
from raggate.base.numbers import rounded
from raggate.base.quote import cut, quoted
from raggate.config.gate_settings import Score
from raggate.config.imported import ImportedConfig
from raggate.models.golden import Case, Golden
from raggate.models.run import Chunk, Failure, Reference, Response, Result, Run
from raggate.scoring.score import label
from raggate_interop.json_shapes import check, json_lines

REDACTED = "[redacted]"
"""Stands for a text that was taken out."""
STORED_TEXT = 200
"""Characters of a chunk's text that their runs keep; "..." stands behind a text that was cut."""
MAX_BYTES = 256 << 20
DEFAULT_K = 5
_SETTINGS = ("rerank_weights", "folder_mode", "llm_model", "embedding_model", "retriever_version", "answerer_version")
"""Settings of `config.json` that become part of the fingerprint of an imported run."""
_Value = StrictFloat | None
MODE = "hybrid"
"""What their one way of retrieving is called here."""


class _Chunk(TypedDict, total=False):
    chunk_id: StrictStr
    rel_path: StrictStr
    heading_path: StrictStr
    text: StrictStr
    rank: StrictInt | None
    score_vector: _Value
    score_lexical: _Value
    score_final: _Value


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
    result: Required[_Verdict]


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
    error_rate: _Value
    timeout_rate: _Value
    empty_response_rate: _Value
    coverage_by_doc_type: dict[str, Any] | None


class _Aggregates(TypedDict, total=False):
    recall_at_k_avg: _Value
    recall_all_at_k_avg: _Value
    mrr_avg: _Value
    precision_at_k_avg: _Value
    scope_miss_rate: _Value
    attribution_hit_rate: _Value
    groundedness_avg: _Value
    correctness_avg: _Value
    abstention_accuracy: _Value
    hallucination_rate_unanswerable: _Value
    unanswerable_tests: _Value
    answerable_tests: _Value
    operational_metrics: _Operational | None
    latency: dict[str, _Value] | None
    indexing_coverage: _Coverage | None
    cost: dict[str, _Value] | None
    judge_reliability: dict[str, _Value] | None


class _Row(TypedDict, total=False):
    test_case_id: Required[Annotated[str, Field(strict=True, min_length=1)]]
    question: StrictStr
    answer: StrictStr | None
    references: list[_Reference] | None
    retrieved_chunks: list[_Chunk] | None
    config: _Config | None
    latency: dict[str, _Value] | None
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
    aggregate_metrics: _Aggregates


ROW: TypeAdapter[Any] = TypeAdapter(_Row)
CACHE_LINE: TypeAdapter[Any] = TypeAdapter(_CacheLine)
CONFIG: TypeAdapter[Any] = TypeAdapter(_Config)
METRICS: TypeAdapter[Any] = TypeAdapter(_Metrics)


class RunFiles(Struct, frozen=True, kw_only=True):
    """The files of one of their runs, as JSON values; empty where a file is missing.

    `rows` are in file order and hold their keys untouched, checked for the types of those that are known.
    """

    run_id: str
    config: dict[str, Any]
    metrics: dict[str, Any]
    rows: tuple[dict[str, Any], ...] = ()

    @property
    def aggregates(self) -> dict[str, Any]:
        """The content of `aggregate_metrics`."""
        return dict(self.metrics.get("aggregate_metrics") or {})

    @property
    def k(self) -> int:
        """The K that the run is scored at."""
        configs = [self.config, *(row.get("config") or {} for row in self.rows)]
        return next((int(config["k"]) for config in configs if config.get("k")), DEFAULT_K)

    @property
    def scored(self) -> bool:
        """Whether `metrics.json` holds more than operational metrics and latency."""
        return any(key.endswith("_avg") for key in self.aggregates)


def read(directory: Path) -> RunFiles:
    """Read a run directory of theirs."""
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory", hint="Expected a run directory, eval/results/<run_id>.")
    config = read_config(directory / "config.json")
    metrics = _read_object(directory / "metrics.json", METRICS)
    rows = tuple(_read_rows(directory / "results.jsonl"))
    if not metrics and not rows:
        raise UsageError(
            f"{directory}: neither metrics.json nor results.jsonl",
            hint="Name a run directory, which contains one of them.",
        )
    return RunFiles(run_id=str(metrics.get("run_id") or directory.name), config=config, metrics=metrics, rows=rows)


def read_config(path: Path) -> dict[str, Any]:
    """Read a `config.json`; empty where there is none."""
    return _read_object(path, CONFIG)


def truncated(row: dict[str, Any]) -> bool:
    """Return whether a chunk's text was cut, so that a snippet that is missing in it proves nothing."""
    texts = [chunk.get("text", "") for chunk in row.get("retrieved_chunks") or []]
    return any(len(text) == STORED_TEXT + 3 and text.endswith("...") for text in texts)


def without_texts(row: Mapping[str, Any]) -> bool:
    """Return whether a chunk's text was taken out, as `redact` does."""
    return any(chunk.get("text") == REDACTED for chunk in row.get("retrieved_chunks") or [])


def asked_cases(files: RunFiles, golden: Golden, failed: int = 0) -> Sequence[Case]:
    """Return the cases of the golden set that a run asked, in their order.

    A failed call has no row, and `--limit` asks the first cases only. So a case without a row was asked and failed if
    a later one has a row; of those behind the last row, as many as are still missing from `failed`.
    """
    answered = {row["test_case_id"] for row in files.rows}
    positions = [position for position, case in enumerate(golden.cases) if case.id in answered]
    if not positions:
        return golden.cases[:failed]
    until = positions[-1] + 1
    return golden.cases[: until + max(failed - (until - len(positions)), 0)]


def to_run(files: RunFiles, golden: Golden) -> Run:
    """Make a raggate run of theirs. Rows of other cases are left out; a case without a row becomes a failed call."""
    if not files.rows:
        raise UsageError(f"run {cut(files.run_id)}: no results.jsonl, so raggate cannot score it again")
    rows = {row["test_case_id"]: row for row in files.rows}
    results = [(case, _result(case, rows.get(case.id))) for case in golden.cases]
    coverage = next((result.response.coverage for _, result in results if result.response), None) or {}
    k = files.k
    return Run(
        run_id=files.run_id,
        suite="default",
        started=_started(files),
        golden=golden,
        results=tuple(label(case, result, truncated=truncated(rows.get(case.id, {}))) for case, result in results),
        config=ImportedConfig(
            system="helloworld",
            settings=files.config,
            score=Score(k=sorted({1, 3, 5, 10, k})),
        ),
        fingerprint={
            "adapter": "ask",
            "k": k,
            "retrieval_only": False,
            "modes": [MODE],
            "golden": golden.hash,
            **{name: files.config[name] for name in _SETTINGS if files.config.get(name) is not None},
            **{name: coverage[name] for name in ("index_version", "chunker_version") if name in coverage},
        },
        duration_s=rounded(sum(result.elapsed_ms for _, result in results) / 1000, 3),
    )


def _result(case: Case, row: dict[str, Any] | None) -> Result:
    if row is None:
        failure = Failure(kind="aborted", message="no row in results.jsonl: the call failed")
        return Result(case_id=case.id, mode=MODE, response=None, failure=failure, retries=0, elapsed_ms=0.0)
    latency = {step: float(value) for step, value in (row.get("latency") or {}).items() if value is not None}
    response = Response(
        chunks=tuple(_chunk(chunk) for chunk in row.get("retrieved_chunks") or []),
        answer=row.get("answer") or "",
        references=tuple(_reference(item) for item in row.get("references") or []),
        abstained=bool((row.get("abstention") or {}).get("abstained")),
        latency=latency,
        coverage=row.get("indexing_coverage"),
        cost={kind: float(value) for kind, value in (row.get("cost") or {}).items()},
    )
    elapsed = latency.get("total_ms", 0.0)
    return Result(case_id=case.id, mode=MODE, response=response, failure=None, retries=0, elapsed_ms=elapsed)


def _chunk(chunk: dict[str, Any]) -> Chunk:
    return Chunk(
        **{key: chunk.get(key, "") for key in ("chunk_id", "rel_path", "heading_path", "text")},
        rank=chunk.get("rank"),
        score_final=chunk.get("score_final"),
        score_vector=chunk.get("score_vector"),
        score_lexical=chunk.get("score_lexical"),
    )


def _reference(item: dict[str, Any]) -> Reference:
    texts = {key: item.get(key, "") for key in ("vault", "rel_path", "heading_path")}
    return Reference(**texts, chunk_index=item.get("chunk_index", 0))


def _started(files: RunFiles) -> str:
    """Return the start from the run id, `YYYYMMDD_HHMMSS` in UTC, else the time that metrics.json tells."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)", files.run_id, re.ASCII)
    if match:
        return "{}-{}-{}T{}:{}:{}Z".format(*match.groups())
    return str(files.metrics.get("timestamp", ""))


def _read_rows(path: Path) -> Sequence[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for place, value in json_lines(_bytes(path).split(b"\n"), str(path)):
        row = check(ROW, value, place)
        if rows.setdefault(row["test_case_id"], row) is not row:
            raise UsageError(
                f"{place}: question {quoted(row['test_case_id'])} has two rows",
                hint="Their scripts append to the file: keep one of the rows.",
            )
    return tuple(rows.values())


def _read_object(path: Path, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    data = _bytes(path)
    return check(adapter, parse_object(data, str(path)), str(path)) if data else {}


def _bytes(path: Path) -> bytes:
    """Return the content of a file, nothing for one that is not there."""
    with reading(path):
        if not path.exists():
            return b""
        if not path.is_file():
            # a pipe would be waited for
            raise UsageError(f"{path}: not a file")
    return read_file(path, most_bytes=MAX_BYTES)
