"""Python programs that a check starts, forked from an interpreter that has loaded what they import.

A fake API and the watchdog take longer to load than to do their part. They become processes all the same, each with a
session, variables, streams and an end of its own. What is no such program, or is given variables that an interpreter
reads when it starts, is started as ever, and so is all that a test of processes starts.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from unittest import mock

from preloaded import Process, forking, opened, piped, send, serve

# without what is installed, and without the user's own
_FLAGS = ("-S", "-I")
_ASKING = threading.Lock()


class Child:
    """A forked process: as much of `subprocess.Popen`, of bytes without buffers, as a check needs."""

    def __init__(self, process: Process, streams: Mapping[str, IO[bytes]], text: str) -> None:
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = (streams.get(name) for name in ("stdin", "stdout", "stderr"))
        self._process = process
        self._text = text
        self._waiting = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        with self._waiting:
            return self._process.poll()

    def wait(self, timeout: float) -> int:
        """Wait for its end and give the exit code."""
        with self._waiting:
            return self._process.wait(timeout)

    def kill(self) -> None:
        self._process.kill()

    def carries(self, mark: str) -> bool:
        """Return whether its command line or environment holds a text."""
        return mark in self._text


_children: list[Child] = []


def running(mark: str) -> list[int]:
    """List the forked processes that run and whose command line or environment holds a text."""
    _children[:] = [child for child in _children if child.poll() is None]
    return [child.pid for child in _children if child.carries(mark)]


@contextlib.contextmanager
def forked() -> Iterator[None]:
    # loaded by what runs a check alone
    from raggate.service.backends import processes

    with mock.patch.object(processes, "subprocess", _Forking()):
        yield


class _Forking:
    """The module `subprocess`, but for what it starts."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, words: Sequence[str], **how: Any) -> Child | subprocess.Popen[bytes]:  # noqa: N802
        script = next((number for number, word in enumerate(words) if number and word not in _FLAGS), 0)
        if (
            "-S" in words[1:script]
            and words[0] == sys.executable
            and words[script].endswith(".py")
            and Path(words[script]).is_file()
            and Path(how["cwd"]).is_dir()
            and not any(name.startswith("PYTHON") for name in how["env"])
        ):
            return _fork(words, words[script:], **how)
        return subprocess.Popen(words, **how)


def _fork(words: Sequence[str], arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], **how: Any) -> Child:
    streams: dict[str, IO[bytes]] = {}
    with contextlib.ExitStack() as sent:

        def stream(name: str) -> int:
            given = how.pop(name)
            if given == subprocess.DEVNULL:
                return opened(os.open(os.devnull, os.O_RDWR), sent)
            assert given == subprocess.PIPE, given
            if name == "stdin":
                reading, writing = os.pipe()
                streams[name] = os.fdopen(writing, "wb", 0)
                return opened(reading, sent)
            reading, writing = piped(sent)
            streams[name] = os.fdopen(reading, "rb", 0)
            return writing

        descriptors = [stream("stdin"), stream("stdout")]
        both = how["stderr"] == subprocess.STDOUT and how.pop("stderr")
        descriptors.append(descriptors[1] if both else stream("stderr"))
        ended, ending = piped(sent)
        assert how == {"bufsize": 0, "start_new_session": True}, how
        request = {"arguments": [*arguments], "at": str(Path(cwd).absolute()), "environment": {**env}}
        with _ASKING:
            send(_server(), {**request, "code": arguments[0], "alone": True}, [*descriptors, ending])
    text = "\0".join([*words, *(f"{name}={value}" for name, value in env.items())])
    child = Child(Process(os.fdopen(ended, "rb", buffering=0), None, None), streams, text)
    running("")
    _children.append(child)
    return child


@functools.cache
def _server() -> socket.socket:
    return forking([sys.executable, "-S", __file__])


@functools.cache
def _compiled(script: str, source: bytes) -> types.CodeType:
    return compile(source, script, "exec", dont_inherit=True)


def _prepared(script: str | None) -> types.CodeType:
    assert script is not None
    return _compiled(script, Path(script).read_bytes())


def _run(script: str) -> None:
    code = _prepared(script)
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(script).parent)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = script
    exec(code, module.__dict__)  # noqa: S102 - what a test wrote
    # what an interpreter takes apart at its end takes longer than most scripts
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    # what the fake APIs and the watchdog import; nothing of it starts a thread
    sys.path.insert(0, str(Path(__file__).parent / "fakes"))
    for _name in ("hashlib", "http", "itertools", "json", "plain_http", "selectors", "unicodedata", "urllib.parse"):
        importlib.import_module(_name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv.pop())) as _requests:
        _script = serve(_requests, _prepared)
    if _script is not None:
        _run(_script)
