"""A check whose reports also go into files that somebody names, whatever comes of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.files import read_file, special, write_file
from raggate.base.quote import quoted, suggestion
from raggate.config import schema
from raggate.config.schema import Config
from raggate.models.verdict import Review
from raggate.pipeline import check as pipeline, claimed_run
from raggate.pipeline.request import CheckResult, Request, RunFailed
from raggate.pipeline.stored_runs import is_run
from raggate.reports import FORMATS, encoded, is_report

HINT = "Name another file for the report. raggate neither removes nor replaces this one."
NOTE = ".md"
"""How files of a vault end that are notes."""

Taken = Mapping[Path, str]
"""Resolved path -> what the gate has there; below a directory, nothing that would be a note may be written."""


def taken(request: Request) -> Taken:
    """Return what a check reads on this disk, as far as the configuration there can be read."""
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
            yield root / settings.judging.canary, "the judges' canary"


def refusals(files: Iterable[Path], places: Taken) -> dict[Path, str]:
    """For each file that no report may be written to: the reason, as the end of a sentence."""
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


class Files(Struct, frozen=True):
    """The files that somebody names: file -> the name of its format, and what messages call where they stand."""

    formats: Mapping[Path, str]
    name: str = "--report"


def parsed(wanted: Sequence[str], name: str) -> Files:
    """Read `FORMAT=FILE` texts."""
    files: dict[Path, str] = {}
    for text in wanted:
        form, equals, file = text.partition("=")
        if not equals or not file.strip():
            raise UsageError(f"{name}: expected FORMAT=FILE, such as junit=rag.xml, found {quoted(text)}")
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
    """
    prefix = _prefix(request.root)
    refused = refusals(files.formats, taken(request) if files.formats else {})
    allowed = {file: form for file, form in files.formats.items() if file not in refused}
    _remove(allowed)
    try:
        if refused:
            raise RunFailed(_error(files.name, refused), suite="")
        request = replace(request, reports=tuple(f"{form}={file}" for file, form in files.formats.items()))
        result = pipeline.check(request) if stored is None else claimed_run.check_run(request, stored)
    except RunFailed as failed:
        for file, form in allowed.items():
            write_file(file, encoded(FORMATS[form].render(failed.failure, prefix)))
        raise
    write(files, result.review, prefix)
    return result


def write(files: Files, review: Review, prefix: str = "") -> None:
    """Write a verdict into these files; `prefix` stands before the paths that the configuration names."""
    for file, form in files.formats.items():
        write_file(file, encoded(FORMATS[form].render(review, prefix)))


def prepare(files: Files) -> None:
    """Remove older reports before a stored run is compared again."""
    if refused := refusals(files.formats, {}):
        raise _error(files.name, refused)
    _remove(files.formats)


def _remove(reports: Iterable[Path]) -> None:
    for file in reports:
        # whatever ends this process, no older verdict is taken for the one that is missing
        file.unlink(missing_ok=True)


def _error(name: str, refused: Mapping[Path, str]) -> UsageError:
    return UsageError([f"{name}: {quoted(file)} {reason}" for file, reason in refused.items()], hint=HINT)


def _prefix(root: Path) -> str:
    """Return what stands before the paths of a configuration in `root`, as seen from the working directory."""
    place = os.path.relpath(root, Path.cwd())
    return "" if place == "." else f"{Path(place).as_posix()}/"


def stored_prefix(review: Review, directory: Path) -> str:
    """Return what stands before the paths of a stored run whose reports lie in a directory.

    Nothing where the golden set is not at the place that the run remembers, as in an artifact that was downloaded.
    """
    root, config = directory / review.context.root, review.run.config
    placed = review.context.root and isinstance(config, Config) and (root / config.golden).is_file()
    return _prefix(root.resolve()) if placed else ""
