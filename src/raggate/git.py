"""git as a reader of a repository that nobody has to trust: arguments in, the finished process out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from raggate.errors import UsageError
from raggate.escape import plain

TIMEOUT_S = 60
_TRANSPORTS = ("ext", "file", "git", "http", "https", "ssh")
# nothing of raggate's own surroundings: neither a token nor a home directory that others have written to
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def run(root: Path, *arguments: str, purpose: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of git that only reads.

    Args:
        root: directory in the repository.
        arguments: the command and its arguments; paths are taken literally.
        purpose: completes "git is not installed, and …".

    Raises:
        UsageError: without git or the directory, or when it takes longer than `TIMEOUT_S`.
    """
    # a checkout made by another user is the normal case in a container; the command only reads
    # and must run nothing that a step before this one may have put into the repository's own settings:
    # in a partial clone even reading would fetch, by a command of the repository's choice
    settings = ("safe.directory=*", "core.quotePath=false", "core.fsmonitor=false", "core.hooksPath=/dev/null")
    closed = ("protocol.allow=never", *(f"protocol.{name}.allow=never" for name in _TRANSPORTS))
    safe = tuple(word for setting in (*settings, *closed) for word in ("-c", setting))
    program = shutil.which("git")
    if program is None:
        raise UsageError(f"git is not installed, and {purpose}")
    try:
        disarmed = _disarmed(program, root, safe)
        command = [program, *safe, *disarmed, "--no-replace-objects", "--literal-pathspecs", *arguments]
        return _finished(command, root)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"no directory {plain(str(root))}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took longer than {TIMEOUT_S} s") from None


def _disarmed(program: str, root: Path, safe: tuple[str, ...]) -> tuple[str, ...]:
    """Switch off the filters that the repository's settings name: comparing and archiving would run them."""
    names = _finished([program, *safe, "config", "--name-only", "-z", "--get-regexp", r"^filter\."], root).stdout
    drivers = {name.split(".", 1)[1].rpartition(".")[0] for name in names.decode(errors="replace").split("\0") if name}
    values = ("clean=", "smudge=", "process=", "required=false")
    return tuple(word for driver in sorted(drivers) for value in values for word in ("-c", f"filter.{driver}.{value}"))


def _finished(command: list[str], root: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=root, env=_ENVIRONMENT, capture_output=True, timeout=TIMEOUT_S, check=False)


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Give what git wrote about a failure, as one harmless line; empty when it wrote nothing."""
    return plain(done.stderr.decode(errors="replace"))
