"""The command line that makes a run the baseline of its suite, where no request says which configuration it is of."""

from __future__ import annotations

import shlex
from pathlib import Path

from raggate.inputs import suite_names
from raggate.pipeline.request import USUAL


def promote_command_line(directory: str, suite: str, policy: Path | None) -> str:
    """Write it for a run directory, with the configuration of its suite.

    Args:
        directory: the run directory.
        suite: the suite of the run.
        policy: the configuration that the run was compared by; None for its own.
    """
    command = f"raggate promote {shlex.quote(directory)}"
    usual = _suite_of(Path(USUAL))
    if policy is None and usual in {None, suite}:
        # without a configuration, the run's own is used
        return command
    files = [path for path in sorted(Path().glob("*.y*ml")) if _suite_of(path) == suite]
    file = policy or (files[0] if len(files) == 1 else None)
    if file is None:
        return f"{command} --config FILE, with the configuration of suite {suite}"
    return command if file == Path(USUAL) else f"{command} --config {shlex.quote(str(file))}"


def _suite_of(path: Path) -> str | None:
    return suite_names.find(path.absolute().parent, path.name, against=None, remote=None) if path.is_file() else None
