"""A proxy of HTTP between raggate and an API: what goes through is as it was, or late, lost, broken or an error.

It speaks to both sides for real, so that raggate's timeouts, retries and reading of bodies are tried too, with any
adapter that makes HTTP calls. Requests that it spoils are drawn by what they ask: the same ones in every run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from msgspec import Struct, field

from raggate.models.service import ProcessExit, Started
from raggate.prove.faults import struck
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.text.certificates import checked_by
from raggate.text.http_client import httpx
from raggate.text.numbers import percent
from raggate.text.redact import Guarded

Damage = Literal["status", "busy", "half", "reset", "late"]
"""What happens: an error, an error at the first attempt alone, half a body, no answer, or an answer that is late."""

_OF_ONE_CONNECTION = frozenset(
    ("connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding")
)


class WireFault(Struct, frozen=True, kw_only=True):
    """A fault of HTTP.

    Attributes:
        name: what is wrong.
        size: how much of it, in words.
        damage: what happens to a request that is struck.
        share: the share of the requests that are struck.
        seconds: how late an answer is that is late.
    """

    name: str
    size: str
    damage: Damage
    share: float
    seconds: float = 0.0


class _Answer(Guarded, Struct, frozen=True):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Proxy(Struct):
    """The proxy: a started API, as those who ask see it. Nothing is spoilt until `fault` is set.

    `seen` are the requests that came through, by what they ask.
    """

    _api: Started
    _client: httpx.Client
    _most_bytes: int
    base_url: str = ""
    fault: WireFault | None = None
    seen: set[str] = field(default_factory=set)
    _struck: frozenset[str] = frozenset()
    _attempts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def died(self) -> ProcessExit | None:
        """Return how the API ended, or None while it runs."""
        return self._api.died()

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of the API's output. Untrusted text."""
        return self._api.log_tail()

    def spoil(self, fault: WireFault | None) -> None:
        """Let a share of the requests that were seen so far fail; None lets all through."""
        self.fault = fault
        self._struck = struck(self.seen, fault.share, fault.name) if fault else frozenset()
        self._attempts.clear()

    def answer(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> _Answer | None:
        """Return the API's answer to a request, or what a fault makes of it; None for none at all."""
        key = sha256(b"\0".join((method.encode(), target.encode("utf-8", "surrogateescape"), body))).hexdigest()
        with self._lock:
            self.seen.add(key)
            self._attempts[key] += 1
            first = self._attempts[key] == 1
        fault = self.fault if key in self._struck else None
        if fault is not None and (fault.damage == "status" or (fault.damage == "busy" and first)):
            # no API is asked for an answer that nobody gets
            status = 503 if fault.damage == "busy" else 500
            return _Answer(status, [("content-type", "application/json")], b'{"error":"a fault on purpose"}')
        if fault is not None and fault.damage == "reset":
            return None
        if fault is not None and fault.damage == "late":
            time.sleep(fault.seconds)
        answer = self._passed_on(method, target, headers, body)
        if fault is not None and fault.damage == "half" and answer is not None:
            return _Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2])
        return answer

    def _passed_on(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> _Answer | None:
        try:
            with self._client.stream(method, f"{self._api.base_url}{target}", headers=headers, content=body) as reply:
                pieces = bytearray()
                for piece in reply.iter_raw():
                    pieces += piece
                    if len(pieces) > self._most_bytes:
                        # enough to be too large for whoever asked
                        break
                return _Answer(reply.status_code, _kept(reply.headers.multi_items()), bytes(pieces))
        except httpx.HTTPError:
            return None


def _kept(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out the headers that are about one connection."""
    return [(name, value) for name, value in headers if name.lower() not in _OF_ONE_CONNECTION]


@contextmanager
def proxy(api: Started, *, timeout: float) -> Iterator[Proxy]:
    """Put a proxy before a started API, on a free port of this machine; it is gone on leaving.

    Args:
        timeout: seconds that one read from it may take.
    """
    verify = checked_by(api.base_url)
    with httpx.Client(timeout=timeout, trust_env=False, follow_redirects=False, verify=verify) as client:
        between = Proxy(api, client, MAX_BODY_BYTES)
        server = _Server(("127.0.0.1", 0), _handler(between.answer))
        between.base_url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield between
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # those that wait for a late answer are not waited for
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that has left."""


def _handler(
    answer: Callable[[str, str, list[tuple[str, str]], bytes], _Answer | None],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # a header and a body that are sent one after the other wait for each other otherwise
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = answer(self.command, self.path, _kept(list(self.headers.items())), body)
            if reply is None:
                self.close_connection = True
                return
            self.send_response_only(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            self.wfile.flush()

        do_GET = do_POST = do_PUT = do_PATCH = _serve  # noqa: N815 - the names of the base class

    return Handler


FAULTS: tuple[WireFault, ...] = (
    *(
        WireFault(name="calls fail (HTTP 500)", size=f"{percent(share)} of the calls", damage="status", share=share)
        for share in (0.01, 0.03, 0.1)
    ),
    WireFault(name="half a body", size="3% of the calls", damage="half", share=0.03),
    WireFault(name="connection closed", size="3% of the calls", damage="reset", share=0.03),
    WireFault(name="busy at first (HTTP 503)", size="10% of the calls", damage="busy", share=0.1),
    WireFault(name="answers late", size="by 50 ms", damage="late", share=1.0, seconds=0.05),
    WireFault(name="answers late", size="by 250 ms", damage="late", share=1.0, seconds=0.25),
)
"""Every known fault of HTTP."""
