"""git as a reader of a repository that nobody has to trust: arguments in, the finished process out."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

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


def run(
    root: Path, *arguments: str, purpose: str, stdin: bytes = b"", index: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of git that only reads.

    Args:
        root: directory in the repository.
        arguments: the command and its arguments; paths are taken literally.
        purpose: completes "git is not installed, and …".
        stdin: what the command reads.
        index: an index to use and change in place of the repository's own.

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
        return _finished(command, root, stdin, {} if index is None else {"GIT_INDEX_FILE": str(index)})
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"no directory {plain(root.name or str(root))}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took longer than {TIMEOUT_S} s") from None


def differences(root: Path, *options: str, purpose: str) -> subprocess.CompletedProcess[bytes]:
    """Run `git diff` with the working tree; options and errors as in `run`.

    It works on a copy of the index: it would write what it learned of touched files into the repository's own, as
    whoever raggate runs as, and told not to (`diff.autoRefreshIndex`) it would name them as changed.
    """
    place = run(root, "rev-parse", "--git-path", "index", purpose=purpose).stdout.removesuffix(b"\n")
    with tempfile.TemporaryDirectory(prefix="raggate-") as scratch:
        index = Path(scratch).resolve() / "index"
        # with its time, by which git knows the files that were changed right after it was written
        with contextlib.suppress(OSError):
            shutil.copy2(root / os.fsdecode(place), index)
        return run(root, "diff", *options, purpose=purpose, index=index)


def _disarmed(program: str, root: Path, safe: tuple[str, ...]) -> tuple[str, ...]:
    """Switch off the filters that the repository's settings name: comparing would run them."""
    names = _finished([program, *safe, "config", "--name-only", "-z", "--get-regexp", r"^filter\."], root).stdout
    drivers = {name.split(".", 1)[1].rpartition(".")[0] for name in names.decode(errors="replace").split("\0") if name}
    values = ("clean=", "smudge=", "process=", "required=false")
    return tuple(word for driver in sorted(drivers) for value in values for word in ("-c", f"filter.{driver}.{value}"))


def _finished(
    command: list[str], root: Path, stdin: bytes = b"", more: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[bytes]:
    environment = {**_ENVIRONMENT, **more}
    return subprocess.run(
        command, cwd=root, env=environment, input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
    )


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Give what git wrote about a failure, as one harmless line; empty when it wrote nothing."""
    return plain(done.stderr.decode(errors="replace"))
