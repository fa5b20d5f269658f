"""`python -m raggate` forked from a process that has it imported already, which takes longer than most runs.

The process at the end of this file imports raggate once, runs nothing of it, and forks for each start. What is forked
gets its own arguments, directory, variables and streams, as `subprocess.Popen` gives them, and is ended by its
interpreter. It shares with the others what an interpreter decides when it starts, such as the order of sets. A test
of the start itself, of signals during it, or of a stream that is closed, starts a true one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TextIO

# read by an interpreter when it starts
_FIXED = ("PYTHON", "LC_", "LANG", "LD_")


class Process:
    """A process that was forked: as much of `subprocess.Popen` as tests of raggate need."""

    def __init__(self, ended: BinaryIO, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self._ended = ended
        self.pid = int(ended.readline())
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait for its end and give the exit code."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("raggate", timeout)
            with self._ended:
                self.returncode = int(self._ended.readline())
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Read both streams to their ends, wait for its own, and give what was read."""
        with ThreadPoolExecutor(2) as pool:
            out, err = (pool.submit(_rest, stream) for stream in (self.stdout, self.stderr))
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return out.result(), err.result()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _rest(stream: TextIO | None) -> str:
    if stream is None:
        return ""
    with stream:
        return stream.read()


def start(
    *arguments: str,
    at: Path,
    environment: Mapping[str, str],
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    code: str | None = None,
) -> Process:
    """Start `python -m raggate`, or a program that imports it, with nothing to read."""
    assert _fixed(environment) == _fixed(os.environ), "these variables need an interpreter that starts with them"
    request = {"arguments": arguments, "at": str(at), "environment": {**environment}, "code": code}
    with contextlib.ExitStack() as sent:

        def stream(given: int) -> tuple[TextIO | None, int]:
            if given == subprocess.PIPE:
                reading, writing = piped(sent)
                return os.fdopen(reading, encoding="utf-8"), writing
            return None, opened(os.open(os.devnull, os.O_WRONLY), sent) if given == subprocess.DEVNULL else given

        (out, writing), (err, telling), (ended, ending) = stream(stdout), stream(stderr), piped(sent)
        descriptors = [opened(os.open(os.devnull, os.O_RDONLY), sent), writing, telling, ending]
        send(server(), request, descriptors)
    return Process(os.fdopen(ended, "rb", buffering=0), out, err)


def opened(descriptor: int, sent: contextlib.ExitStack) -> int:
    """Return a descriptor that is closed here once it was sent."""
    sent.callback(os.close, descriptor)
    return descriptor


def piped(sent: contextlib.ExitStack) -> tuple[int, int]:
    """Open a pipe of which the end that is written to is sent: to be read, and to be written."""
    reading, writing = os.pipe()
    return reading, opened(writing, sent)


def send(server: socket.socket, request: Mapping[str, object], descriptors: list[int]) -> None:
    """Ask for a process with three standard streams; the last descriptor gets its number, and later its exit code."""
    socket.send_fds(server, [json.dumps(request).encode() + b"\n"], descriptors)


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_FIXED)}


@functools.cache
def server() -> socket.socket:
    return forking([sys.executable, __file__])


def forking(words: list[str]) -> socket.socket:
    """Start a process that forks when asked; it ends with this one. It has no variable that a test could look for."""
    here, there = socket.socketpair()
    with there:
        process = subprocess.Popen(
            [*words, str(there.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**_fixed(os.environ), "PATH": os.environ["PATH"]},
            pass_fds=[there.fileno()],
        )
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


def serve(requests: socket.socket, prepared: Callable[[str | None], object] = lambda code: None) -> str | None:
    """Fork for each request; in what is forked, set up as by an interpreter that starts, return the code to be run.

    Before it forks it prepares what all processes of the same code can share. It tells how each of them ended.
    """
    endings: dict[int, int] = {}

    def tell(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                ending = endings.pop(ended[0])
                with contextlib.suppress(BrokenPipeError):
                    os.write(ending, f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
                os.close(ending)

    signal.signal(signal.SIGCHLD, tell)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 4)
        if not message:
            sys.exit()
        while not message.endswith(b"\n"):
            message += requests.recv(1 << 16)
        request = json.loads(message)
        code: str | None = request.pop("code")
        prepared(code)
        # nobody's end is told before it is known whom to tell
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            requests.close()
            for ending in endings.values():
                os.close(ending)
            _take(descriptors, alone=request.pop("alone", False))
            _become(**request)
            return code
        *streams, endings[pid] = descriptors
        for descriptor in streams:
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _take(descriptors: list[int], *, alone: bool) -> None:
    """Take the standard streams, tell the number of this process, and be `alone` in a session where asked."""
    *streams, ending = descriptors
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if alone:
        os.setsid()
    # nobody knows it before, who could send a signal to its group
    os.write(ending, f"{os.getpid()}\n".encode())
    os.close(ending)


def _become(arguments: list[str], at: str, environment: dict[str, str]) -> None:
    """Take what is this process's own, and open the streams as an interpreter does."""
    os.chdir(at)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    sys.path[0] = str(Path.cwd())
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        binary = os.fdopen(number, "wb" if number else "rb", closefd=False)
        lines = name == "stderr" or binary.isatty()
        new = io.TextIOWrapper(binary, old.encoding, old.errors, line_buffering=lines)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


if __name__ == "__main__":
    # what a check imports in the end; nothing of it starts a thread
    for _name in ("raggate.cli.main", "raggate.pipeline.check", "raggate.pipeline.rerun"):
        importlib.import_module(_name)
    for _name in ("raggate.reports.terminal", "raggate.pipeline.report_files", "raggate.reports.verdict_file"):
        importlib.import_module(_name)
    for _name in ("anyio._backends._asyncio", "encodings.idna", "markdown_it", "orjson"):
        importlib.import_module(_name)
    # what the HTTP client loads at its first use
    importlib.import_module("raggate.base.http_client").httpx.AsyncHTTPTransport(verify=ssl.create_default_context())
    # a template is compiled at its first use
    _frame = importlib.import_module("raggate.reports.page.frame")
    for _name in ("base.html", "trends.html", "report.html"):
        _frame.environment((_frame.OWN,)).get_template(_name)

    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv.pop())) as asked:
        _code = serve(asked)
    if _code is None:
        runpy.run_module("raggate", run_name="__main__", alter_sys=True)
    else:
        exec(_code, {"__name__": "__main__"})  # noqa: S102 - what a test hands over
