"""What the commands on stored runs and baselines tell programs. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from raggate.cli.results.measured import Part
from raggate.models.baseline import RatchetEntry
from raggate.models.scorecard import Direction


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
        counts: questions by mode.
        values: by mode, slice and metric.
        accepted: by mode and metric, the best accepted value and what lowered it.
    """

    source: str
    suite: str
    run_id: str
    age_days: float | None
    provenance: Mapping[str, Any]
    counts: Mapping[str, int | None]
    values: Mapping[str, Mapping[str, Mapping[str, BaselineValue]]]
    accepted: Mapping[str, Mapping[str, RatchetEntry]]


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
