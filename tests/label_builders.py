"""Judgments and label files, built with defaults: a test names only what it is about."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from raggate.models.judging import LABELS, Task
from raggate_interop.labels.models import Judgment, RetrievalJudgment

COMMON = (
    "record_uuid annotator_id task language calibration inserted_at created_at record_status response_status "
    "discard_reason discard_notes"
).split()
TAIL = ["notes", "constraint_violated", "constraint_details"]
EXPORT: dict[Task, list[str]] = {
    "retrieval": [
        *COMMON,
        *"query chunk chunk_id doc_id chunk_rank n_retrieved_chunks".split(),
        *LABELS["retrieval"],
        *TAIL,
        *"panel_complete n_annotated_chunks n_submitted_chunks n_discarded_chunks n_records_seen".split(),
    ],
    "grounding": [*COMMON, "answer", "context_set", *LABELS["grounding"], *TAIL],
    "generation": [*COMMON, "query", "answer", *LABELS["generation"], *TAIL],
}
"""The columns of an annotation export, in its order."""

DEFAULTS = {
    "record_uuid": "r1",
    "annotator_id": "ann",
    "language": "en",
    "calibration": "false",
    "inserted_at": "2026-07-01T08:00:00Z",
    "created_at": "2026-07-02T08:00:00Z",
    "record_status": "completed",
    "response_status": "submitted",
    "query": "What is it?",
    "answer": "It is this.",
    "chunk": "Text of the chunk.",
    "chunk_id": "c1",
    "doc_id": "d1",
    "chunk_rank": "1",
    "n_retrieved_chunks": "1",
    "context_set": "One.[CTX_SEP]Two.",
    "constraint_violated": "false",
}


def flags(task: Task, letters: str) -> dict[str, bool]:
    """Read labels from letters, in the order of the task: `yn-` are yes, no and no."""
    assert len(letters) == len(LABELS[task])
    return {label: letter == "y" for label, letter in zip(LABELS[task], letters, strict=True)}


def make_retrieval(letters: str = "ynn", **fields: Any) -> RetrievalJudgment:
    """Build a judgment of a chunk: topically_relevant, evidence_sufficient, misleading."""
    rank = fields.setdefault("rank", 1)
    defaults = {"record": "r1", "query": "What is it?", "chunk": "Text.", "chunk_id": f"c{rank}"}
    return RetrievalJudgment(labels=flags("retrieval", letters), **{**defaults, **fields})


def make_panel(*letters: str, record: str = "r1", **fields: Any) -> list[RetrievalJudgment]:
    """Build the judgments of one query's chunks in rank order; None-like `-` leaves a rank out."""
    return [
        make_retrieval(written, record=record, rank=rank, **fields)
        for rank, written in enumerate(letters, 1)
        if written != "-"
    ]


def make_grounding(letters: str = "ynnnn", **fields: Any) -> Judgment:
    """Build a judgment of an answer against its context."""
    return Judgment(task="grounding", labels=flags("grounding", letters), **{"record": "r1", **fields})


def make_generation(letters: str = "yyynn", **fields: Any) -> Judgment:
    return Judgment(task="generation", labels=flags("generation", letters), **{"record": "r1", **fields})


def export_csv(task: Task, rows: Iterable[Mapping[str, str]]) -> bytes:
    """Write an annotation export; `labels` of a row holds the letters of its labels, empty for a discarded one."""
    written = []
    for row in rows:
        letters = row.get("labels", "")
        yes_no = {"y": "True", "n": "False"}
        labels = dict(zip(LABELS[task], (yes_no[letter] for letter in letters), strict=False))
        plain = {name: value for name, value in row.items() if name != "labels"}
        written.append({**DEFAULTS, "task": task, **labels, **plain})
    return to_csv(EXPORT[task], written)


def to_csv(columns: list[str], rows: Iterable[Mapping[str, str]]) -> bytes:
    """Write a CSV file with these columns; what a row does not have is empty."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, columns, extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()
