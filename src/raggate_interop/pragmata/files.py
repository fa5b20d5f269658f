"""Where label commands read and write: label files and run directories in, judgments, result lists and reports out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from raggate.base.errors import UsageError
from raggate.base.files import read_file, write_file
from raggate.base.headings import fold
from raggate.base.jsonio import dumps, parse_object
from raggate.base.quote import cut, quoted
from raggate.models.judging import Task
from raggate.scoring.intervals import Interval, Sampling
from raggate_interop import export
from raggate_interop.labels.models import LabelScores, MetricScore, RetrievalJudgment, Sheet, TaskAgreement
from raggate_interop.pragmata.sheets import META, read_sheet

EXPORTS = Path("annotation", "exports")
"""Where the annotation tool keeps its exports, below its base directory."""

_EXPORT = "annotation_export.meta.json"
"""Stands beside the files of an annotation export, and tells its `export_id`."""

_NULLABLE = "conditional_fabrication_rate"
"""The one metric that may be null in a score report."""


def read_sheets(paths: Sequence[Path], task: Task | None = None) -> tuple[Sheet, ...]:
    """Read label files, and the CSV files of directories.

    Args:
        paths: files and directories; files that describe an export are skipped. A name that is neither is that of an
            export in `annotation/exports` here.
        task: what files must be about; in directories, files about something else are skipped.
    """
    sheets = []
    for path in map(_exported, paths):
        if path.is_dir():
            read = [read_sheet(read_file(file), str(file)) for file in sorted(path.glob("*.csv"))]
            sheets += [sheet for sheet in read if task in {None, sheet.task}]
        elif not path.name.endswith(META):
            sheets.append(read_sheet(read_file(path), str(path), task=task))
    if not sheets:
        raise UsageError(
            f"no label files{' about ' + task if task else ''} among what was given",
            hint="Name CSV files of an annotation export, or the directory they are in.",
        )
    return tuple(sheets)


def result_lists(
    directory: Path, judgments: Sequence[RetrievalJudgment], mode: str | None = None
) -> dict[str, tuple[str, ...] | None]:
    """Return what a run retrieved, as chunk ids per query; None for a call that failed.

    A case is named by its id where that is a record of the judgments, else by its question.
    """
    records = {judgment.record for judgment in judgments}
    lists: dict[str, tuple[str, ...] | None] = {}
    for item in export.results(directory, mode):
        key = item.case.id if item.case.id in records else fold(item.case.question)
        if key in lists:
            raise UsageError(
                f"{directory}: {quoted(key)} is asked twice, so its labels are ambiguous",
                hint="Name the cases by the record_uuid of their labels.",
            )
        response = item.result.response
        lists[key] = None if response is None else tuple(chunk.chunk_id for chunk in response.chunks)
    return lists


def write_report(scores: LabelScores, sheets: Sequence[Sheet], directory: Path, *, created_at: str) -> Path:
    """Write `{task}_scores.json` into a directory and give its path."""
    named_export = export_id(sheets)
    named = ", ".join(Path(sheet.name).as_posix() for sheet in sheets)
    content: dict[str, Any] = {
        "task": scores.task,
        "source": {
            "kind": "direct_path" if named_export is None else "annotation_export",
            "ref": named if named_export is None else named_export,
            "resolved_path": named,
        },
        "notes": "" if scores.k is None else f"K fixed at {scores.k}; ranks without a label count as irrelevant",
        "created_at": created_at,
        "n_examples": scores.n_examples,
        "ci_level": scores.level,
    }
    if scores.task == "retrieval":
        content["top_k"] = scores.top_k
    for name, score in scores.metrics.items():
        if score is None and name != _NULLABLE:
            raise UsageError(f"{name} has no value, and a score report cannot express that")
        content[name] = None if score is None else _written_score(score)
    path = directory / f"{scores.task}_scores.json"
    write_file(path, dumps(content, pretty=True))
    return path


def _written_score(score: MetricScore) -> dict[str, Any]:
    # their shape wants two numbers, and they give one query its own value for both
    ends = score.interval or Interval(score.point, score.point)
    content = {"point": score.point, "ci_lower": ends.lower, "ci_upper": ends.upper}
    return {**content, "method": score.method, "n": score.n}


def write_agreement(
    tasks: Sequence[TaskAgreement], sheets: Sequence[Sheet], directory: Path, *, created_at: str, sampling: Sampling
) -> Path:
    """Write `report.json` of how far annotators agree into a directory and give its path.

    A pair without any defined kappa is left out, as it has no place there.
    """
    content = {
        "export_id": export_id(sheets) or ", ".join(Path(sheet.name).as_posix() for sheet in sheets),
        "created_at": created_at,
        "tasks": [_task(task) for task in tasks],
        "n_bootstrap_resamples": sampling.resamples,
        "ci_level": sampling.level,
    }
    path = directory / "report.json"
    write_file(path, dumps(content, pretty=True))
    return path


def _task(task: TaskAgreement) -> dict[str, Any]:
    labels = [
        {
            "label": one.label,
            "alpha": one.alpha,
            "ci_lower": one.interval.lower if one.interval else None,
            "ci_upper": one.interval.upper if one.interval else None,
            "n_items": one.items,
            "n_annotators": one.annotators,
            "pct_agreement": one.percent,
        }
        for one in task.labels
    ]
    pairs = [
        {"annotator_a": pair.first, "annotator_b": pair.second, "kappa": pair.mean, "n_shared_items": pair.shared}
        for pair in task.pairs
        if pair.mean is not None
    ]
    return {"task": task.task, "labels": labels, "pairwise_kappa": pairs}


def export_id(sheets: Sequence[Sheet]) -> str | None:
    """Return the export that files are of, as it names itself; None when they are not of one export."""
    homes = {Path(sheet.name).parent for sheet in sheets}
    meta = next(iter(homes)) / _EXPORT
    if len(homes) != 1 or not meta.is_file():
        return None
    name = parse_object(read_file(meta), cut(meta)).get("export_id")
    return name if isinstance(name, str) and name else meta.resolve().parent.name


def _exported(path: Path) -> Path:
    """Return the directory of an export that is named by its id alone."""
    directory = EXPORTS / path
    return directory if len(path.parts) == 1 and not path.exists() and directory.is_dir() else path
