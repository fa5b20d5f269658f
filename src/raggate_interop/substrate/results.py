"""Result files of substrate: results.jsonl in and out, as checked rows, and a run of raggate as rows.

A row is one query in one mode: `{query, mode, difficulty, expected_docs, results: [{rank, doc_id, score, scores}]}`.
Their scripts write nothing about the text of a result; what raggate adds for it stands in optional keys of an entry:
`node_id`, `heading_only` (the question meets the heading and no word of the body) and `body_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Required

from msgspec.structs import replace
from pydantic import StrictBool, StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.numbers import counted
from raggate.base.quote import cut, quoted
from raggate.config.question_settings import mode_name
from raggate.models.baseline import Baseline, Restated, Slices
from raggate.models.golden import Case
from raggate.models.provenance import cutoffs_of
from raggate.models.run import Chunk, LabelledResult, Response, Result, Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate.scoring.score import body_of, label
from raggate_interop.json_shapes import Name, Number, Rank, check
from raggate_interop.substrate import metrics
from raggate_interop.substrate.golden import DEFAULT_DIFFICULTY, Document, from_cases
from raggate_interop.substrate.metrics import stem
from raggate_interop.substrate.records import read_lines, script_mode

Row = Mapping[str, Any]

STORED_TEXT = 200
"""Characters of a body that are written."""


class _Entry(TypedDict, total=False):
    rank: Required[Rank]
    doc_id: Required[Name]
    score: Number | None
    scores: dict[str, Number] | None
    node_id: StrictStr | None
    heading_only: StrictBool | None
    body_text: StrictStr | None


class _Row(TypedDict, total=False):
    query: Required[Name]
    mode: Required[Name]
    difficulty: StrictStr | None
    expected_docs: list[Name] | None
    results: list[_Entry] | None


_ROW: TypeAdapter[Any] = TypeAdapter(_Row)


def read_results(path: Path) -> tuple[dict[str, Any], ...]:
    """Read a `results.jsonl`. Rows keep their keys; modes get raggate's names, ranks are checked against positions."""
    rows: list[dict[str, Any]] = []
    seen: dict[tuple[str, str], str] = {}
    for place, value in read_lines(path):
        row = check(_ROW, value, place)
        entries = row.get("results") or []
        row = {**row, "mode": mode_name(row["mode"]), "results": entries}
        if [entry["rank"] for entry in entries] != list(range(1, len(entries) + 1)):
            raise UsageError(f"{place}: expected ranks from 1 on, in the order of the results")
        first = seen.setdefault((row["query"], row["mode"]), place)
        if first != place:
            raise UsageError(
                f"{place}: {quoted(row['query'], limit=80)} in mode {cut(row['mode'])} is already in {first}"
            )
        rows.append(row)
    if not rows:
        raise UsageError(f"{path}: has no result")
    return tuple(rows)


def render_results(rows: Sequence[Row]) -> str:
    """Return the text of a `results.jsonl`, with their names of the modes and their order of keys."""
    lines = []
    for row in rows:
        ordered = {
            "query": row["query"],
            "mode": script_mode(row["mode"]),
            "difficulty": row.get("difficulty") or DEFAULT_DIFFICULTY,
            "expected_docs": list(row.get("expected_docs") or []),
            "results": row["results"],
        }
        lines.append(json.dumps(ordered, ensure_ascii=False) + "\n")
    return "".join(lines)


def from_run(run: Run) -> tuple[dict[str, Any], ...]:
    """Make rows of a raggate run; a failed call has no results, which counts as a miss there too."""
    seen: dict[tuple[str, str], Result] = {}
    for item in run.results:
        result, mode = item.result, mode_name(item.result.mode)
        first = seen.setdefault((item.case.question, mode), result)
        if first is not result:
            pair = f"{first.case_id} ({first.mode}) and {result.case_id} ({result.mode})"
            raise UsageError(
                f"run {run.run_id}: {pair} ask {item.case.question[:80]!r} in one mode, {mode}",
                hint="Text and mode identify a row: ask a text once in each mode.",
            )
    return tuple(_row(item) for item in run.results)


def with_texts(rows: Sequence[Row], corpus: Mapping[str, Document]) -> list[Row]:
    """Return rows whose results tell `heading_only` and `body_text`, from the titles and bodies of the corpus.

    Results that tell them already, and documents that the corpus does not have, stay as they are.
    """
    by_stem = {stem(doc_id): document for doc_id, document in corpus.items()}
    return [{**row, "results": list(_completed(row, by_stem))} for row in rows]


def _completed(row: Row, corpus: Mapping[str, Document]) -> Iterator[Row]:
    documents = [corpus.get(stem(entry["doc_id"]), Document(doc_id="")) for entry in row["results"]]
    response = Response(
        chunks=tuple(Chunk(chunk_id="", rel_path="", heading_path=one.title, text=one.body) for one in documents)
    )
    result = Result(case_id="", mode=row["mode"], response=response, failure=None, retries=0, elapsed_ms=0.0)
    item = label(Case(id="", question=row["query"], answerable=True), result)
    flagged = zip(row["results"], documents, response.chunks, item.labels.heading_only, strict=True)
    for entry, document, chunk, flag in flagged:
        yield {**_texts(chunk, heading_only=flag), **entry} if document.doc_id else entry


def _row(item: LabelledResult) -> dict[str, Any]:
    named = item.case.expected_doc_ids or tuple(
        dict.fromkeys(support.doc_id or support.rel_path for support in item.case.gold_supports)
    )
    chunks = item.result.chunks
    # an API that returns no text at all tells nothing about headings and bodies
    has_text = any(chunk.text for chunk in chunks)
    return {
        "query": item.case.question,
        "mode": mode_name(item.result.mode),
        "difficulty": item.case.difficulty,
        "expected_docs": [name for name in named if name],
        "results": [
            {**_entry(chunk, rank), **(_texts(chunk, heading_only=flag) if has_text else {})}
            for rank, (chunk, flag) in enumerate(zip(chunks, item.labels.heading_only, strict=True), 1)
        ],
    }


def _entry(chunk: Chunk, rank: int) -> dict[str, Any]:
    scores = {"fts": chunk.score_lexical, "vector": chunk.score_vector}
    return {
        "rank": rank,
        "doc_id": chunk.document,
        "score": chunk.score_final if chunk.score_final is not None and isfinite(chunk.score_final) else 0.0,
        "scores": {name: score for name, score in scores.items() if score is not None and isfinite(score)},
        **({"node_id": chunk.chunk_id} if chunk.chunk_id else {}),
    }


def _texts(chunk: Chunk, *, heading_only: bool) -> dict[str, Any]:
    return {"heading_only": heading_only, "body_text": body_of(chunk.heading_path, chunk.text)[:STORED_TEXT]}


def restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    """Score a run as substrate would; a mean is never compared with one of other questions."""
    baseline = _with_modes_of(scorecard, baseline)
    cutoffs = cutoffs_of(scorecard.fingerprint) or metrics.CUTOFFS
    rows = from_run(run)
    current: Slices = {}
    problems: list[str] = []
    for mode, slices in baseline.scorecard.slices.items():
        items = [item for item in run.results if item.result.mode == mode]
        counts = baseline.scorecard.counts.get(mode, {})
        if not items:
            continue
        cases = [item.case for item in items]
        if counts.get(OVERALL) == sum(case.answerable for case in cases):
            # their set has no question that expects nothing, as it would be a miss
            cases = [case for case in cases if case.answerable]
        asked = [query.row() for query in from_cases(cases)]
        problems += _other_queries(baseline, mode, cases)
        joined = metrics.join(asked, [row for row in rows if row["mode"] == mode_name(mode)], all_modes=True)
        table = metrics.score(joined.asked, metrics.Definitions(cutoffs=cutoffs)).get(mode_name(mode), {})
        current[mode] = {
            name: {
                metric: MetricValue(value=value, n=len(_sliced(cases, name)), unscored=0, direction=like.direction)
                for metric, like in wanted.items()
                if (value := table.get(name.removeprefix("difficulty="), {}).get(metric)) is not None
            }
            for name, wanted in slices.items()
        }
    return Restated(baseline=baseline, current=current, problems=tuple(problems))


def _with_modes_of(scorecard: Scorecard, baseline: Baseline) -> Baseline:
    """Return the modes of a baseline the names that the run has for them: `bm25` and `fts` are one mode there."""
    stored = baseline.scorecard
    if len({mode_name(mode) for mode in stored.slices}) != len(stored.slices):
        return baseline
    by_name = {mode_name(mode): mode for mode in scorecard.slices}
    names = {mode: by_name.get(mode_name(mode), mode) for mode in stored.slices}
    slices = {names[mode]: value for mode, value in stored.slices.items()}
    counts = {names.get(mode, mode): value for mode, value in stored.counts.items()}
    return replace(baseline, scorecard=replace(stored, slices=slices, counts=counts))


def _other_queries(baseline: Baseline, mode: str, cases: Sequence[Case]) -> Iterator[str]:
    """Yield why a metrics file of theirs is not of the questions of the run."""
    unnamed = [case.id for case in cases if case.answerable and not _names_a_document(case)]
    if unnamed:
        yield (
            f"{baseline.source} counts documents, and {counted(len(unnamed), 'question')} of this run "
            f"{'names' if len(unnamed) == 1 else 'name'} none: "
            f"{', '.join(unnamed[:5])}"
        )
    for name, count in baseline.scorecard.counts.get(mode, {}).items():
        if name == OVERALL or name.startswith("difficulty="):
            own = len(_sliced(cases, name))
            if count != own:
                where = "" if name == OVERALL else f" for {name}"
                yield f"the means of {baseline.source}{where} are over {count} questions, those of this run over {own}"


def _names_a_document(case: Case) -> bool:
    return bool(case.expected_doc_ids) or any(support.rel_path or support.doc_id for support in case.gold_supports)


def _sliced(cases: Sequence[Case], name: str) -> list[Case]:
    wanted = name.removeprefix("difficulty=")
    return [case for case in cases if name == OVERALL or case.difficulty == wanted]
