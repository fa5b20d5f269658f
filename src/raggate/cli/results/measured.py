"""What the commands that measure a run tell programs, apart from verdicts. Frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct


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
