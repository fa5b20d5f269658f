"""A program that answers questions in lines of JSON: `{"ready": true}` first, then an answer for every question."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any

from raggate.base import jsonio
from raggate.base.http_client import httpx
from raggate.base.quote import quoted
from raggate.service.line_pipes import LinePipes, Message
from raggate.service.misses import Missed, miss

_SHOWN = 100
"""Bytes of the last line of noise that a message shows."""


class ProgramPipes(LinePipes):
    """The two pipes of a program. A line that is neither its readiness nor an answer goes to the log."""

    who = "the program"

    def __init__(self, into: IO[bytes], out: IO[bytes], note: Callable[[bytes], None]) -> None:
        self._state: Message = {}
        self._noise = b""
        super().__init__(into, out, note)

    def ask(self, question: Message) -> Future[Message]:
        """Send a question under a number of its own. The future gives the answer, or raises Missed or ReadError."""
        with self._lock:
            return self._asked(question)

    def leave(self, asked: Future[Message]) -> None:
        """Wait for an answer no longer. One that comes late is dropped."""
        self._left_behind(asked)

    def state(self) -> Message:
        """Return the last line in which it told whether it is ready, or else why there is none, as its `detail`."""
        if self._state:
            return self._state
        return {"detail": f'the program did not write a line {{"ready": true}}{self.wrote()}'}

    def wrote(self) -> str:
        """Return the sentence about what it wrote last that is no answer; empty for nothing."""
        last = (bytes(self._partial[-_SHOWN:]) or self._noise).decode("utf-8", "replace").strip()
        return f". Its standard output ends with {quoted(last, limit=_SHOWN)}" if last else ""

    def transport(self) -> httpx.BaseTransport:
        return httpx.MockTransport(lambda _: httpx.Response(200, content=jsonio.dumps(self.state())))

    def _line(self, line: bytes) -> None:
        message: Any = {}
        with suppress(ValueError):
            message = jsonio.loads(line)
        message = message if isinstance(message, dict) else {}
        if type(message.get("id")) is int and message.keys() & {"hits", "error"}:
            self._arrived(message["id"], message)
            return
        if type(message.get("ready")) is bool:
            self._state = message
        else:
            self._noise = line[-_SHOWN:]
        self._note(line + b"\n")


def hits_of(answer: Message) -> Message:
    """Return an answer without its number; Missed is raised when it tells an error in place of hits."""
    error = answer.get("error")
    if error is not None:
        words = error if isinstance(error, str) else jsonio.dumps(error).decode()
        raise Missed(miss("status", f"the program answers with an error: {quoted(words, limit=200)}"))
    return {name: value for name, value in answer.items() if name not in {"id", "error"}}
