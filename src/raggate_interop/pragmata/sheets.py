"""Label files of pragmata -> judgments: annotation exports and score inputs, one reader.

An export has a row for every annotator, yes/no as True and False, and rows that were discarded. A score input has a row
for every unit, and 0 and 1. Columns beyond the needed ones are allowed in both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from raggate.base.csv_table import Row, Table, read_table
from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate.models.judging import LABELS, Task
from raggate_interop.labels.models import TASKS, Discarded, Judgment, RetrievalJudgment, Sheet

META = ".meta.json"
"""How the files end that describe an export. They have no labels, and are ignored."""

_COLUMNS: dict[Task, tuple[str, ...]] = {
    "retrieval": ("record_uuid", "query", "chunk", "chunk_id", "chunk_rank"),
    "grounding": ("record_uuid", "answer", "context_set"),
    "generation": ("record_uuid", "query", "answer"),
}
_ALIASES = {"query": "input_query"}
# tables that went through a data frame have 1.0 for 1
_YES_NO = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_WHOLE = re.compile(r"(-?[0-9]{1,9})(?:\.0)?\Z")
_STATUSES = ("submitted", "discarded")


def read_sheet(data: bytes, name: str, *, task: Task | None = None) -> Sheet:
    """Read an annotation export or a score input.

    Args:
        task: what it must be about; None takes what its label columns say.
    """
    table = read_table(data, name)
    about = _task(table, task)
    columns = _needed(table, about)
    judgments: list[Judgment] = []
    discarded: list[Discarded] = []
    for row in table.rows:
        _check_task(row, about)
        if _is_discarded(row):
            discarded.append(_discarded(row, about, columns))
        else:
            judgments.append(_retrieval(row, columns) if about == "retrieval" else _of_answer(row, columns, about))
    return Sheet(name=name, task=about, judgments=tuple(judgments), discarded=tuple(discarded))


def _task(table: Table, wanted: Task | None) -> Task:
    # report a damaged header against the task that it is nearest to
    present = {task: sum(label in table.columns for label in LABELS[task]) for task in TASKS}
    task: Task = wanted if wanted is not None else max(TASKS, key=lambda name: present[name] / len(LABELS[name]))
    if not present[task]:
        other = next((name for name in TASKS if present[name] == len(LABELS[name])), None)
        raise UsageError(
            f"{table.name}:1: no labels of {'the task ' + task if wanted else 'any task'} here",
            hint=f"This file is about {other}." if other else f"Expected columns such as {', '.join(LABELS[task])}.",
        )
    return task


def _needed(table: Table, task: Task) -> Mapping[str, str]:
    """Map what is needed to the columns that hold it."""
    columns = {}
    for column in (*_COLUMNS[task], *LABELS[task]):
        name = next((name for name in (column, _ALIASES.get(column)) if name in table.columns), None)
        if name is None:
            raise UsageError(
                f"{table.name}:1: column {column} is missing",
                hint=f"A {task} file has {', '.join((*_COLUMNS[task], *LABELS[task]))}.",
            )
        columns[column] = name
    return columns


def _check_task(row: Row, task: Task) -> None:
    value = row.values.get("task", "").strip()
    if value and value != task:
        raise row.wrong("task", f"is {quoted(value)} in a file about {task}")


def _is_discarded(row: Row) -> bool:
    status = row.values.get("response_status", "").strip()
    if status and status not in _STATUSES:
        raise row.wrong(
            "response_status",
            f"is {quoted(status)}, expected {' or '.join(_STATUSES)}",
            hint="Export finished responses only.",
        )
    return status == "discarded"


def _discarded(row: Row, task: Task, columns: Mapping[str, str]) -> Discarded:
    return Discarded(
        record=row.text("record_uuid"),
        place=row.place,
        chunk_id=row.text(columns["chunk_id"]) if task == "retrieval" else None,
        retrieved=_retrieved(row) if task == "retrieval" else None,
    )


def _labels(row: Row, task: Task) -> dict[str, bool]:
    labels = {}
    for label in LABELS[task]:
        value = row.values[label].strip()
        flag = _YES_NO.get(value.lower())
        if flag is None:
            problem = f"is {quoted(value)}" if value else "is empty"
            raise row.wrong(label, f"{problem}, expected True, False, 1 or 0")
        labels[label] = flag
    return labels


def _retrieval(row: Row, columns: Mapping[str, str]) -> RetrievalJudgment:
    rank = _whole(row, columns["chunk_rank"])
    if rank is None or rank < 1:
        raise row.wrong("chunk_rank", f"is {quoted(row.values[columns['chunk_rank']])}, expected 1 or more")
    return RetrievalJudgment(
        record=row.text("record_uuid"),
        labels=_labels(row, "retrieval"),
        **_origin(row),
        query=row.text(columns["query"]),
        chunk=row.text("chunk"),
        chunk_id=row.text("chunk_id"),
        rank=rank,
        retrieved=_retrieved(row),
    )


def _of_answer(row: Row, columns: Mapping[str, str], task: Task) -> Judgment:
    judgment = Judgment(task=task, record=row.text("record_uuid"), labels=_labels(row, task), **_origin(row))
    # nothing is made of the texts, but a row that lacks one is damaged
    for column in _COLUMNS[task]:
        row.text(columns[column])
    return judgment


def _origin(row: Row) -> dict[str, Any]:
    """Return who judged, where it is written, and whether for calibration."""
    calibration = row.values.get("calibration", "").strip()
    if calibration and calibration.lower() not in _YES_NO:
        raise row.wrong("calibration", f"is {quoted(calibration)}, expected True or False")
    return {
        "annotator": row.values.get("annotator_id", "").strip() or None,
        "place": row.place,
        "calibration": _YES_NO.get(calibration.lower(), False),
    }


def _retrieved(row: Row) -> int | None:
    """Read how many chunks the query got; exports from before this was kept have -1 or 0."""
    if not row.values.get("n_retrieved_chunks", "").strip():
        return None
    number = _whole(row, "n_retrieved_chunks")
    if number is None:
        raise row.wrong("n_retrieved_chunks", f"is {quoted(row.values['n_retrieved_chunks'])}, expected a number")
    return number if number > 0 else None


def _whole(row: Row, column: str) -> int | None:
    match = _WHOLE.match(row.values[column].strip())
    return int(match[1]) if match else None
