"""Score reports of pragmata, `{task}_scores.json`: written and read in exactly its shape.

Their reader forbids keys it does not know, so nothing of raggate's own goes into these files.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from raggate.errors import UsageError
from raggate.labels.models import METRICS, TASKS, Interval, MetricScore, ScoreReport, ScoreSource, Task
from raggate.text.csv_table import parse_json
from raggate.text.jsonio import dumps
from raggate_interop.json_shapes import check_keys

_KINDS = ("direct_path", "annotation_export", "model_prediction")
_METHODS = ("wilson", "bootstrap")
_NULLABLE = {"conditional_fabrication_rate"}
_SCORE = ("point", "ci_lower", "ci_upper", "method", "n")
_SOURCE = ("kind", "ref", "resolved_path")
_HEAD = ("task", "source", "notes", "created_at", "n_examples", "ci_level")


def file_name(task: Task) -> str:
    """Return the name a report has."""
    return f"{task}_scores.json"


def write_scores(report: ScoreReport) -> bytes:
    """Write a report.

    Raises:
        UsageError: when a metric has no value that their shape wants one for.
    """
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
        content[name] = None if score is None else _written(score)
    return dumps(content, pretty=True)


def _written(score: MetricScore) -> dict[str, Any]:
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
    """Read a report.

    Raises:
        UsageError: naming file and key of the first thing that is not as it should be.
    """
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
