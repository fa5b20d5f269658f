"""What the commands for other systems tell programs with `--json`. Frozen.

The commands that print a document or lines of another system tell these, `SystemDocument`, in that system's keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from raggate.labelling.label_file import Agreement
from raggate.models.scorecard import MetricValue
from raggate_interop.golden_rows import Note
from raggate_interop.helloworld.compare import RunComparison
from raggate_interop.labels.models import LabelDelta, MetricScore, TaskAgreement, Violation

__all__ = ["RunComparison"]

SystemDocument = dict[str, Any]
"""The document that the command prints by itself with its own `--json`."""


class Converted(Struct, frozen=True, kw_only=True):
    """A golden set in another format.

    Attributes:
        cases: cases of SOURCE.
        written: cases of TARGET.
        files: the files written.
        lost: what TARGET cannot say.
        filled: defaults that became explicit.
    """

    cases: int
    written: int
    files: tuple[Path, ...]
    lost: tuple[Note, ...]
    filled: tuple[Note, ...]


class Written(Struct, frozen=True, kw_only=True):
    """A file or a directory that was written.

    Attributes:
        path: the file or directory.
        entries: questions, rows, lists, lines or documents in it.
        failed: failed calls: as entries in kebab's rows, else left out.
        empty: empty lists that were left out.
    """

    path: Path
    entries: int
    failed: int = 0
    empty: int = 0


class GradedAgreement(Struct, frozen=True, kw_only=True):
    """How far people agree whose grades `raggate label` has written.

    Attributes:
        file: the file.
        agreement: on whether a passage answers, and of each two of them on its grade.
    """

    file: Path
    agreement: Agreement


class AgreementShown(Struct, frozen=True, kw_only=True):
    """How far annotators agree.

    Attributes:
        tasks: each task with labels.
        graded: each file of `raggate label`.
    """

    tasks: tuple[TaskAgreement, ...]
    graded: tuple[GradedAgreement, ...]


class LabelsScored(Struct, frozen=True, kw_only=True):
    """Metrics of labels.

    Attributes:
        task: the task.
        k: the cut-off; null if it is inferred.
        queries: queries scored.
        metrics: metric: value and interval, or null; one query has no bootstrap interval.
    """

    task: str
    k: int | None
    queries: int
    metrics: Mapping[str, MetricScore | None]


class LabelsChecked(Struct, frozen=True, kw_only=True):
    """What is odd about labels.

    Attributes:
        judgments: judgments read.
        panels: retrieval panels.
        complete: those known to be complete.
        findings: what is odd.
    """

    judgments: int
    panels: int
    complete: int
    findings: tuple[Violation, ...]


class LabelsJoined(Struct, frozen=True, kw_only=True):
    """A run, scored by labels.

    Attributes:
        run_directory: the run directory.
        k: the cut-off.
        unjudged: share of the first K chunks without a label.
        metrics: by name.
        deltas: with --baseline: the metrics on both sides.
        doubts: why there is no verdict.
    """

    run_directory: Path
    k: int
    unjudged: float | None
    metrics: Mapping[str, MetricValue]
    deltas: tuple[LabelDelta, ...]
    doubts: tuple[str, ...]
