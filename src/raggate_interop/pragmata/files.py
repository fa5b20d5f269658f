"""Where label commands read and write: label files and run directories in, judgments, result lists and reports out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from raggate.base.csv_table import parse_json
from raggate.base.errors import UsageError
from raggate.base.files import read_file, write_file
from raggate.base.headings import fold
from raggate.base.jsonio import dumps, parse_object
from raggate.base.quote import cut, quoted
from raggate.models.judging import Task
from raggate.models.run import LabelledResult
from raggate.scoring.intervals import Interval, Sampling
from raggate_interop import export
from raggate_interop.json_shapes import check_keys
from raggate_interop.labels.models import (
    METRICS,
    TASKS,
    LabelAgreement,
    LabelScores,
    MetricScore,
    PairAgreement,
    RetrievalJudgment,
    ScoreReport,
    ScoreSource,
    Sheet,
    TaskAgreement,
)
from raggate_interop.pragmata.sheets import META, read_sheet

EXPORTS = Path("annotation", "exports")
"""Where the annotation tool keeps its exports, below its base directory."""

_EXPORT = "annotation_export.meta.json"
"""Stands beside the files of an annotation export, and tells its `export_id`."""


_KINDS = ("direct_path", "annotation_export", "model_prediction")
_METHODS = ("wilson", "bootstrap")
_NULLABLE = {"conditional_fabrication_rate"}
_SCORE = ("point", "ci_lower", "ci_upper", "method", "n")
_SOURCE = ("kind", "ref", "resolved_path")
_HEAD = ("task", "source", "notes", "created_at", "n_examples", "ci_level")
FILE_NAME = "report.json"
"""How it is called there, in the directory `iaa` of an export."""


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

    Raises:
        CannotTell: for a run that did not ask all of its questions.
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
        lists[key] = _chunks(item)
    return lists


def write_report(scores: LabelScores, sheets: Sequence[Sheet], directory: Path, *, created_at: str) -> Path:
    """Write `{task}_scores.json` into a directory and give its path.

    Args:
        created_at: ISO 8601.
    """
    paths = [Path(sheet.name) for sheet in sheets]
    named_export = export_id(sheets)
    named = ", ".join(path.as_posix() for path in paths)
    source = ScoreSource(
        kind="direct_path" if named_export is None else "annotation_export",
        ref=named if named_export is None else named_export,
        resolved_path=named,
    )
    report = ScoreReport(
        task=scores.task,
        source=source,
        created_at=created_at,
        n_examples=scores.n_examples,
        level=scores.level,
        metrics=scores.metrics,
        top_k=scores.top_k,
        notes="" if scores.k is None else f"K fixed at {scores.k}; ranks without a label count as irrelevant",
    )
    return _written(directory / file_name(scores.task), write_scores(report))


def write_agreement(
    tasks: Sequence[TaskAgreement],
    sheets: Sequence[Sheet],
    directory: Path,
    *,
    created_at: str,
    sampling: Sampling,
) -> Path:
    """Write `report.json` of how far annotators agree into a directory and give its path.

    Args:
        created_at: ISO 8601.
    """
    names = export_id(sheets) or ", ".join(Path(sheet.name).as_posix() for sheet in sheets)
    report = agreement_bytes(tasks, export_id=names, created_at=created_at, sampling=sampling)
    return _written(directory / FILE_NAME, report)


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


def _written(target: Path, data: bytes) -> Path:
    write_file(target, data)
    return target


def read_report(path: Path) -> ScoreReport:
    """Read a stored score report."""
    return read_scores(read_file(path), str(path))


def _chunks(item: LabelledResult) -> tuple[str, ...] | None:
    response = item.result.response
    return None if response is None else tuple(chunk.chunk_id for chunk in response.chunks)


def file_name(task: Task) -> str:
    """Return the name a report has."""
    return f"{task}_scores.json"


def write_scores(report: ScoreReport) -> bytes:
    """Write a report."""
    content: dict[str, Any] = {
        "task": report.task,
        "source": {
            "kind": report.source.kind,
            "ref": report.source.ref,
            "resolved_path": report.source.resolved_path,
        },
        "notes": report.notes,
        "created_at": report.created_at,
        "n_examples": report.n_examples,
        "ci_level": report.level,
    }
    if report.task == "retrieval":
        content["top_k"] = report.top_k
    for name in METRICS[report.task]:
        score = report.metrics[name]
        if score is None and name not in _NULLABLE:
            raise UsageError(f"{name} has no value, and a score report cannot say so")
        content[name] = None if score is None else _written_score(score)
    return dumps(content, pretty=True)


def _written_score(score: MetricScore) -> dict[str, Any]:
    # their shape wants two numbers, and they give one query its own value for both
    ends = score.interval or Interval(score.point, score.point)
    return {
        "point": score.point,
        "ci_lower": ends.lower,
        "ci_upper": ends.upper,
        "method": score.method,
        "n": score.n,
    }


def read_scores(data: bytes, name: str) -> ScoreReport:
    """Read a report."""
    content = parse_json(data, name)
    task = content.get("task") if isinstance(content, dict) else None
    if task not in TASKS:
        raise UsageError(f"{name}: task: expected one of {', '.join(TASKS)}")
    names = METRICS[task]
    keys = (*_HEAD, *(("top_k",) if task == "retrieval" else ()), *names)
    # what has a default there may be missing here
    check_keys(content, keys, name, optional={"notes", *_NULLABLE})
    source = content["source"]
    check_keys(source, _SOURCE, f"{name}: source")
    if source["kind"] not in _KINDS:
        raise UsageError(f"{name}: source.kind: expected one of {', '.join(_KINDS)}")
    return ScoreReport(
        task=task,
        source=ScoreSource(kind=source["kind"], ref=str(source["ref"]), resolved_path=str(source["resolved_path"])),
        notes=str(content.get("notes", "")),
        created_at=str(content["created_at"]),
        n_examples=_count(content, "n_examples", name),
        level=_share(content, "ci_level", name),
        top_k=_count(content, "top_k", name) if task == "retrieval" else None,
        metrics={metric: _score(content.get(metric), metric, name) for metric in names},
    )


def _score(content: Any, metric: str, name: str) -> MetricScore | None:
    if content is None and metric in _NULLABLE:
        return None
    place = f"{name}: {metric}"
    check_keys(content, _SCORE, place)
    if content["method"] not in _METHODS:
        raise UsageError(f"{place}: method: expected one of {', '.join(_METHODS)}")
    interval = Interval(_share(content, "ci_lower", place), _share(content, "ci_upper", place))
    if interval.lower > interval.upper:
        raise UsageError(f"{place}: ci_lower is above ci_upper")
    n = _count(content, "n", place)
    return MetricScore(
        point=_share(content, "point", place),
        interval=None if n == 1 and content["method"] == "bootstrap" else interval,
        method=content["method"],
        n=n,
    )


def _share(content: Mapping[str, Any], key: str, place: str) -> float:
    value = content[key]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value) or not 0 <= value <= 1:
        raise UsageError(f"{place}: {key}: expected a number from 0 to 1")
    return float(value)


def _count(content: Mapping[str, Any], key: str, place: str) -> int:
    value = content[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{place}: {key}: expected a whole number from 1")
    return value


def agreement_bytes(tasks: Sequence[TaskAgreement], *, export_id: str, created_at: str, sampling: Sampling) -> bytes:
    """Write a report; a pair without any defined kappa is left out, as it has no place there.

    Args:
        created_at: ISO 8601.
    """
    return dumps(
        {
            "export_id": export_id,
            "created_at": created_at,
            "tasks": [
                {
                    "task": task.task,
                    "labels": [_label(label) for label in task.labels],
                    "pairwise_kappa": [_pair(pair) for pair in task.pairs if pair.mean is not None],
                }
                for task in tasks
            ],
            "n_bootstrap_resamples": sampling.resamples,
            "ci_level": sampling.level,
        },
        pretty=True,
    )


def _label(agreement: LabelAgreement) -> dict[str, Any]:
    return {
        "label": agreement.label,
        "alpha": agreement.alpha,
        "ci_lower": agreement.interval.lower if agreement.interval else None,
        "ci_upper": agreement.interval.upper if agreement.interval else None,
        "n_items": agreement.items,
        "n_annotators": agreement.annotators,
        "pct_agreement": agreement.percent,
    }


def _pair(agreement: PairAgreement) -> dict[str, Any]:
    return {
        "annotator_a": agreement.first,
        "annotator_b": agreement.second,
        "kappa": agreement.mean,
        "n_shared_items": agreement.shared,
    }
