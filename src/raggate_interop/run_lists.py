"""A run directory -> the run, where it asked all of its questions, and its results of one retrieval mode."""

from __future__ import annotations

from pathlib import Path

from raggate.errors import CannotTell, UsageError
from raggate.models.run import LabelledResult, Run
from raggate.pipeline import run_directory
from raggate.text.quote import cut, quoted


def whole(directory: Path) -> Run:
    """Read a run that asked all of its questions: what other tools read has no place to say that it is a part.

    Raises:
        UsageError: when the directory cannot be read.
        CannotTell: for a run that did not.
    """
    run = run_directory.read(directory)
    if run.shortfall:
        raise CannotTell(f"{directory}: not a whole run: {cut(run.shortfall)}", hint="Ask all questions first.")
    return run


def results(directory: Path, mode: str | None = None) -> tuple[LabelledResult, ...]:
    """Return the results of a run in one mode.

    Args:
        mode: the retrieval mode; None when the run has only one.

    Raises:
        UsageError: when the directory cannot be read, or the mode is not there or not given.
        CannotTell: for a run that did not ask all of its questions.
    """
    run = whole(directory)
    modes = tuple(dict.fromkeys(item.result.mode for item in run.results))
    if mode is None and len(modes) > 1:
        raise UsageError(f"{directory}: the run has the modes {cut(', '.join(modes))}", hint="Choose one with --mode.")
    if mode is not None and mode not in modes:
        raise UsageError(f"{directory}: no mode {quoted(mode)} here, but {cut(', '.join(modes))}")
    return tuple(item for item in run.results if mode in {None, item.result.mode})


def only_mode(run: Run, wanted: str | None) -> str:
    """Return the mode that `--mode` names, or the only one of the run where it names none.

    Raises:
        UsageError: when the run has several modes and none is named, or not the one that is.
    """
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    mode = modes[0] if wanted is None and len(modes) == 1 else wanted
    if mode is None or mode not in modes:
        raise UsageError(f"--mode: the run has the modes {', '.join(modes) or 'none'}", hint="Choose one of them.")
    return mode
