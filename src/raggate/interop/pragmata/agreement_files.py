"""The agreement report of the annotation taxonomy's framework, written in exactly its shape.

Their reader forbids keys it does not know, so nothing of raggate's own goes into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raggate.labels.models import LabelAgreement, PairAgreement, TaskAgreement
from raggate.text.jsonio import dumps

FILE_NAME = "report.json"
"""How it is called there, in the directory `iaa` of an export."""


def write_agreement(
    tasks: Sequence[TaskAgreement], *, export_id: str, created_at: str, resamples: int, level: float
) -> bytes:
    """Write a report; a pair without any defined kappa is left out, as it has no place there.

    Args:
        tasks: what was found of each task.
        export_id: the export it is about.
        created_at: ISO 8601.
        resamples: how many the bootstrap drew.
        level: confidence level of the intervals.
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
            "n_bootstrap_resamples": resamples,
            "ci_level": level,
        },
        pretty=True,
    )


def _label(found: LabelAgreement) -> dict[str, Any]:
    return {
        "label": found.label,
        "alpha": found.alpha,
        "ci_lower": found.interval.lower if found.interval else None,
        "ci_upper": found.interval.upper if found.interval else None,
        "n_items": found.items,
        "n_annotators": found.annotators,
        "pct_agreement": found.percent,
    }


def _pair(found: PairAgreement) -> dict[str, Any]:
    return {
        "annotator_a": found.first,
        "annotator_b": found.second,
        "kappa": found.mean,
        "n_shared_items": found.shared,
    }
