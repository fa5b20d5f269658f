"""The agreement report of pragmata, written in exactly its shape.

Their reader forbids keys it does not know, so nothing of raggate's own goes into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raggate.labels.intervals import Sampling
from raggate.labels.models import LabelAgreement, PairAgreement, TaskAgreement
from raggate.text.jsonio import dumps

FILE_NAME = "report.json"
"""How it is called there, in the directory `iaa` of an export."""


def write_agreement(tasks: Sequence[TaskAgreement], *, export_id: str, created_at: str, sampling: Sampling) -> bytes:
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
