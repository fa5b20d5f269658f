"""The journal: decisions as they are made, appended and synced to disk before anybody is told that they are kept."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.labelling.decisions import Decision
from raggate.text.files import reading, writing
from raggate.text.jsonio import loads
from raggate.text.problems import first_problem

MAX_BYTES = 256 << 20


class Journal:
    """An append-only file of decisions that one process has open.

    A line that a kill cut off was acknowledged to nobody: it is removed when the journal is opened again.
    """

    def __init__(self, path: Path, name: str) -> None:
        """Open or make the file and read what it holds.

        Raises:
            UsageError: when another process has it open, it cannot be opened, or a line is damaged.
            CannotTell: when there is no space left.
        """
        self._name = name
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # a link could lead anywhere
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(path, flags, 0o644)
        self._path = path
        try:
            self._lock()
            self.decisions = self._read()
            _sync_folder(path.parent)
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others open it."""
        os.close(self._handle)

    def append(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions: all are on disk afterwards, or none.

        Raises:
            UsageError: when they cannot be written.
            CannotTell: when there is no space left.
        """
        data = b"".join(_line(decision) for decision in decisions)
        with writing(self._path):
            size = os.fstat(self._handle).st_size
            try:
                _write_all(self._handle, data)
                os.fsync(self._handle)
            except OSError:
                os.ftruncate(self._handle, size)
                raise
        self.decisions.extend(decisions)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{self._name}: another `raggate label` has it open",
                hint="Several people can judge on the page of one process, each by a name of their own.",
            ) from None

    def _read(self) -> list[Decision]:
        with reading(self._path):
            size = os.fstat(self._handle).st_size
            if size > MAX_BYTES:
                raise UsageError(f"{self._name}: larger than {MAX_BYTES} bytes", hint="Move it away: see docs.")
            data = os.pread(self._handle, size, 0)
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                os.ftruncate(self._handle, whole)
        lines = data[:whole].split(b"\n")[:-1]
        return [self._decision(line, number) for number, line in enumerate(lines, 1)]

    def _decision(self, line: bytes, number: int) -> Decision:
        hint = "Remove the line to go on without it; the others stay."
        try:
            return Decision.model_validate(loads(line), strict=True)
        except ValidationError as error:
            raise UsageError(f"{self._name}:{number}: {first_problem(error)}", hint=hint) from None
        except ValueError as error:
            raise UsageError(f"{self._name}:{number}: {error}", hint=hint) from None


def _line(decision: Decision) -> bytes:
    return decision.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    """Make sure that the name of a new file is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
