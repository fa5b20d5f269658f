"""What the commands about questions, labels and settings tell programs, and those that write notes. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raggate.labelling.grades import Agreement
from raggate.labels.models import LabelDelta, MetricScore, TaskAgreement, Violation
from raggate.models.scorecard import MetricValue


@dataclass(frozen=True, kw_only=True)
class QuestionAdded:
    """A question that was added.

    Attributes:
        golden: the golden set.
        case: the question as it stands there.
        written: false with --dry-run.
    """

    golden: Path
    case: dict[str, Any]
    written: bool


@dataclass(frozen=True, kw_only=True)
class Undecided:
    """A question without a clear answer.

    Attributes:
        place: where it stands.
        reason: why it was not taken.
    """

    place: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class QuestionsImported:
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


@dataclass(frozen=True, kw_only=True)
class WaitingProposal:
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


@dataclass(frozen=True, kw_only=True)
class QuestionsProposed:
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


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """How far labelling came.

    Attributes:
        golden: the golden set.
        open: passages that the person has not judged.
        unwritten: files that say less than was decided.
    """

    golden: str
    open: int
    unwritten: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GradedAgreement:
    """How far people agree whose grades `raggate label` has written.

    Attributes:
        file: the file.
        agreement: on whether a passage answers, and of each two of them on its grade.
    """

    file: Path
    agreement: Agreement


@dataclass(frozen=True, kw_only=True)
class AgreementShown:
    """How far annotators agree.

    Attributes:
        tasks: each task with labels.
        graded: each file of `raggate label`.
    """

    tasks: tuple[TaskAgreement, ...]
    graded: tuple[GradedAgreement, ...]


@dataclass(frozen=True, kw_only=True)
class LabelsScored:
    """Metrics of labels.

    Attributes:
        task: the task.
        k: the cut-off; null if it is inferred.
        queries: queries scored.
        metrics: metric: value and interval, or null.
    """

    task: str
    k: int | None
    queries: int
    metrics: Mapping[str, MetricScore | None]


@dataclass(frozen=True, kw_only=True)
class LabelReport:
    """A stored report of scores.

    Attributes:
        file: the file.
        task: the task.
        queries: queries scored.
        metrics: metric: value and interval, or null.
    """

    file: Path
    task: str
    queries: int
    metrics: Mapping[str, MetricScore | None]


@dataclass(frozen=True, kw_only=True)
class LabelReportsShown:
    """Stored reports of scores.

    Attributes:
        reports: each of them.
    """

    reports: tuple[LabelReport, ...]


@dataclass(frozen=True, kw_only=True)
class LabelsChecked:
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


@dataclass(frozen=True, kw_only=True)
class LabelsJoined:
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


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment of a pull request.

    Attributes:
        pull_request: its number.
        exit_code: what the gate decided, as an exit code.
        url: where it is; null where none was written.
    """

    pull_request: int
    exit_code: int
    url: str | None


@dataclass(frozen=True, kw_only=True)
class Commented:
    """The comments that were written.

    Attributes:
        comments: each of them.
    """

    comments: tuple[Comment, ...]


@dataclass(frozen=True, kw_only=True)
class NoteWritten:
    """A note of a merge request.

    Attributes:
        note: the note.
        new: whether there was none before.
        merge_request: its number.
        report: whether REPORT was there.
    """

    note: int
    new: bool
    merge_request: str
    report: bool
