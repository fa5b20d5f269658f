"""A check whose reports also go into files that somebody names, whatever comes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from raggate.errors import UsageError
from raggate.models.verdict import Review
from raggate.pipeline import check as pipeline
from raggate.pipeline.request import Request
from raggate.pipeline.result import CheckResult, RunFailed
from raggate.reports.formats import FORMATS
from raggate.text.files import write_file
from raggate.text.nearest import suggestion
from raggate.text.quote import quoted

Files = Mapping[Path, str]
"""File -> the name of its format."""


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
        if Path(file) in files:
            raise UsageError(f"{name}: two reports go to {quoted(file)}", hint="Name another file for one of them.")
        files[Path(file)] = form
    return files


def check(request: Request, files: Files) -> CheckResult:
    """Check, and write these files: the verdict, or why there is none. An older file never stays for a newer run.

    Raises:
        RunFailed: as `pipeline.check`.
        UsageError: when a file cannot be written.
    """
    prefix = _prefix(request)
    for file in files:
        # whatever ends this process, no older verdict is taken for the one that is missing
        if file.is_file():
            file.unlink()
    try:
        result = pipeline.check(request)
    except RunFailed as failed:
        for file, form in files.items():
            write_file(file, FORMATS[form].of_failure(failed.failure, prefix).encode())
        raise
    write(files, result.review, prefix)
    return result


def write(files: Files, review: Review, prefix: str = "") -> None:
    """Write a verdict into these files; `prefix` stands before the paths that the configuration names.

    Raises:
        UsageError: when a file cannot be written.
    """
    for file, form in files.items():
        write_file(file, FORMATS[form].of_review(review, prefix).encode())


def _prefix(request: Request) -> str:
    """Give what stands before the paths of the configuration, as seen from the working directory."""
    place = os.path.relpath(request.root, Path.cwd())
    return "" if place == "." else f"{Path(place).as_posix()}/"
