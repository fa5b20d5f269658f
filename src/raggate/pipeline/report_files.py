"""A check whose reports also go into files that somebody names, whatever comes of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.schema import Config
from raggate.errors import UsageError
from raggate.models.verdict import Review
from raggate.pipeline import check as pipeline, report_places, stored_check
from raggate.pipeline.request import Request
from raggate.pipeline.result import CheckResult, RunFailed
from raggate.reports import encoded
from raggate.reports.formats import FORMATS
from raggate.text.files import write_file
from raggate.text.nearest import suggestion
from raggate.text.quote import quoted


class Files(Struct, frozen=True):
    """The files that somebody names: file -> the name of its format, and what messages call where they stand."""

    formats: Mapping[Path, str]
    name: str = "--report"


def parsed(wanted: Sequence[str], name: str) -> Files:
    """Read `FORMAT=FILE` texts.

    Args:
        wanted: the texts.
        name: what messages call where they stand.

    Raises:
        UsageError: for another shape, a format that nobody knows, or a file that is named twice.
    """
    files: dict[Path, str] = {}
    for text in wanted:
        form, equals, file = text.partition("=")
        if not equals or not file.strip():
            raise UsageError(f"{name}: expected FORMAT=FILE, such as junit=rag.xml; found {quoted(text)}")
        if form not in FORMATS:
            known = ", ".join(FORMATS)
            raise UsageError(f"{name}: no format {quoted(form)}{suggestion(form, [*FORMATS])}", hint=f"Known: {known}.")
        if os.path.realpath(file) in map(os.path.realpath, files):
            raise UsageError(f"{name}: two reports go to {quoted(file)}", hint="Name another file for one of them.")
        files[Path(file)] = form
    return Files(files, name)


def check(request: Request, files: Files, stored: Path | None = None) -> CheckResult:
    """Check, and write these files: the verdict, or why there is none. An older report never stays for a newer run.

    A run that is `stored` is judged as it is, and nothing is asked.

    Raises:
        RunFailed: as `pipeline.check`, and before anything runs, when a file may not be written; see `report_places`.
        UsageError: when a file cannot be written.
    """
    prefix = _prefix(request.root)
    refused = report_places.refusals(files.formats, report_places.taken(request) if files.formats else {})
    allowed = {file: form for file, form in files.formats.items() if file not in refused}
    _remove(allowed)
    try:
        if refused:
            raise RunFailed(_error(files.name, refused), suite="")
        request = replace(request, reports=tuple(f"{form}={file}" for file, form in files.formats.items()))
        result = pipeline.check(request) if stored is None else stored_check.check_run(request, stored)
    except RunFailed as failed:
        for file, form in allowed.items():
            write_file(file, encoded(FORMATS[form].of_failure(failed.failure, prefix)))
        raise
    write(files, result.review, prefix)
    return result


def write(files: Files, review: Review, prefix: str = "") -> None:
    """Write a verdict into these files; `prefix` stands before the paths that the configuration names.

    Raises:
        UsageError: when a file cannot be written.
    """
    for file, form in files.formats.items():
        write_file(file, encoded(FORMATS[form].of_review(review, prefix)))


def prepare(files: Files) -> None:
    """Remove older reports before a stored run is compared again.

    Raises:
        UsageError: naming each file that may not be written; none is removed then.
    """
    if refused := report_places.refusals(files.formats, {}):
        raise _error(files.name, refused)
    _remove(files.formats)


def _remove(reports: Iterable[Path]) -> None:
    for file in reports:
        # whatever ends this process, no older verdict is taken for the one that is missing
        file.unlink(missing_ok=True)


def _error(name: str, refused: Mapping[Path, str]) -> UsageError:
    return UsageError([f"{name}: {quoted(file)} {reason}" for file, reason in refused.items()], hint=report_places.HINT)


def _prefix(root: Path) -> str:
    """Give what stands before the paths of a configuration in `root`, as seen from the working directory."""
    place = os.path.relpath(root, Path.cwd())
    return "" if place == "." else f"{Path(place).as_posix()}/"


def stored_prefix(review: Review, directory: Path) -> str:
    """Give what stands before the paths of a stored run whose reports lie in a directory.

    Nothing where the golden set is not at the place that the run remembers, as in an artifact that was downloaded.
    """
    root, config = directory / review.context.root, review.run.config
    placed = review.context.root and isinstance(config, Config) and (root / config.golden).is_file()
    return _prefix(root.resolve()) if placed else ""
