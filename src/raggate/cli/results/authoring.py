"""What the commands about questions, labels and settings tell programs, and those that write notes. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from raggate.labelling.grades import Agreement
from raggate.labels.models import LabelDelta, MetricScore, TaskAgreement, Violation
from raggate.models.scorecard import MetricValue


class QuestionAdded(Struct, frozen=True, kw_only=True):
    """A question that was added.

    Attributes:
        golden: the golden set.
        case: the question as it stands there.
        written: false with --dry-run.
    """

    golden: Path
    case: dict[str, Any]
    written: bool


class Undecided(Struct, frozen=True, kw_only=True):
    """A question without a clear answer.

    Attributes:
        place: where it stands.
        reason: why it was not taken.
    """

    place: str
    reason: str


class QuestionsImported(Struct, frozen=True, kw_only=True):
    """Questions that were taken from a file.

    Attributes:
        format: the format of FILE.
        golden: the golden set.
        added: ids.
        known: how many were there already.
        undecided: the questions without a clear answer.
        written: false with --dry-run.
    """

    format: str
    golden: Path
    added: tuple[str, ...]
    known: int
    undecided: tuple[Undecided, ...]
    written: bool


class WaitingProposal(Struct, frozen=True, kw_only=True):
    """A proposed question.

    Attributes:
        id: its id.
        question: what it asks.
        answer: what the notes say to it.
        source: the passage that it is made of.
    """

    id: str
    question: str
    answer: str
    source: str


class QuestionsProposed(Struct, frozen=True, kw_only=True):
    """Proposed questions, and what was decided about them.

    Attributes:
        accepted: ids taken over.
        rejected: ids dropped.
        waiting: those to decide on.
        proposals: the file they wait in.
    """

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    waiting: tuple[WaitingProposal, ...]
    proposals: Path


class Labelled(Struct, frozen=True, kw_only=True):
    """How far labelling came.

    Attributes:
        golden: the golden set.
        open: passages that the person has not judged.
        unwritten: files that say less than was decided.
    """

    golden: str
    open: int
    unwritten: tuple[str, ...]


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


class LabelReport(Struct, frozen=True, kw_only=True):
    """A stored report of scores.

    Attributes:
        file: the file.
        task: the task.
        queries: queries scored.
        metrics: metric: value and interval, or null; one query has no bootstrap interval.
    """

    file: Path
    task: str
    queries: int
    metrics: Mapping[str, MetricScore | None]


class LabelReportsShown(Struct, frozen=True, kw_only=True):
    """Stored reports of scores.

    Attributes:
        reports: each of them.
    """

    reports: tuple[LabelReport, ...]


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


class Comment(Struct, frozen=True, kw_only=True):
    """A comment of a pull request.

    Attributes:
        pull_request: its number.
        exit_code: what the gate decided, as an exit code.
        url: where it is; null where none was written.
    """

    pull_request: int
    exit_code: int
    url: str | None


class Commented(Struct, frozen=True, kw_only=True):
    """The comments that were written.

    Attributes:
        comments: each of them.
    """

    comments: tuple[Comment, ...]
