"""A scriptable notes API in a thread: what a test says a question gets, it gets, and the server counts along."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fakes.served import Handler, Served


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a question gets.

    Attributes:
        status: HTTP status.
        body: sent whole, unless `pieces` are given.
        delay: seconds before the first byte.
        headers: further headers; Content-Length is added unless it is among them.
        pieces: the body in pieces, each with a pause in seconds before it; then the connection is closed.
        drop: "reset" closes the connection without an answer, "half" in the middle of the body.
        raw: bytes sent instead of an HTTP answer.
    """

    status: int = 200
    body: bytes = b""
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Iterable[tuple[float, bytes]] | None = None
    drop: str = ""
    raw: bytes | None = None


Script = Callable[[str], "tuple[int, bytes, float] | Reply"]


@dataclass(frozen=True)
class Asked:
    """One request as it came in: path, query (one value each), headers in lower case, and JSON body."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class FakeAskApi(Served):
    """A context manager around the server.

    Args:
        script: maps a question to `(status, body, delay in seconds)` or a `Reply`; called from many threads.
        pages: answers of GET paths.
    """

    def __init__(self, script: Script | None = None, *, pages: dict[str, Reply] | None = None) -> None:
        self.script = script or (lambda question: (200, ask_body(question), 0.0))
        self.pages = pages or {}
        self.asked: list[Asked] = []
        self.counts: Counter[str] = Counter()
        self.peak = 0
        self._now = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.handler = _Handler
        self.listen()

    @property
    def total(self) -> int:
        """How many questions came in, retries included."""
        return len(self.asked)

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        super().__exit__()

    def enter(self, asked: Asked) -> None:
        with self._lock:
            self.asked.append(asked)
            self.counts[asked.body["question"]] += 1
            self._now += 1
            self.peak = max(self.peak, self._now)

    def leave(self) -> None:
        with self._lock:
            self._now -= 1


def ask_body(question: str, **changes: object) -> bytes:
    """Build a valid 200 body with one chunk that quotes the question; `changes` replace top-level fields."""
    chunk = {
        "chunk_id": "0" * 32,
        "rel_path": "a.md",
        "heading_path": "# A",
        "text": question,
        "rank": 1,
        "score_vector": 0.5,
        "score_final": 0.5,
    }
    body = {"answer": "", "references": [], "debug": {"retrieved_chunks": [chunk]}, **changes}
    return json.dumps(body).encode()


class _Handler(Handler):
    def get(self) -> None:
        page = self.fake.pages.get(urlsplit(self.path).path, Reply(status=404, body=b"404 page not found"))
        self._send(page)

    def post(self) -> None:
        fake: FakeAskApi = self.fake
        body = self.body()
        fake.enter(Asked(urlsplit(self.path).path, self.query(), self.lower_headers(), body))
        try:
            reply = fake.script(body["question"])
            if not isinstance(reply, Reply):
                status, content, delay = reply
                reply = Reply(status=status, body=content, delay=delay)
            if reply.delay:
                fake.closing.wait(reply.delay)
        finally:
            fake.leave()  # before the answer: the client may send its next question at the first byte
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        if reply.raw is not None or reply.drop == "reset":
            self.wfile.write(reply.raw or b"")
            self._hang_up()
            return
        headers = dict(reply.headers)
        if reply.pieces is None and not {"Content-Length", "Transfer-Encoding"} & set(headers):
            headers["Content-Length"] = str(len(reply.body))
        head = f"HTTP/1.1 {reply.status} Said\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        body = reply.body[: len(reply.body) // 2] if reply.drop == "half" else reply.body
        self.wfile.write(head.encode() + b"\r\n" + body)
        for pause, piece in reply.pieces or ():
            if self.fake.closing.wait(pause):
                break
            self.wfile.write(piece)
        if reply.drop or reply.pieces is not None:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
