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
    """How much of the golden set a partial run was to ask.

    Attributes:
        asked: how many questions.
        of: how many the golden set has.
    """

    asked: int
    of: int


class Measured(Struct, frozen=True, kw_only=True):
    """A run that was measured.

    Attributes:
        run_directory: the run directory.
        run_id: the run's name.
        suite: the suite.
        cases: questions with a result in some mode.
        results: answers and failures, one for each question in each mode.
        questions: the same number as `results`, for one release more.
        failed: those without an answer.
        partial: which part of the golden set was asked; null for all of it.
        resumed: how often it was killed or interrupted, and went on.
    """

    run_directory: Path
    run_id: str
    suite: str
    cases: int
    results: int
    questions: int
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
        shards: how many.
        left_out: attempts that broke off, in place of which others were merged.
    """

    shards: int
    left_out: tuple[str, ...]


class SuiteChecked(Struct, frozen=True, kw_only=True):
    """One suite of several.

    Attributes:
        suite: its name; its configuration where that gives none.
        config: its configuration.
        verdict: the verdict, or the label of what came instead, such as `usage error`.
        exit_code: its exit code.
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
    """Several suites, each with its own verdict.

    Attributes:
        verdict: that of the worst of them.
        suites: each of them, in the order they were asked.
    """

    verdict: str
    suites: tuple[SuiteChecked, ...]


class ShardAsked(Struct, frozen=True, kw_only=True):
    """One shard of a run.

    Attributes:
        shard_directory: its directory.
        shard: which, from 1.
        of: how many there are.
        answered: calls that were answered.
        failed: calls that failed.
    """

    shard_directory: Path
    shard: int
    of: int
    answered: int
    failed: int


class Compared(DiffDocument, frozen=True, kw_only=True):
    """Two builds, one held against the other: what diff.json holds, and where it is.

    Attributes:
        run_directory: the folder with the reports, in the run directory of HEAD.
    """

    run_directory: Path


class Demonstrated(Struct, frozen=True, kw_only=True):
    """What the demo showed.

    Attributes:
        directory: the files of the demo, with --keep.
        questions: questions asked.
        good: the verdict on the good change.
        broken: the verdict on the broken one.
    """

    directory: Path | None
    questions: int
    good: VerdictKind
    broken: VerdictKind


class Probed(Struct, frozen=True, kw_only=True):
    """One question, asked to try the API out.

    Attributes:
        case_id: the question's id.
        question: what was asked.
        chunks: chunks in the answer.
        rank: where the first gold passage stands.
        fields: what the answer filled.
        failure: why there is no answer.
        unknown: what keeps it from being judged.
        broken: what would break the gate.
        hints: what is worth knowing besides.
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
    """Which faults the gate caught.

    Attributes:
        directory: where the reports are.
        proof: what proof.json holds.
    """

    directory: Path
    proof: dict[str, Any]


class Initialised(Struct, frozen=True, kw_only=True):
    """What was set up.

    Attributes:
        written: the files.
    """

    written: tuple[Path, ...]


class MetricRow(Struct, frozen=True, kw_only=True):
    """A metric of one mode, over all questions.

    Attributes:
        mode: the retrieval mode.
        metric: its name, such as `hit_at_5`.
        value: the mean; null where it applies to no question.
        n: over how many questions it is.
        unscored: to how many it does not apply.
        direction: whether higher or lower values are better.
    """

    mode: str
    metric: str
    value: float | None
    n: int
    unscored: int
    direction: Direction


class Judged(Struct, frozen=True, kw_only=True):
    """A run whose answers were judged.

    Attributes:
        run_directory: the run directory.
        metrics: the judged metrics.
    """

    run_directory: Path
    metrics: tuple[MetricRow, ...]


class StoredRunRow(Struct, frozen=True, kw_only=True):
    """A run directory.

    Attributes:
        id: the run's name.
        started: when it began, UTC, ISO 8601.
        suite: the suite; empty where that is not known.
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
        out: where they are.
        runs: the runs, the newest first.
    """

    out: Path
    runs: tuple[StoredRunRow, ...]


class RunsPruned(Struct, frozen=True, kw_only=True):
    """Which run directories were deleted.

    Attributes:
        out: where they are.
        deleted: the names of the runs.
        left: how many are left.
        written: false with --dry-run.
    """

    out: Path
    deleted: tuple[str, ...]
    left: int
    written: bool


class Promoted(Struct, frozen=True, kw_only=True):
    """The baseline that a run became.

    Attributes:
        baseline: the baseline file.
        suite: its suite.
        run_id: the run it is made of.
        cases: its questions.
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
        config: its configuration.
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
        suites: each of them.
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
    """What a baseline says.

    Attributes:
        source: the file.
        suite: its suite.
        run_id: the run it is made of.
        age_days: days since it was measured.
        provenance: where it is from.
    """

    source: str
    suite: str
    run_id: str
    age_days: float | None
    provenance: Mapping[str, Any]


class BaselineVersion(Struct, frozen=True, kw_only=True):
    """A version of a baseline file in git. Texts in it are those of its commit.

    Attributes:
        commit: full id of the commit.
        date: when, ISO 8601.
        subject: the first line of its message.
        path: the file's path then.
        problem: why it cannot be read; null where it can.
        run_id: the run it is made of.
        measured: when that began, as the file says.
        promoted_by: who promoted it, as the file says.
        reason: why, as the file says.
        cases: its questions; null where it cannot be read.
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
        path: the file.
        more: whether there are older versions.
        shallow: whether the clone hides some.
        revisions: every version with its values, newest first.
    """

    path: str
    more: bool
    shallow: bool
    revisions: tuple[BaselineVersion, ...]


class QuestionAdded(Struct, frozen=True, kw_only=True):
    """A question that was added.

    Attributes:
        golden: the golden set.
        case: the question as it stands there.
    """

    golden: Path
    case: dict[str, Any]


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
    """

    format: str
    golden: Path
    added: tuple[str, ...]
    known: int
    undecided: tuple[Undecided, ...]


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
