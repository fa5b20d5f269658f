"""One command run to its end: words and input in, exit code and output out; bounded in time and size, nothing left."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct

_PIECE = 1 << 16
_POLL = 0.02
_DRAIN = 0.3
MAX_ERRORS = 256 << 10
"""How much of the error output is kept, in bytes; what is more is read and dropped."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a command ended. `code` is negative for a signal; `cut` says why it was killed, if it was."""

    code: int
    out: bytes
    errors: bytes
    cut: Literal["timeout", "size", "stopped"] | None
    seconds: float


class Bounds(Struct, frozen=True, kw_only=True):
    """How long a command may take in seconds, how many bytes it may print, and what stops it from outside."""

    seconds: float
    max_bytes: int
    stop: threading.Event


def run(words: Sequence[str], given: bytes, bounds: Bounds, *, cwd: Path, environment: Mapping[str, str]) -> Ended:
    """Run a command in a process group of its own, which is killed when it ends, in whatever way.

    A process that leaves the group is for whoever opened the `ProcessGroup` around it.

    Raises:
        OSError: when it cannot be executed.
        ValueError: for words that no process can be given, such as one with a NUL.
    """
    start = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    exchange = _Exchange(process, given, bounds, start + bounds.seconds)
    try:
        cut = exchange.run()
    finally:
        # not yet collected, so that the number of the group cannot be somebody else's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        exchange.close()
    return Ended(
        code=code, out=bytes(exchange.out), errors=bytes(exchange.errors), cut=cut, seconds=time.monotonic() - start
    )


class _Exchange:
    """Feeds the input and takes the output, until the process ends or must."""

    def __init__(self, process: subprocess.Popen[bytes], given: bytes, bounds: Bounds, end: float) -> None:
        self.out = bytearray()
        self.errors = bytearray()
        self._process = process
        self._given = memoryview(given)
        self._bounds = bounds
        self._end = end
        self._streams = [stream for stream in (process.stdin, process.stdout, process.stderr) if stream]
        self._selector = selectors.DefaultSelector()
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
            writes = stream is process.stdin
            self._selector.register(stream, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)

    def run(self) -> Literal["timeout", "size", "stopped"] | None:
        ended: float | None = None
        while True:
            if self._bounds.stop.is_set():
                return "stopped"
            now = time.monotonic()
            if now >= self._end:
                return "timeout"
            if ended is None and self._has_ended():
                ended = now
            # a process it left behind may hold the pipes open for ever
            if ended is not None and (not self._readers() or now - ended > _DRAIN):
                return None
            for key, _ in self._selector.select(min(_POLL, self._end - now)) if self._selector.get_map() else ():
                self._step(key.fileobj)  # type: ignore[arg-type]
            if len(self.out) > self._bounds.max_bytes:
                return "size"
            if not self._readers():
                time.sleep(_POLL / 10)

    def close(self) -> None:
        self._selector.close()
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()

    def _readers(self) -> bool:
        return any(key.fileobj is not self._process.stdin for key in self._selector.get_map().values())

    def _step(self, stream: IO[bytes]) -> None:
        try:
            if stream is self._process.stdin:
                sent = os.write(stream.fileno(), self._given[:_PIECE]) if self._given else 0
                self._given = self._given[sent:]
                finished = not self._given
            else:
                piece = os.read(stream.fileno(), _PIECE)
                finished = not piece
                if stream is self._process.stdout:
                    self.out += piece
                else:
                    self.errors += piece[: max(MAX_ERRORS - len(self.errors), 0)]
        except BlockingIOError:
            return
        except OSError:  # it closed its side, which is its right
            finished = True
        if finished:
            self._selector.unregister(stream)
            stream.close()

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # raggate was started with SIGCHLD ignored
            return True
