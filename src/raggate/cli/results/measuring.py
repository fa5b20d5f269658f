"""What the commands that ask an API tell programs. Frozen; a verdict is `raggate.models.public_verdict.Verdict`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from raggate.models.answer import VerdictKind
from raggate.models.public_verdict import DiffDocument, Verdict
from raggate.models.run import Failure
from raggate.models.shards import PlannedBy, ShardCounts
from raggate.models.smoke_test import FilledField


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


class Planned(Struct, frozen=True, kw_only=True):
    """Which shard asks which questions.

    Attributes:
        plan: the file.
        hash: its hash.
        by: how the questions were dealt.
        shards: how many questions each shard has.
    """

    plan: Path
    hash: str
    by: PlannedBy
    shards: tuple[int, ...]


class ShardAsked(Struct, frozen=True, kw_only=True):
    """One shard of a run, with --plan.

    Attributes:
        shard_directory: its directory.
        plan: the hash of the plan.
        shard: which, from 1.
        of: how many there are.
        attempt: which attempt, from 1.
        counts: what became of its questions.
    """

    shard_directory: Path
    plan: str
    shard: int
    of: int
    attempt: int
    counts: ShardCounts


class Compared(DiffDocument, frozen=True, kw_only=True):
    """Two builds, one held against the other: what diff.json holds, and where it is.

    Attributes:
        run_directory: the folder with the reports, in the run directory of HEAD.
    """

    run_directory: Path


class Outcome(Struct, frozen=True, kw_only=True):
    """How a check ended.

    Attributes:
        outcome: its verdict.
        exit_code: its exit code.
    """

    outcome: VerdictKind
    exit_code: int


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
    good: Outcome
    broken: Outcome


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
