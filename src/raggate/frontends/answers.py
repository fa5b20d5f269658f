"""What each command prints with `--json`: the types that the schema and the documentation are made of. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from raggate.models.answer import VerdictKind
from raggate.models.public_verdict import DiffDocument, Verdict
from raggate.models.run import Failure
from raggate.models.scorecard import Direction
from raggate.models.smoke_test import FilledField


class Part(Struct, frozen=True, kw_only=True):
    """How much of the golden set a partial run was to ask."""

    asked: int
    of: int


class Measured(Struct, frozen=True, kw_only=True):
    """A run that was measured.

    Attributes:
        cases: questions with a result in some mode.
        results: answers and failures, one for each question in each mode.
        failed: those without an answer.
        partial: which part of the golden set was asked; null for all of it.
        resumed: how often it was killed or interrupted, and went on.
    """

    run_directory: Path
    run_id: str
    suite: str
    cases: int
    results: int
    failed: int
    partial: Part | None
    resumed: int


class Calibrated(Measured, frozen=True, kw_only=True):
    """A run whose questions were asked several times.

    Attributes:
        noise: what equal runs differ by, by mode and metric.
    """

    noise: dict[str, Any] | None


class Merged(Measured, frozen=True, kw_only=True):
    """A run that was merged of shards.

    Attributes:
        left_out: attempts that broke off and were replaced by others.
    """

    shards: int
    left_out: tuple[str, ...]


class SuiteChecked(Struct, frozen=True, kw_only=True):
    """One suite of several.

    Attributes:
        suite: its name; its configuration where that gives none.
        verdict: the verdict, or the label of what came instead, such as `usage error`.
        headline: one sentence of why.
        run_directory: its run directory; null where nothing was started.
        result: its verdict as of a suite alone; null where there is none.
    """

    suite: str
    config: str
    verdict: str
    exit_code: int
    headline: str
    run_directory: Path | None
    result: Verdict | None


class SuitesChecked(Struct, frozen=True, kw_only=True):
    """Several suites, each with its own verdict."""

    verdict: str
    suites: tuple[SuiteChecked, ...]


class ShardAsked(Struct, frozen=True, kw_only=True):
    """One shard of a run."""

    shard_directory: Path
    shard: int
    of: int
    answered: int
    failed: int


class Compared(DiffDocument, frozen=True, kw_only=True):
    """Two builds, one held against the other: what diff.json holds, and where it is."""

    run_directory: Path


class Demonstrated(Struct, frozen=True, kw_only=True):
    """What the demo showed."""

    directory: Path | None
    questions: int
    good: VerdictKind
    broken: VerdictKind


class Probed(Struct, frozen=True, kw_only=True):
    """One question, asked to try the API out.

    Attributes:
        rank: where the first gold passage stands.
        failure: why there is no answer.
    """

    case_id: str
    question: str
    chunks: int
    rank: int | None
    fields: tuple[FilledField, ...]
    failure: Failure | None
    unknown: tuple[str, ...]
    broken: tuple[str, ...]
    hints: tuple[str, ...]


class Proved(Struct, frozen=True, kw_only=True):
    """Which faults the gate caught."""

    directory: Path
    proof: dict[str, Any]


class Initialised(Struct, frozen=True, kw_only=True):
    """What was set up."""

    written: tuple[Path, ...]


class MetricRow(Struct, frozen=True, kw_only=True):
    """A metric of one mode, over all questions.

    Attributes:
        metric: its name, such as `hit_at_5`.
        value: the mean; null where it applies to no question.
        n: over how many questions it is.
        direction: whether higher or lower values are better.
    """

    mode: str
    metric: str
    value: float | None
    n: int
    unscored: int
    direction: Direction


class Judged(Struct, frozen=True, kw_only=True):
    """A run whose answers were judged."""

    run_directory: Path
    metrics: tuple[MetricRow, ...]


class StoredRunRow(Struct, frozen=True, kw_only=True):
    """A run directory.

    Attributes:
        started: when it began, UTC, ISO 8601.
        verdict: its verdict; null without one.
        partial: which part of the golden set was asked; null for all of it.
        stopped: whether it ended before all questions were asked.
        command: the command that made it; null where that is not known.
        build: the build it is of, such as `revision main`; null for the API of the configuration.
        bytes: bytes of its files.
        committed: whether git tracks it, so that it is never taken as the newest; null where git cannot say it.
    """

    id: str
    started: str
    suite: str
    verdict: str | None
    partial: Part | None
    stopped: bool
    command: str | None
    build: str | None
    bytes: int
    committed: bool | None


class RunList(Struct, frozen=True, kw_only=True):
    """The run directories.

    Attributes:
        runs: the runs, the newest first.
    """

    out: Path
    runs: tuple[StoredRunRow, ...]


class RunsPruned(Struct, frozen=True, kw_only=True):
    """Which run directories were deleted.

    Attributes:
        written: false with --dry-run.
    """

    out: Path
    deleted: tuple[str, ...]
    left: int
    written: bool


class Promoted(Struct, frozen=True, kw_only=True):
    """The baseline that a run became.

    Attributes:
        written: false with --dry-run.
    """

    baseline: Path
    suite: str
    run_id: str
    cases: int
    written: bool


class SuitePromoted(Struct, frozen=True, kw_only=True):
    """One suite of several.

    Attributes:
        suite: its name; its configuration where that gives none.
        exit_code: 0 where it passed its checks; otherwise that of the reason why it cannot be promoted.
        result: the baseline that its run became, or would; null where it cannot be promoted.
    """

    suite: str
    config: str
    exit_code: int
    result: Promoted | None


class SuitesPromoted(Struct, frozen=True, kw_only=True):
    """Several suites, whose runs became their baselines all together or not at all.

    Attributes:
        written: whether the baselines were written: false with --dry-run, and where a suite cannot be promoted.
    """

    written: bool
    suites: tuple[SuitePromoted, ...]


class BaselineValue(Struct, frozen=True, kw_only=True):
    """A mean of a baseline.

    Attributes:
        value: the mean; null where it applies to no question.
        n: over how many questions it is.
    """

    value: float | None
    n: int


class BaselineShown(Struct, frozen=True, kw_only=True):
    """What a baseline says."""

    source: str
    suite: str
    run_id: str
    age_days: float | None
    provenance: Mapping[str, Any]


class BaselineVersion(Struct, frozen=True, kw_only=True):
    """A version of a baseline file in git. Texts in it are those of its commit.

    Attributes:
        problem: why it cannot be read; null where it can.
        measured: when that began, as the file says.
        other_questions: whether it asks other questions than the version before.
        values: by mode and metric, over all questions.
    """

    commit: str
    date: str | None
    subject: str
    path: str
    problem: str | None
    run_id: str | None
    measured: Any
    promoted_by: Any
    reason: Any
    cases: int | None
    other_questions: bool
    values: Mapping[str, Mapping[str, BaselineValue]]


class BaselineLog(Struct, frozen=True, kw_only=True):
    """The history of a baseline.

    Attributes:
        more: whether there are older versions.
        shallow: whether the clone hides some.
        revisions: every version with its values, newest first.
    """

    path: str
    more: bool
    shallow: bool
    revisions: tuple[BaselineVersion, ...]


class QuestionAdded(Struct, frozen=True, kw_only=True):
    """A question that was added."""

    golden: Path
    case: dict[str, Any]


class Undecided(Struct, frozen=True, kw_only=True):
    """A question without a clear answer.

    Attributes:
        reason: why it was not taken.
    """

    place: str
    reason: str


class QuestionsImported(Struct, frozen=True, kw_only=True):
    """Questions that were taken from a file."""

    format: str
    golden: Path
    added: tuple[str, ...]
    known: int
    undecided: tuple[Undecided, ...]


class WaitingProposal(Struct, frozen=True, kw_only=True):
    """A proposed question."""

    id: str
    question: str
    answer: str
    source: str


class QuestionsProposed(Struct, frozen=True, kw_only=True):
    """Proposed questions, and what was decided about them."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    waiting: tuple[WaitingProposal, ...]
    proposals: Path


class Labelled(Struct, frozen=True, kw_only=True):
    """How far labelling came.

    Attributes:
        open: passages that the person has not judged.
        unwritten: files that say less than was decided.
    """

    golden: str
    open: int
    unwritten: tuple[str, ...]
