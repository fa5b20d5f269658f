"""Messages over HTTP, to a scripted server in the same process: replies, refusals, sessions, and what is no reply."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from bounds import bounds
from raggate.base.http_client import httpx
from raggate.service.mcp.protocol import STATELESS
from raggate.service.mcp.session import MAX_PAGES, Exchange, Session
from raggate.service.misses import Missed
from tables import each_row

STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
LIMIT = 1 << 14
MINE = "MINE"
"""In a scripted body: the number of the request."""
CALL = 2
"""The number of the first request after the greeting."""


class Pieces(httpx.AsyncByteStream):
    """A body in pieces, without end if they have none."""

    def __init__(self, *pieces: bytes, repeated: bool = False) -> None:
        self._pieces = pieces
        self._repeated = repeated

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the pieces."""
        for piece in self._pieces:
            yield piece
        while self._repeated:
            yield self._pieces[-1]


Script = Callable[[dict[str, Any], httpx.Request], httpx.Response | None]


@dataclass
class Scripted(httpx.AsyncBaseTransport):
    """A server. What the script does not answer is answered as a well-behaved one would."""

    script: Script = lambda *_: None
    heard: list[tuple[str, dict[str, Any], httpx.Headers]] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        message = json.loads(request.content or b"{}")
        self.heard.append((message.get("method", request.method if not message else "reply"), message, request.headers))
        return self.script(message, request) or self.usual(message)

    def usual(self, message: dict[str, Any]) -> httpx.Response:
        """Answer as a server does that is fine."""
        if "id" not in message or "method" not in message:
            return httpx.Response(202, stream=httpx.ByteStream(b""))
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-06-18"},
            "tools/list": {"tools": []},
            "tools/call": {"content": []},
        }
        if message["method"] not in results:
            return said({"id": message["id"], "error": {"code": -32601, "message": "?"}})
        return said({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})

    def methods(self) -> list[str]:
        """List what was asked, in order."""
        return [method for method, _, _ in self.heard]


def said(
    body: object, status: int = 200, headers: dict[str, str] | None = None, *, number: int = CALL
) -> httpx.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    raw = raw.replace(f'"{MINE}"'.encode(), str(number).encode())
    return httpx.Response(status, headers=JSON if headers is None else headers, stream=httpx.ByteStream(raw))


def in_session(server: Scripted, do: Callable[[Session], Coroutine[Any, Any, Any]], headers: Any = ()) -> Any:
    async def run() -> Any:
        session = Session(Exchange(server, "http://api/mcp", dict(headers)))
        try:
            return await do(session)
        finally:
            await session.close()

    with bounds(max_body_bytes=LIMIT):
        return asyncio.run(run())


def call(session: Session) -> Coroutine[Any, Any, Any]:
    return session.call("search", {"q": "key"})


def answering(method: str, response: Callable[[int], httpx.Response]) -> Scripted:
    """Return a server that answers requests of one kind so, and all others well."""
    return Scripted(lambda message, _: response(message["id"]) if message.get("method") == method else None)


def failure(response: httpx.Response) -> str:
    with pytest.raises(Missed) as caught:
        in_session(answering("tools/call", lambda _: response), call)
    return f"{caught.value.miss.failure.kind}: {caught.value}"


def result(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": MINE, "result": {"content": [], **more}}


def events(*data: object) -> bytes:
    return b"".join(b"event: message\ndata: " + json.dumps(part).encode() + b"\n\n" for part in data)


def test_a_session_begins_goes_on_and_ends() -> None:
    """The handshake comes once, then every message carries version and session, and the end of it is told."""
    headers = {**JSON, "mcp-session-id": "s1"}
    greeting = result(protocolVersion="2025-03-26")
    server = answering("initialize", lambda number: said(greeting, headers=headers, number=number))

    async def twice(session: Session) -> None:
        await asyncio.gather(call(session), call(session))

    in_session(server, twice, headers={"Authorization": "Bearer x"})
    assert server.methods() == ["initialize", "notifications/initialized", "tools/call", "tools/call", "DELETE"]
    for _, _, headers in server.heard[1:]:
        assert (headers["mcp-session-id"], headers["mcp-protocol-version"]) == ("s1", "2025-03-26")
    for _, _, headers in server.heard:
        assert headers["authorization"] == "Bearer x"
    assert server.heard[0][2]["accept"] == "application/json, text/event-stream"
    assert server.heard[0][1]["params"]["protocolVersion"] == "2025-11-25"
    numbers = [message["id"] for _, message, _ in server.heard if "id" in message]
    assert len({*numbers}) == len(numbers)


def test_a_server_without_a_handshake_is_told_everything_each_time() -> None:
    """Where initialize is refused, every request says version, client and tool in its body, and over HTTP beside it."""

    def script(message: dict[str, Any], request: httpx.Request) -> httpx.Response | None:
        if message["method"] == "initialize":
            return said({"id": message["id"], "error": {"code": -32601, "message": "?"}}, 400)
        if message["method"] == "server/discover":
            return said(result(supportedVersions=["2027-01-01", "2026-07-28"]), number=message["id"])
        assert request.headers["mcp-protocol-version"] == "2026-07-28"
        return None

    server = Scripted(script)
    in_session(server, call)
    assert server.methods() == ["initialize", "server/discover", "tools/call"]
    _, message, headers = server.heard[-1]
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "search")
    assert message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}


def test_an_expired_session_is_begun_anew_once() -> None:
    """Questions under way when it expired share one new session; one that expires at once is a failed call."""
    sessions = iter(("old", "new", "newer"))

    def script(dead: set[str]) -> Script:
        def answer(message: dict[str, Any], request: httpx.Request) -> httpx.Response | None:
            if message.get("method") == "initialize":
                headers = {**JSON, "mcp-session-id": next(sessions)}
                return said(result(protocolVersion="2025-06-18"), headers=headers, number=message["id"])
            if message.get("method") == "tools/call" and request.headers["mcp-session-id"] in dead:
                return said(b"no such session", 404)
            return None

        return answer

    async def three(session: Session) -> None:
        await asyncio.gather(*(call(session) for _ in range(3)))

    server = Scripted(script({"old"}))
    in_session(server, three)
    assert server.methods().count("initialize") == 2
    sessions = iter(("old", "new"))
    with pytest.raises(Missed, match="HTTP 404: no such session"):
        in_session(Scripted(script({"old", "new"})), call)


@each_row(
    "response",
    [
        said(result()),
        said(events(result()), headers=STREAM),
        said(
            b": keep alive\n\nid: 1\ndata:\n\n"
            + events({"jsonrpc": "2.0", "method": "notifications/progress"}, result()),
            headers={"content-type": "Text/Event-Stream; charset=utf-8"},
        ),
        httpx.Response(
            200, headers=STREAM, stream=Pieces(events({**result(), "id": 2}), b": and on\n\n", repeated=True)
        ),
    ],
)
def test_a_reply_is_found(response: httpx.Response) -> None:
    """It may be JSON, or an event of a stream that goes on for ever."""
    assert in_session(answering("tools/call", lambda _: response), call) == {"content": []}


def test_what_is_asked_back_is_answered_beside_the_stream() -> None:
    """A ping and a request for sampling get their replies by requests of their own, and the call its result."""
    back = [{"jsonrpc": "2.0", "id": name, "method": name} for name in ("ping", "sampling/createMessage")]
    server = answering("tools/call", lambda number: said(events(*back, result()), headers=STREAM, number=number))
    in_session(server, call)
    exchange = [message for method, message, _ in server.heard if method == "reply"]
    assert exchange[0] == {"jsonrpc": "2.0", "id": "ping", "result": {}}
    assert (exchange[1]["id"], exchange[1]["error"]["code"]) == ("sampling/createMessage", -32601)


PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
DEEP = json.loads("[" * 500 + "]" * 500)
NESTED = "nested too deeply: at most 200 levels"


@each_row(
    ("response", "said_of_it"),
    [
        (said(b"<html>"), "schema: expected a JSON-RPC message, found '<html>'"),
        (said(b'{"id": "\xff"}'), "schema: expected a JSON-RPC message, found"),
        (said({**result(deep=DEEP), "id": 2}), NESTED),
        (said({**result(), "id": DEEP}), NESTED),
        (said(events({**PING, "id": DEEP}), headers=STREAM), NESTED),
        (said({"id": 2, "error": {"code": 1, "message": DEEP}}), NESTED),
        (said({"id": 2, "error": None}), "schema: tools/call: the result: expected a mapping"),
        (said(b""), "schema: expected a JSON-RPC message, found ''"),
        (said({**result(), "id": 99}), "schema: the server answers request 99, but raggate sent 2"),
        (said({**result(), "id": None}), "schema: the server answers request null, but raggate sent 2"),
        (said([result()]), "schema: expected a JSON-RPC message, found"),
        (
            said({"id": 2, "error": {"code": 5, "message": "no\nway"}}),
            "status: the server answers with error 5: no way",
        ),
        (said({"id": None, "error": "broken"}), "status: the server answers with error"),
        (
            said({"id": 2, "error": {"code": -1, "message": "gone"}}, 500),
            "status: the server answers with error -1: gone",
        ),
        (said(b"boom", 500), "status: HTTP 500: boom"),
        (said({"id": 2, "error": {"code": 1}}, 503), "status: HTTP 503: "),
        (
            said(b"", 307, {"location": "http://evil/"}),
            "status: HTTP 307: redirects to http://evil/, which raggate does not",
        ),
        (
            said(result(), headers={"content-type": "text/html"}),
            "schema: expected application/json or text/event-stream",
        ),
        (said(result(), headers={**JSON, "content-encoding": "gzip"}), "body: the body is encoded (gzip)"),
        (said(b" " * (LIMIT + 1)), f"body: the body has more than {LIMIT} bytes"),
        (said(events(PING), headers=STREAM), "connection: the server ended its answer without a result"),
        (
            httpx.Response(200, headers=STREAM, stream=Pieces(b": a comment\n\n" * 50, repeated=True)),
            f"body: the event stream has more than {LIMIT} bytes",
        ),
        (
            said(b"".join(b'data: {"id":1,"method":"x"}\n\n' for _ in range(101)), headers=STREAM),
            "schema: the server sent more than 100 requests of its own",
        ),
    ],
)
def test_what_is_no_reply_fails_the_call(response: httpx.Response, said_of_it: str) -> None:
    """Other bodies, numbers, kinds and statuses, errors, and floods are failed calls, each with its reason."""
    assert said_of_it in failure(response)


@each_row("kind", [JSON, STREAM])
@each_row("status", [200, 404, 500])
def test_a_compressed_answer_is_never_unpacked(status: int, kind: dict[str, str]) -> None:
    """A body that would grow a thousandfold costs no more memory than its bytes, whatever its status and kind."""
    bomb = gzip.compress(bytes(32 << 20))
    headers = {**kind, "content-encoding": "gzip"}
    tracemalloc.start()
    try:
        problem = failure(httpx.Response(status, headers=headers, stream=Pieces(bomb, repeated=True)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert problem.startswith("body: the body is encoded (gzip)" if status == 200 else f"status: HTTP {status}")
    assert peak < 4 << 20


@each_row(
    ("greeting", "said_of_it"),
    [
        (lambda n: said(result(protocolVersion="1999-01-01"), number=n), "the server speaks '1999-01-01' of MCP"),
        (lambda n: said(result(), number=n), "the server speaks 'None' of MCP; raggate speaks 2026-07-28, 2025-11-25"),
        (
            lambda n: said(result(protocolVersion="2025-06-18"), headers={**JSON, "mcp-session-id": "a b"}, number=n),
            "Mcp-Session-Id: expected visible ASCII, found 'a b'",
        ),
        (lambda _: said(b"who are you", 401), "HTTP 401: who are you"),
        (lambda _: said(b"a header is missing", 400), "the server speaks \"['1999-01-01']\" of MCP"),
    ],
)
def test_a_server_that_does_not_agree_is_not_called(greeting: Callable[[int], httpx.Response], said_of_it: str) -> None:
    """Another version, a session that fits in no header and a refusal end before any tool is called."""

    def script(message: dict[str, Any], _: httpx.Request) -> httpx.Response | None:
        if message.get("method") == "server/discover":
            return said(result(supportedVersions=["1999-01-01"]), number=message["id"])
        return greeting(message["id"]) if message.get("method") == "initialize" else None

    server = Scripted(script)
    with pytest.raises(Missed) as caught:
        in_session(server, call)
    assert said_of_it in str(caught.value)
    assert "tools/call" not in server.methods()


def test_a_refused_greeting_is_told() -> None:
    """What the server said of it is told if it refuses the way without a greeting too."""
    with pytest.raises(Missed, match="initialize: HTTP 400: a header is missing"):
        in_session(answering("initialize", lambda _: said(b"a header is missing", 400)), call)


def test_a_list_of_tools_may_have_pages_but_not_for_ever() -> None:
    """All pages are read, each asked with the cursor of the one before; one that never ends is told so."""

    def script(pages: int) -> Script:
        def answer(message: dict[str, Any], _: httpx.Request) -> httpx.Response | None:
            if message.get("method") != "tools/list":
                return None
            page = int(message["params"].get("cursor", 0))
            cursor = {"nextCursor": str(page + 1)} if page + 1 < pages else {}
            return said({"id": message["id"], "result": {"tools": [{"name": f"t{page}"}, "none"], **cursor}})

        return answer

    assert in_session(Scripted(script(3)), Session.tools) == [{"name": "t0"}, {"name": "t1"}, {"name": "t2"}]
    with pytest.raises(Missed, match=rf"more than {MAX_PAGES} pages"):
        in_session(Scripted(script(1000)), Session.tools)


def test_the_pages_of_a_list_are_together_no_larger_than_one_answer() -> None:
    """Pages that each fit are given up once their sum is beyond `max_body_bytes`, before more of them are read."""
    page = {"tools": [{"name": "t", "description": "x" * (LIMIT // 2)}], "nextCursor": "more"}
    server = answering("tools/list", lambda number: said({"id": number, "result": page}))
    with pytest.raises(Missed, match=rf"tools/list: the pages have more than {LIMIT} bytes"):
        in_session(server, Session.tools)
    assert server.methods().count("tools/list") == 2


@each_row("stateless", [False, True])
def test_a_call_belongs_to_a_trace(*, stateless: bool) -> None:
    """`traceparent` stands in `_meta` of a call, beside what the newest version puts there, and of no other message."""
    unknown = lambda message, _: (  # noqa: E731 - one response of a scripted server
        said({"id": message["id"], "error": {"code": -32601, "message": "?"}})
        if message.get("method") == "initialize"
        else said({"jsonrpc": "2.0", "id": message["id"], "result": {"supportedVersions": [STATELESS], "content": []}})
    )
    server = Scripted(unknown) if stateless else Scripted()
    in_session(server, lambda session: session.call("search", {"q": "key"}, "00-a-b-01"))
    metas = {method: message.get("params", {}).get("_meta", {}) for method, message, _ in server.heard}
    assert metas["tools/call"]["traceparent"] == "00-a-b-01"
    assert (len(metas["tools/call"]) > 1) == stateless
    assert all("traceparent" not in meta for method, meta in metas.items() if method != "tools/call")
