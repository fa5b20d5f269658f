"""A process behind its standard input and output: bounded lines of JSON, and answers that find who asked."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import IO, Any

from msgspec import Struct

from raggate.base import jsonio
from raggate.base.http_client import httpx
from raggate.base.quote import cut
from raggate.models.run import FailureKind
from raggate.models.service import ProcessExit
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.misses import Missed, miss

MAX_UNSENT = 1_000
"""Messages that may wait for a process that does not read. Further ones are dropped."""

_PIECE = 1 << 16

STDIO_URL = "http://stdio"
"""Stands for the address of what has none."""

Message = dict[str, Any]

Spoken = Callable[[IO[bytes], IO[bytes], Callable[[bytes], None]], "LinePipes"]
"""Makes pipes of a standard input, a standard output, and what takes lines for the log."""


class Serving(Struct, frozen=True, kw_only=True):
    """An API that was started, or that somebody else runs; `pipes` if it is asked over standard input and output."""

    base_url: str
    died: Callable[[], ProcessExit | None] = lambda: None
    log_tail: Callable[[], tuple[str, ...]] = tuple
    pipes: LinePipes | None = None


class LinePipes(ABC):
    """The two pipes, with a thread for each. What lines mean is for those who speak through them."""

    who: str
    """The process, as messages name it."""

    def __init__(self, into: IO[bytes], out: IO[bytes], note: Callable[[bytes], None]) -> None:
        self._into = into
        self._out = out
        self._note = note
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Message]] = {}
        self._left: set[int] = set()
        self._problem: Exception | None = None
        self._ended = False
        self._partial = bytearray()
        self._skipping = False
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        works = (self._write, self._read)
        self._threads = [threading.Thread(target=work, name="lines over pipes", daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    @abstractmethod
    def transport(self) -> httpx.BaseTransport:
        """Return what carries the requests that ask whether it is ready."""

    @abstractmethod
    def _line(self, line: bytes) -> None:
        """Take a line that the process wrote, which is not blank."""

    def close(self) -> None:
        """Close its standard input once all is sent, which tells it to end."""
        self._unsent.put(None)

    def _left_behind(self, asked: Future[Message]) -> int | None:
        """Wait for a reply no longer, though it may still come. Returns its number, None if it was there already."""
        with self._lock:
            number = next((number for number, future in self._waiting.items() if future is asked), None)
            if number is not None:
                del self._waiting[number]
                self._left.add(number)
        return number

    def _asked(self, message: Message) -> Future[Message]:
        future: Future[Message] = Future()
        if self._problem is not None or self._ended:
            future.set_exception(self._problem or self._closed())
            self._problem = None
            return future
        number = next(self._numbers)
        self._waiting[number] = future
        self._send({**message, "id": number})
        return future

    def _send(self, message: Message) -> None:
        if self._unsent.qsize() < MAX_UNSENT:
            self._unsent.put(jsonio.dumps(message) + b"\n")

    def _write(self) -> None:
        # it may close its input, or never read it and be killed: neither is an error here
        with contextlib.suppress(OSError, ValueError), self._into:
            while (line := self._unsent.get()) is not None:
                left = memoryview(line)
                while left:
                    left = left[self._into.write(left) or 0 :]

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._out:
            while piece := self._out.read(_PIECE):
                self._take(piece)
        with self._lock:
            self._ended = True
        self._fail(self._closed())

    def _take(self, piece: bytes) -> None:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._extend(end)
            line = bytes(self._partial)
            self._partial.clear()
            if not self._skipping and line.strip():
                self._line(line)
            self._skipping = False
        self._extend(rest)

    def _extend(self, part: bytes) -> None:
        self._partial += part
        if len(self._partial) > MAX_BODY_BYTES:
            # report the skipped part again each time it has grown as much
            self._partial.clear()
            self._skipping = True
            self._broken("body", f"{self.who} wrote a line of more than {MAX_BODY_BYTES} bytes")

    def _arrived(self, number: object, message: Message) -> None:
        named = number if type(number) is int else -1
        with self._lock:
            waiting = self._waiting.pop(named, None)
            late = named in self._left
            self._left.discard(named)
        if waiting is not None:
            with contextlib.suppress(InvalidStateError):
                waiting.set_result(message)
        elif not late:
            shown = cut(jsonio.dumps(number).decode(), limit=60)
            unsent = "which raggate did not send, or which has its answer already"
            self._broken("schema", f"{self.who} answers request {shown}, {unsent}")

    def _broken(self, kind: FailureKind, message: str) -> None:
        self._fail(Missed(miss(kind, message)))

    def _fail(self, error: Exception) -> None:
        """Fail all that wait; where nobody does, the next one."""
        with self._lock:
            waiting = [*self._waiting.values()]
            self._waiting.clear()
            self._problem = None if waiting else error
        for future in waiting:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)

    def _closed(self) -> Exception:
        return httpx.ReadError(f"{self.who} closed its standard output")
