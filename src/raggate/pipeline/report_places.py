"""Where a report may be written: at no place that the gate reads, and over no file but an earlier report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from raggate.config import schema
from raggate.errors import UsageError
from raggate.pipeline.request import Request
from raggate.pipeline.stored_runs import is_run
from raggate.reports.formats import is_report
from raggate.text.files import read_file, special

HINT = "Name another file for the report: what is there is neither removed nor replaced."
NOTE = ".md"
"""How files of a vault end that are notes."""

Taken = Mapping[Path, str]
"""Resolved path -> what the gate has there; below a directory, nothing that would be a note may be written."""


def taken(request: Request) -> Taken:
    """Give what a check reads on this disk, as far as the configuration there can be read."""
    return {_real(place): name for place, name in _read_by(request)}


def _read_by(request: Request) -> Iterator[tuple[Path, str]]:
    root, name = request.root, request.config_name
    yield root / name, "the configuration"
    if request.baseline_file is not None:
        yield request.baseline_file, "the baseline"
    try:
        settings = schema.load(read_file(root / name), name)
    except UsageError:
        # the check itself will say so; what is there already is kept all the same
        return
    yield root / settings.golden, "the golden set"
    yield root / settings.baseline_path, "the baseline"
    for vault, directory in settings.vault.items():
        yield root / directory, f"vault {vault!r}"
    if settings.judging is not None:
        yield root / settings.judging.cassette, "the judges' replies"
        if settings.judging.canary is not None:
            yield root / settings.judging.canary.file, "the judges' canary"


def refusals(files: Iterable[Path], places: Taken) -> dict[Path, str]:
    """Say of each file that no report may be written to why, as the end of a sentence.

    Args:
        files: where reports would be written; relative to the working directory, or absolute.
        places: what the gate has on this disk.
    """
    return {file: reason for file in files if (reason := _refusal(file, places))}


def _refusal(file: Path, places: Taken) -> str:
    try:
        if file.is_symlink():
            return "is a link"
        place = _real(file)
        return _of_the_gate(place, places) or (_present(place) if place.exists() else _unwritable(place))
    except OSError as error:
        return f"cannot be written: {error.strerror or error}"


def _real(path: Path) -> Path:
    # where links lead in a circle this gives some path, and resolve() of some Pythons an error that is no OSError
    return Path(os.path.realpath(path))


def _of_the_gate(place: Path, places: Taken) -> str:
    if place in places:
        return f"is {places[place]}"
    vault = next((places[folder] for folder in place.parents if folder in places), "")
    if vault and place.suffix == NOTE:
        return f"would be a note of {vault}"
    if ".git" in place.parts:
        return "lies in a git directory"
    run = next(filter(is_run, place.parents), None)
    return f"lies in the run directory {run.name}" if run else ""


def _present(place: Path) -> str:
    if place.is_dir():
        return "is a directory"
    if kind := special(place.stat().st_mode):
        return f"is {kind}"
    content = place.read_bytes()
    return "" if not content or is_report(content) else "exists, and is not a report of raggate"


def _unwritable(place: Path) -> str:
    above = next(folder for folder in place.parents if os.path.lexists(folder))
    if not above.is_dir():
        return f"cannot be written: {above.name} is not a directory"
    return "" if os.access(above, os.W_OK | os.X_OK) else "cannot be written: Permission denied"
