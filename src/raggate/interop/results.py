"""What the commands for other systems tell programs with `--json`. Frozen.

The commands that print a document of another system tell that one, `SystemDocument`, whose keys are that system's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raggate.interop.golden_rows import Note
from raggate.interop.helloworld.compare import RunComparison
from raggate.interop.kebab.sqlite import RunLine
from raggate.interop.substrate.gate import Row

SystemDocument = dict[str, Any]
"""The document that the command prints by itself with its own `--json`."""


@dataclass(frozen=True, kw_only=True)
class Converted:
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


@dataclass(frozen=True, kw_only=True)
class ListsExported:
    """The result lists of a run in a file.

    Attributes:
        file: the file.
        lists: lists in it.
        failed: failed calls, which are not.
        empty: empty lists, which are not.
    """

    file: Path
    lists: int
    failed: int
    empty: int


@dataclass(frozen=True, kw_only=True)
class CorpusExported:
    """A corpus in a file.

    Attributes:
        file: the file.
        documents: documents in it.
    """

    file: Path
    documents: int


@dataclass(frozen=True, kw_only=True)
class RunImported:
    """A run of another system as one of raggate.

    Attributes:
        run_directory: the run directory.
        questions: questions of the run.
    """

    run_directory: Path
    questions: int


@dataclass(frozen=True, kw_only=True)
class HelloworldExported:
    """A run as one of helloworld.

    Attributes:
        run_directory: the run directory.
        rows: rows.
        failed: failed calls without one.
    """

    run_directory: Path
    rows: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class Redacted:
    """A run without its texts.

    Attributes:
        run_directory: the run directory.
        rows: rows.
    """

    run_directory: Path
    rows: int


@dataclass(frozen=True, kw_only=True)
class HelloworldCompared:
    """Two runs of helloworld.

    Attributes:
        comparison: invariants, settings, means, questions that flipped.
    """

    comparison: RunComparison


@dataclass(frozen=True, kw_only=True)
class KebabExported:
    """A run as rows of kebab.

    Attributes:
        file: the file.
        rows: rows.
        failed: failed calls among them.
    """

    file: Path
    rows: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class KebabRuns:
    """The runs of kebab.

    Attributes:
        runs: the runs, oldest first.
    """

    runs: tuple[RunLine, ...]


@dataclass(frozen=True, kw_only=True)
class SubstrateScored:
    """Results, scored as substrate does.

    Attributes:
        metrics: by mode, bucket and metric.
    """

    metrics: Mapping[str, Mapping[str, Mapping[str, float | None]]]


@dataclass(frozen=True, kw_only=True)
class SubstrateCompared:
    """Two metrics files of substrate.

    Attributes:
        rows: the metrics on both sides.
        vanished: what the baseline has and METRICS has not.
        fewer: buckets with fewer queries.
        new: what METRICS alone has.
        limits: limits that are broken.
    """

    rows: tuple[Row, ...]
    vanished: tuple[str, ...]
    fewer: tuple[str, ...]
    new: tuple[str, ...]
    limits: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SubstrateBaseline:
    """A metrics file that was kept as a baseline.

    Attributes:
        baseline: the file.
        key: its key.
        written: false if it was the same already.
    """

    baseline: Path
    key: str
    written: bool


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The lines of a file.

    Attributes:
        file: the file, with --out.
        lines: the lines as objects, without --out.
    """

    file: Path | None
    lines: tuple[dict[str, Any], ...] | None
