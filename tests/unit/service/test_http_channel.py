"""Questions over HTTP, to a server that answers any bytes: what h11 reads of them, and what becomes of the connection.

What is in a table here holds for httpx's own transport too, which carried questions before and carries those to MCP
servers: the same bytes are read alike.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from raggate.base.http_client import httpx
from raggate.service import http_channel, misses
from raggate.service.http_channel import Connections, Reply, Request
from raggate.service.misses import Miss
from tables import each_row
from tries import tried

LIMIT = 1024
CERTIFICATE = Path(__file__).parents[2] / "data" / "loopback.pem"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

Heard = tuple[bytes, bytes]
"""Head and content of a request."""

Script = Callable[[int], bytes | None]
"""What the server writes for the request of that number, counted from 0. None: nothing, and it hangs up."""


def running(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let a test run in an event loop of its own."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


@dataclass
class Server:
    """A server on the loopback, which counts what comes."""

    script: Script
    connections: int = 0
    heard: list[Heard] = field(default_factory=list)
    hang_up: bool = True
    port: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[None] | None] = field(default_factory=list)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        self.writers.append(writer)
        self.tasks.append(asyncio.current_task())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.heard.append((head, await reader.readexactly(int(length or 0))))
                answer = self.script(len(self.heard) - 1)
                writer.write(answer or b"")
                await writer.drain()
                if answer is None or self.hang_up:
                    break
        writer.close()


@asynccontextmanager
async def serving(
    script: Script, *, host: str = "127.0.0.1", hang_up: bool = False, tls: bool = False
) -> AsyncIterator[Server]:
    server = Server(script, hang_up=hang_up)
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    listening = await asyncio.start_server(server, host, 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for writer in server.writers:
            writer.transport.abort()
        await asyncio.gather(*filter(None, server.tasks))


def request(content: bytes = b'{"question": "q"}', **headers: str) -> Request:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request(
        "POST", b"/ask?debug=true", [(b"Host", b"api"), *pairs, (b"Content-Length", b"%d" % len(content))], content
    )


@pytest.fixture(autouse=True)
def _small_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (http_channel, misses):
        monkeypatch.setattr(module, "MAX_BODY_BYTES", LIMIT)


@asynccontextmanager
async def connected(port: int, *, url: str = "http://127.0.0.1") -> AsyncIterator[Connections]:
    connections = Connections(f"{url}:{port}")
    try:
        yield connections
    finally:
        await connections.close()


def told(reply: Reply | Miss) -> str | bytes:
    if isinstance(reply, Reply) and reply.status != 200:
        reply = misses.refused(reply.status, reply.header(b"location"), reply.body)
    if isinstance(reply, Reply):
        encoding = reply.header(b"content-encoding")
        miss = misses.unreadable(encoding, whole=reply.whole, more=reply.more)
        return reply.body if miss is None else miss.failure.message
    return reply.failure.message + (" (again)" if reply.again else "")


async def outcome(url: str) -> Reply | Miss:
    connections = Connections(url)
    try:
        return await connections.exchange(request())
    except httpx.TransportError as error:
        return misses.missed(error)
    finally:
        await connections.close()


def answered(raw: bytes) -> Reply | Miss:
    async def ask() -> Reply | Miss:
        async with serving(lambda _: raw, hang_up=True) as server:
            return await outcome(f"http://127.0.0.1:{server.port}")

    return asyncio.run(ask())


def http(head: bytes, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 " + head.replace(b"\n", b"\r\n") + b"\r\n\r\n" + body


SHORT = "connection lost: peer closed connection without sending complete message body"
UNSAID = "connection lost: Server disconnected without sending a response. (again)"


@each_row(
    ("raw", "expected"),
    [
        # bodies
        (OK, b"{}"),
        (http(b"200 OK\nTransfer-Encoding: chunked", b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\nTrailer: x\r\n\r\n"), b"{}"),
        (http(b"200 OK", b"{}"), b"{}"),
        (http(b"103 Early Hints\nLink: </x>") + http(b"100 Continue") + OK, b"{}"),
        (http(b"200 OK\nContent-Length: 1024", b" " * LIMIT), b" " * LIMIT),
        (http(b"200 OK\nContent-Length: 2\nX: \xff\xfe", b"\xff\xfe"), b"\xff\xfe"),
        # too much of them
        (http(b"200 OK\nContent-Length: 1025", b" " * 1025), "the body has more than 1024 bytes"),
        (http(b"200 OK", b" " * 4000), "the body has more than 1024 bytes"),
        (http(b"200 OK\nTransfer-Encoding: chunked", b"fff\r\n" + b" " * 2000), "the body has more than 1024 bytes"),
        (OK + OK, f"{len(OK)} bytes came after the end of the answer"),
        (OK + b"x", "1 bytes came after the end of the answer"),
        # encoded, and left so: this would be 10 MB
        (
            http(b"200 OK\nContent-Encoding: gzip\nContent-Length: 2", b"\x1f\x8b"),
            "the body is encoded (gzip), although raggate asked for plain text",
        ),
        (http(b"200 OK\nContent-Encoding: Identity\nContent-Length: 2", b"{}"), b"{}"),
        # too little
        (http(b"200 OK\nContent-Length: 9", b"{}"), f"{SHORT} (received 2 bytes, expected 9) (again)"),
        (http(b"200 OK\nTransfer-Encoding: chunked", b"9\r\n{}"), f"{SHORT} (incomplete chunked read) (again)"),
        (b"", UNSAID),
        (b"HTTP/1.1 200 OK\r\nContent-Le", UNSAID),
        # nonsense
        (b"220 SMTP ready\r\n\r\n", "not HTTP: illegal status line: bytearray(b'220 SMTP ready')"),
        (http(b"200 OK\nContent-Length: 1\nContent-Length: 2", b"{}"), "not HTTP: conflicting Content-Length headers"),
        (http(b"200 OK\nTransfer-Encoding: gzip"), "not HTTP: Only Transfer-Encoding: chunked is supported"),
        (http(b"200 OK\nA: \x00"), "not HTTP: illegal header line: bytearray(b'A: \\x00')"),
        (
            http(b"101 Switching Protocols\nUpgrade: x"),
            "not HTTP: Received server _SWITCH_UPGRADE event without a pending proposal",
        ),
        (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 400_000, "not HTTP: Receive buffer too long"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: a\r\n" * 60_000, "not HTTP: Receive buffer too long"),
        # other statuses
        (http(b"204 No Content"), "HTTP 204"),
        (http(b"503 Busy\nContent-Length: 5", b"later"), "HTTP 503: later (again)"),
        (http(b"500 Bug\nTransfer-Encoding: chunked", b"zz\r\n"), "HTTP 500"),
        (http(b"500 Bug", b"x" * 200_000), f"HTTP 500: {'x' * 199}…"),
        (
            http(b"302 Found\nLocation: http://[bad\nContent-Length: 0"),
            "HTTP 302: redirects to http://[bad, which raggate does not follow",
        ),
        (http(b"304 Not Modified\nLocation: /x"), "HTTP 304"),
    ],
)
def test_what_is_read_of_an_answer(raw: bytes, expected: str | bytes) -> None:
    """A body is read whole, within its bound and as it was sent; whatever else comes is told in one sentence."""
    assert told(answered(raw)) == expected


HEADS = st.sampled_from((b"200 OK", b"500 No", b"204 None", b"100 Continue", b"302 Found", b"2 x"))
LINES = st.sampled_from((b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Connection: close", b"Location: /"))
BODIES = st.sampled_from((b"", b"{}", b"2\r\n{}\r\n0\r\n\r\n", b"{}{}{}", b"f\r\n", OK)) | st.binary(max_size=20)
ANSWERS = st.builds(
    lambda head, lines, body: http(b"\n".join((head, *lines)), body), HEADS, st.lists(LINES, max_size=3), BODIES
)


@given(st.lists(ANSWERS, min_size=1, max_size=2).map(b"".join) | st.binary(max_size=60))
@tried(100)
def test_any_bytes_end_the_question(raw: bytes) -> None:
    """Whatever a server writes is a body within its bound, or one sentence."""
    said = told(answered(raw))
    assert len(said) <= LIMIT


@running
async def test_the_request_is_sent_as_it_is() -> None:
    """Method, target, headers and content reach the server in one piece, in order, and nothing is added."""
    async with serving(lambda _: OK) as server, connected(server.port) as connections:
        await connections.exchange(request(b"[1]", Accept="a/b"))
    head = b"POST /ask?debug=true HTTP/1.1\r\nHost: api\r\nAccept: a/b\r\nContent-Length: 3\r\n\r\n"
    assert server.heard == [(head, b"[1]")]


def test_little_of_an_answer_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in many small chunks takes long to read, and meanwhile no other question can time out."""
    sizes: list[int] = []
    read = http_channel.Connection.data_received

    def counted(self: http_channel.Connection, data: bytes) -> None:
        sizes.append(len(data))
        read(self, data)

    monkeypatch.setattr(http_channel.Connection, "data_received", counted)
    raw = http(b"200 OK\nTransfer-Encoding: chunked", b"1\r\nx\r\n" * LIMIT * 10)
    assert told(answered(raw)) == "the body has more than 1024 bytes"
    assert max(sizes) <= 8192


@each_row(
    ("first", "connections"),
    [
        (OK, 1),
        (http(b"200 OK\nTransfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n"), 1),
        (http(b"500 Bug\nContent-Length: 3", b"bug"), 1),
        (http(b"200 OK\nConnection: close\nContent-Length: 2", b"{}"), 2),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 2),
        (http(b"200 OK\nContent-Length: 1025", b" " * 1025), 2),
        (http(b"500 Bug\nContent-Length: 200000", b" " * 200_000), 2),
        (OK + OK, 2),
        (http(b"500 Bug\nContent-Length: 0") + OK, 2),
        (None, 2),
    ],
)
@running
async def test_a_connection_is_used_again_where_the_answer_was_whole(first: bytes | None, connections: int) -> None:
    """After anything but a whole answer with nothing behind it, the next question goes over another connection."""
    async with serving(lambda number: OK if number else first) as server, connected(server.port) as kept:
        with suppress(httpx.TransportError):
            await kept.exchange(request())
        reply = await kept.exchange(request())
    assert (reply.body, server.connections) == (b"{}", connections)


@running
async def test_questions_one_after_the_other_share_a_connection_and_others_do_not() -> None:
    """As many connections are opened as requests are under way at once."""
    async with serving(lambda _: OK) as server, connected(server.port) as connections:
        for _ in range(5):
            await asyncio.gather(*(connections.exchange(request()) for _ in range(3)))
    assert (server.connections, len(server.heard)) == (3, 15)


@each_row("late", [b"", OK], ids=["it hangs up", "it answers again"])
def test_a_connection_on_which_more_came_is_not_used_again(late: bytes) -> None:
    """What comes after an answer, when nothing was asked, is never read, not even where the loop has not seen it."""

    async def test(*, seen: bool) -> None:
        async with serving(lambda _: OK) as server, connected(server.port) as connections:
            await connections.exchange(request())
            (writer,) = server.writers
            if late:
                writer.write(late)
            else:
                writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
            await asyncio.sleep(0.01 if seen else 0)
            await connections.exchange(request())
        assert server.connections == 2

    asyncio.run(test(seen=True))
    asyncio.run(test(seen=False))


@running
async def test_a_connection_that_was_idle_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers close what is idle, just when a question may come: after a while it goes over another connection."""
    monkeypatch.setattr(http_channel, "_IDLE_SECONDS", 0.0)
    async with serving(lambda _: OK) as server, connected(server.port) as connections:
        await connections.exchange(request())
        await connections.exchange(request())
    assert server.connections == 2


@running
async def test_who_waits_no_longer_closes_the_connection() -> None:
    """A question that is given up leaves nothing that could answer the next."""
    half = b"HTTP/1.1 200 OK\r\n"
    async with serving(lambda number: OK if number else half) as server, connected(server.port) as connections:
        first = asyncio.create_task(connections.exchange(request()))
        while not server.heard:
            await asyncio.sleep(0.001)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(first, 0.02)
        assert (await connections.exchange(request())).body == b"{}"
    assert server.connections == 2


def test_a_connection_that_does_not_come_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that takes no connection within the time is told as that."""
    monkeypatch.setattr(misses, "CONNECT_SECONDS", 0.05)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for other in waiting:
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        miss = asyncio.run(outcome(f"http://127.0.0.1:{full.getsockname()[1]}"))
        for other in waiting:
            other.close()
    assert told(miss) == "no connection within 0.05 s"


@each_row(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1", "cannot connect: All connection attempts failed (again)"),
        ("http://nowhere.invalid:1", "cannot connect: [Errno "),
    ],
)
def test_nobody_there(url: str, expected: str) -> None:
    """Nobody listens, or there is no such name."""
    miss = told(asyncio.run(outcome(url)))
    assert isinstance(miss, str)
    assert miss.startswith(expected)


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(cafile=CERTIFICATE)
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: context)


@pytest.mark.usefixtures("trusting")
@running
async def test_an_answer_over_tls() -> None:
    """Where the certificate is vouched for, questions go over one connection as they do without TLS."""
    url = "https://127.0.0.1"
    async with serving(lambda _: OK, tls=True) as server, connected(server.port, url=url) as connections:
        for _ in range(3):
            assert (await connections.exchange(request())).body == b"{}"
    assert server.connections == 1


@running
async def test_a_certificate_that_nobody_vouches_for() -> None:
    """Nothing is sent to a server whose certificate no authority signed, whatever the environment trusts."""
    async with serving(lambda _: OK, tls=True) as server:
        miss = told(await outcome(f"https://127.0.0.1:{server.port}"))
    assert isinstance(miss, str)
    assert miss.startswith("cannot connect: [SSL: CERTIFICATE_VERIFY_FAILED]")
    assert server.heard == []


@running
async def test_too_little_memory_for_an_answer_is_no_failed_call() -> None:
    """An answer that raggate has no memory for ends the run: as a failed call it would count against the API."""
    async with serving(lambda _: OK) as server, connected(server.port) as connections:
        with mock.patch("h11.Connection.receive_data", side_effect=MemoryError), pytest.raises(MemoryError):
            await connections.exchange(request())


@running
async def test_a_reset_is_told_as_one() -> None:
    """A connection that is cut off says so, and may be tried again."""
    async with serving(lambda _: b"") as server, connected(server.port) as connections:
        asked = asyncio.create_task(connections.exchange(request()))
        while not server.heard:
            await asyncio.sleep(0.001)
        (writer,) = server.writers
        plug = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        writer.transport.abort()
        with pytest.raises(httpx.ReadError) as error:
            await asked
    assert told(misses.missed(error.value)) == "connection lost: Connection reset by peer (again)"
