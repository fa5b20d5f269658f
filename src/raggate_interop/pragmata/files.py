"""Where label commands read and write: label files and run directories in, judgments, result lists and reports out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raggate.errors import UsageError
from raggate.labels.intervals import Sampling
from raggate.labels.models import LabelScores, RetrievalJudgment, ScoreReport, ScoreSource, Sheet, Task, TaskAgreement
from raggate.models.run import LabelledResult
from raggate.text.anchors import fold
from raggate.text.files import read_file, write_file
from raggate.text.jsonio import parse_object
from raggate.text.quote import cut, quoted
from raggate_interop import run_lists
from raggate_interop.pragmata import agreement_files, score_files
from raggate_interop.pragmata.sheets import META, read_sheet

EXPORTS = Path("annotation", "exports")
"""Where the annotation tool keeps its exports, below its base directory."""

_EXPORT = "annotation_export.meta.json"
"""Stands beside the files of an annotation export, and tells its `export_id`."""


def read_sheets(paths: Sequence[Path], task: Task | None = None) -> tuple[Sheet, ...]:
    """Read label files, and the CSV files of directories.

    Args:
        paths: files and directories; files that describe an export are skipped. A name that is neither is that of an
            export in `annotation/exports` here.
        task: what files must be about; in directories, files about something else are skipped.

    Raises:
        UsageError: when a file cannot be read, is not as it should be, or nothing is left.
    """
    sheets = []
    for path in map(_exported, paths):
        if path.is_dir():
            read = [read_sheet(read_file(file), str(file)) for file in sorted(path.glob("*.csv"))]
            sheets += [sheet for sheet in read if task in {None, sheet.task}]
        elif not path.name.endswith(META):
            sheets.append(read_sheet(read_file(path), str(path), task=task))
    if not sheets:
        raise UsageError(
            f"no label files{' about ' + task if task else ''} among what was given",
            hint="Name CSV files of an annotation export, or the directory they are in.",
        )
    return tuple(sheets)


def result_lists(
    directory: Path, judgments: Sequence[RetrievalJudgment], mode: str | None = None
) -> dict[str, tuple[str, ...] | None]:
    """Return what a run retrieved, as chunk ids per query; None for a call that failed.

    A case is named by its id where that is a record of the judgments, else by its question.

    Args:
        mode: the retrieval mode; None when the run has only one.

    Raises:
        UsageError: when the directory cannot be read, the mode is not there or not given, or a question is asked twice.
        CannotTell: for a run that did not ask all of its questions.
    """
    records = {judgment.record for judgment in judgments}
    lists: dict[str, tuple[str, ...] | None] = {}
    for item in run_lists.results(directory, mode):
        key = item.case.id if item.case.id in records else fold(item.case.question)
        if key in lists:
            raise UsageError(
                f"{directory}: {quoted(key)} is asked twice, so its labels are ambiguous",
                hint="Name the cases by the record_uuid of their labels.",
            )
        lists[key] = _chunks(item)
    return lists


def write_report(scores: LabelScores, sheets: Sequence[Sheet], directory: Path, *, created_at: str) -> Path:
    """Write `{task}_scores.json` into a directory and give its path.

    Args:
        created_at: ISO 8601.

    Raises:
        UsageError: when it cannot be written.
    """
    paths = [Path(sheet.name) for sheet in sheets]
    export = export_id(sheets)
    named = ", ".join(path.as_posix() for path in paths)
    source = ScoreSource(
        kind="direct_path" if export is None else "annotation_export",
        ref=named if export is None else export,
        resolved_path=named,
    )
    report = ScoreReport(
        task=scores.task,
        source=source,
        created_at=created_at,
        n_examples=scores.n_examples,
        level=scores.level,
        metrics=scores.metrics,
        top_k=scores.top_k,
        notes="" if scores.k is None else f"K fixed at {scores.k}; ranks without a label count as irrelevant",
    )
    return _written(directory / score_files.file_name(scores.task), score_files.write_scores(report))


def write_agreement(
    tasks: Sequence[TaskAgreement],
    sheets: Sequence[Sheet],
    directory: Path,
    *,
    created_at: str,
    sampling: Sampling,
) -> Path:
    """Write `report.json` of how far annotators agree into a directory and give its path.

    Args:
        created_at: ISO 8601.

    Raises:
        UsageError: when it cannot be written.
    """
    export = export_id(sheets) or ", ".join(Path(sheet.name).as_posix() for sheet in sheets)
    report = agreement_files.write_agreement(tasks, export_id=export, created_at=created_at, sampling=sampling)
    return _written(directory / agreement_files.FILE_NAME, report)


def export_id(sheets: Sequence[Sheet]) -> str | None:
    """Return the export that files are of, as it names itself; None when they are not of one export.

    Raises:
        UsageError: when what describes the export cannot be read.
    """
    homes = {Path(sheet.name).parent for sheet in sheets}
    meta = next(iter(homes)) / _EXPORT
    if len(homes) != 1 or not meta.is_file():
        return None
    name = parse_object(read_file(meta), cut(meta)).get("export_id")
    return name if isinstance(name, str) and name else meta.resolve().parent.name


def _exported(path: Path) -> Path:
    """Return the directory of an export that is named by its id alone."""
    directory = EXPORTS / path
    return directory if len(path.parts) == 1 and not path.exists() and directory.is_dir() else path


def _written(target: Path, data: bytes) -> Path:
    write_file(target, data)
    return target


def read_report(path: Path) -> ScoreReport:
    """Read a stored score report.

    Raises:
        UsageError: naming file and key of the first thing that is not as it should be.
    """
    return score_files.read_scores(read_file(path), str(path))


def _chunks(item: LabelledResult) -> tuple[str, ...] | None:
    response = item.result.response
    return None if response is None else tuple(chunk.chunk_id for chunk in response.chunks)
