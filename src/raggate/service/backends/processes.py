"""Child processes that end together: started with a log, and none is left when the group is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import IO, Self, cast

from raggate.base.redact import Redactor
from raggate.models.service import ProcessExit
from raggate.service import signals
from raggate.service.backends.watchdog import MARK, kill

KEPT_LINES = 400
LINE_CHARACTERS = 2000
FILE_BYTES = 10 << 20

_GRACE = 3.0
_DRAIN = 0.5
_PROCESSES = Path("/proc")
_POLL = 0.01
_PATIENCE = 2.0
_PR_SET_CHILD_SUBREAPER = 36

_open: set[int] = set()
"""The groups of this process that are not left yet."""

_foreign: set[int] = set()
"""Children in other sessions from before the first group: a script may start them and then become raggate."""


class Log:
    """The output of processes: the last 400 lines in memory, the first 10 MiB appended to a file.

    Lines are cut at 2,000 characters and invalid UTF-8 is replaced in memory; the file gets the bytes as they came.
    Secrets are replaced by `***` in both. A file that cannot be written is given up silently.
    """

    def __init__(self, path: Path, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._partial = bytearray()
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = path.open("ab", buffering=0)
        self._room = FILE_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._take(self._redactor.flush())
            self._close()

    def feed(self, data: bytes) -> None:
        with self._lock:
            self._take(self._redactor.feed(data))

    def end_line(self) -> None:
        """Close a last line that came without a line break."""
        with self._lock:
            self._take(self._redactor.flush())
            if self._partial:
                self._write(b"\n")
                self._end_line()

    def tail(self, lines: int = 20) -> tuple[str, ...]:
        """Return the last lines, oldest first, an unfinished one included."""
        with self._lock:
            unfinished = bytes(self._partial) + self._redactor.held()
            kept = [*self._lines, *([_decoded(unfinished)] if unfinished else [])]
        return tuple(kept[-lines:])

    def _take(self, data: bytes) -> None:
        self._write(data)
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._extend(piece)
            self._end_line()
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        room = 4 * LINE_CHARACTERS - len(self._partial)  # a character has at most four bytes
        self._partial += piece[: max(room, 0)]

    def _end_line(self) -> None:
        self._lines.append(_decoded(self._partial))
        self._partial.clear()

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data[: self._room])
            self._room -= len(data)
            if self._room < 0:
                self._file.write(f"\n[the log was cut here, at {FILE_BYTES >> 20} MiB]\n".encode())
        except OSError:  # a full disk must not stop the reader, or the process blocks on its own output
            self._room = -1
        if self._room < 0:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _decoded(line: bytes | bytearray) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")[:LINE_CHARACTERS]


class ManagedProcess:
    """One process of a group and the thread that reads its output."""

    def __init__(self, process: subprocess.Popen[bytes], log: Log) -> None:
        self.pid = process.pid
        self._process = process
        self._log = log
        # where it is spoken to over its output, what it says to people are its errors
        self._output = process.stderr or process.stdout
        self._drained = False
        self._reader = threading.Thread(target=self._read, name=f"log of {process.pid}", daemon=True)
        self._reader.start()

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Its standard input and output, where it was started to be spoken to over them."""
        if self._process.stdin is None or self._process.stdout is None or self._process.stderr is None:
            raise TypeError("expected a process that was started with `spoken_to`")
        return self._process.stdin, self._process.stdout

    def ended(self) -> ProcessExit | None:
        """Return how it ended, or None while it runs. Once it has ended, its last output is in the log."""
        code = self._code()
        if code is None:
            return None
        if not self._drained:  # once: a process it left behind may hold the pipe open for ever
            self._drained = True
            self._reader.join(_DRAIN)
        if code >= 0:
            return ProcessExit(message=f"exited with code {code}", code=code)
        known = [number.name for number in signal.Signals if number == -code]
        name = known[0] if known else f"signal {-code}"
        return ProcessExit(message=f"was killed by {name}", signal=name)

    def wait(self, timeout: float) -> ProcessExit | None:
        """Wait at most `timeout` seconds for its end and say how it ended, or None when it still runs."""
        end = time.monotonic() + timeout
        while self._code() is None and time.monotonic() < end:
            signals.check()
            time.sleep(_POLL)
        return self.ended()

    def reap(self) -> None:
        """Collect it after it was killed, so that no zombie stays."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DRAIN)
        self._reader.join(_DRAIN)

    def terminate(self) -> None:
        if self._code() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)

    def _code(self) -> int | None:
        # it stays a zombie until the group is left: were it collected here, its group's number could come to stand
        # for somebody else's processes by the time the group is killed
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll()
        try:
            state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # collected already, or raggate was started with SIGCHLD ignored
            return self._process.poll()
        if state is None:
            return None
        return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status

    def _read(self) -> None:
        stream = self._output
        if stream is None:
            return
        with stream:
            while data := stream.read(1 << 16):
                self._log.feed(data)
        self._log.end_line()


class ProcessGroup:
    """Starts processes, each in a session of its own, and leaves none behind, whatever ends the `with` block.

    On leaving: SIGTERM to every process group, up to 3 s of grace, SIGKILL to the groups, then SIGKILL to every process
    that carries the group's mark in its environment (Linux), because it may have left its group. A watchdog process
    does the same when raggate itself is killed. If raggate is the program of this process and no library in another,
    processes that left both behind become its children (Linux), and end with the last group.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        # some Python builds find their own library only through this; nothing else concerns the watchdog
        self._watchdog_environment = {k: v for k, v in environment.items() if k == "LD_LIBRARY_PATH"}
        self._marker = token_hex(16)
        self.mark = {MARK: self._marker}
        self._children: list[ManagedProcess] = []
        self._adopts = False

    def __enter__(self) -> Self:
        self._adopts = signals.installed() and _adopt_orphans()
        if self._adopts and not _open:
            _foreign.update(_orphans())
        with signals.deferred():
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py")), self._marker],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=self._watchdog_environment,
                bufsize=0,
                start_new_session=True,
            )
        _open.add(id(self))
        return self

    def start(
        self, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], log: Log, spoken_to: bool = False
    ) -> ManagedProcess:
        """Start a command with its output going to the log and nothing on stdin.

        With `spoken_to`, only its standard error goes to the log; its standard input and output are its `pipes`, which
        whoever asks for them closes. Raises OSError when it cannot be executed, and ValueError for words or variables
        that no process can be given, such as one with a NUL.
        """
        with signals.deferred():
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env={**environment, **self.mark},
                stdin=subprocess.PIPE if spoken_to else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if spoken_to else subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
            child = ManagedProcess(process, log)
            self._children.append(child)
            self._send_to_watchdog(f"{child.pid}\n")
        return child

    def __exit__(self, *_: object) -> None:
        # a second Ctrl-C ends the grace, never the teardown; it is raised when nothing runs any more
        with signals.deferred() as came:
            for child in self._children:
                child.terminate()
            end = time.monotonic() + _GRACE
            while not came and time.monotonic() < end and any(child.ended() is None for child in self._children):
                time.sleep(_POLL)
            kill(self._marker, [child.pid for child in self._children])
            for child in self._children:
                child.reap()
            self._dismiss_watchdog()
            _open.discard(id(self))
            if self._adopts and not _open:
                _end_orphans()
                _adopt_orphans(adopt=False)

    def _send_to_watchdog(self, line: str) -> None:
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self._watchdog.stdin).write(line.encode())

    def _dismiss_watchdog(self) -> None:
        self._send_to_watchdog("done\n")
        cast("IO[bytes]", self._watchdog.stdin).close()
        try:
            self._watchdog.wait(2)
        except subprocess.TimeoutExpired:
            self._watchdog.kill()
            self._watchdog.wait()


def _adopt_orphans(*, adopt: bool = True) -> bool:
    """Have processes whose parent has ended become children of this one, or no more; return whether it can (Linux)."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        adopted: int = ctypes.CDLL(None).prctl(*map(ctypes.c_ulong, (_PR_SET_CHILD_SUBREAPER, adopt, 0, 0, 0)))
    except (OSError, AttributeError):
        return False
    return adopted == 0


def _end_orphans() -> None:
    """SIGKILL and collect children in sessions of their own, until none is left or 2 s have passed."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and (orphans := _orphans() - _foreign):
        for pid in orphans:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_POLL)


def _orphans() -> set[int]:
    """List the children of this process in other sessions: raggate's own there have ended with their group."""
    own, session, orphans = os.getpid(), os.getsid(0), set()
    # not by glob, which raises for a process that ends just then
    for entry in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        with contextlib.suppress(OSError):
            if not entry.name.isdecimal():
                continue
            # the name before it may hold anything, spaces and parentheses too
            _, parent, _, started_in, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(parent) == own and int(started_in) != session:
                orphans.add(int(entry.name))
    return orphans
