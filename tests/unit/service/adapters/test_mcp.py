"""The adapter of MCP without a server: what is called, what comes of a result, and when a server counts as ready."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from builders import make_case
from played_server import played
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.config.schema import Config
from raggate.config.service_settings import Readiness
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.service.adapters import mcp
from raggate.service.adapters.mcp import McpAdapter
from raggate.service.line_pipes import Serving
from raggate.service.transport import Wire

READY = Readiness()
CASES = [make_case("q1", question="Where is the key?"), make_case("q2", question="Bread?", vaults=("work",))]
HIT = {"path": "work/Keys.md", "headings": ["Keys"], "text": "under the mat"}
SCHEMA = {"properties": {"query": {}, "limit": {}, "vaults": {}}}
TOOLS = [{"name": "search", "inputSchema": SCHEMA}, {"name": "status"}]


@dataclass
class Server:
    """A server in the same process. `results` are what its tools give; `heard` what came, with its headers."""

    results: dict[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=lambda: TOOLS)
    heard: list[tuple[dict[str, Any], httpx.Headers]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        message = json.loads(request.content or b"{}")
        self.heard.append((message, request.headers))
        if "id" not in message:
            return said({}, 202)
        results = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": self.tools}}
        result = results.get(message["method"]) or self.results[message["params"]["name"]]
        result = result(message["params"]["arguments"]) if callable(result) else result
        return said({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def calls(self) -> list[dict[str, Any]]:
        """List the calls of tools."""
        return [message["params"] for message, _ in self.heard if message.get("method") == "tools/call"]


def said(body: object, status: int = 200) -> httpx.Response:
    stream = httpx.ByteStream(json.dumps(body).encode())
    return httpx.Response(status, headers={"content-type": "application/json"}, stream=stream)


def adapter(environment: dict[str, str] | None = None, *, timeout: float = 60, **mcp: Any) -> McpAdapter:
    chunks = {"list": "hits", "rel_path": "path", "path_prefix": "{vault}/", "heading_path": "headings", "text": "text"}
    body = {"query": "{question}", "limit": "{k}", "vaults": "{vaults}"}
    section = {"tool": "search", "body": body, "response": {"chunks": chunks}, **mcp}
    ask = {"adapter": "mcp", **section, "concurrency": 1, "timeout": timeout}
    root = {"vault": {"work": "w", "personal": "p"}, "api": {"url": "http://api"}, "ask": ask}
    return McpAdapter.of(Config.model_validate(root), environment or {})


def asked(monkeypatch: pytest.MonkeyPatch, server: Server, by: McpAdapter) -> list[Result]:
    monkeypatch.setattr(mcp, "transport_to", lambda *_: httpx.MockTransport(server))
    questions = [(case, "hybrid") for case in CASES]
    return [*by.ask(questions, Serving(base_url="http://api"), on_result=lambda *_: None).results]


def looked(server: Callable[[httpx.Request], httpx.Response], by: McpAdapter) -> IndexState:
    with httpx.Client(transport=httpx.MockTransport(server), base_url="http://api") as client:
        return by.index_state(client, READY)


def test_a_question_becomes_arguments_and_a_result_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placeholders keep their type, what a case does not say is left out, and the vault is that of the path."""
    server = Server({"search": {"structuredContent": {"hits": [HIT]}}})
    first, second = asked(monkeypatch, server, adapter())
    assert [call["arguments"] for call in server.calls()] == [
        {"query": "Where is the key?", "limit": 10},
        {"query": "Bread?", "limit": 10, "vaults": ["work"]},
    ]
    assert first.response is not None
    (chunk,) = first.response.chunks
    assert (chunk.vault, chunk.rel_path, chunk.heading_path) == ("work", "Keys.md", "# Keys")
    assert second.failure is None


def test_a_question_whose_result_is_none_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the tool, and a shape that the paths do not fit, are failed calls of their questions."""

    def search(arguments: dict[str, Any]) -> dict[str, Any]:
        failed = {"isError": True, "content": [{"type": "text", "text": "no index"}]}
        return failed if arguments["query"] == "Bread?" else {"structuredContent": {"found": [HIT]}}

    first, second = asked(monkeypatch, Server({"search": search}), adapter())
    assert first.failure is not None
    assert second.failure is not None
    assert first.failure.message == "hits: expected a list, found nothing; the body has the key found (question 'q1')"
    assert second.failure.message == "the tool 'search' says that it failed: no index"


def test_headers_hold_secrets_and_say_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of a session has them, and those of a principal take the place of others of the same name."""
    server = Server({"search": {"structuredContent": {"hits": []}}})
    section = {"headers": {"Authorization": "Bearer {env.KEY}", "X-User": "all"}}
    own = adapter({"KEY": "s3cret"}, **section)
    asked(monkeypatch, server, own.with_headers({"x-user": "anna"}))
    assert len(server.heard) == 4
    assert {(headers["authorization"], headers["x-user"]) for _, headers in server.heard} == {("Bearer s3cret", "anna")}
    with pytest.raises(UsageError, match="KEY, which"):
        adapter({}, **section)


def test_a_tool_tells_how_the_index_stands() -> None:
    """The tool of `index` is called, and its result is read by the paths beside it."""
    index = {"tool": "status", "documents": "files", "indexing": {"state": ["running"]}}
    server = Server({"status": {"structuredContent": {"files": 2, "state": "running"}}})
    assert looked(server, adapter(index=index)) == IndexState(healthy=True, indexing=True, documents=2)


def test_a_server_is_ready_when_it_has_the_tool() -> None:
    """Without `index` the tool is enough; one that fails to tell of the index is indexing still, with its words."""
    assert looked(Server(), adapter()) == IndexState(healthy=True, indexing=False)
    failing = Server({"status": {"isError": True, "content": [{"type": "text", "text": "loading"}]}})
    state = looked(failing, adapter(index={"tool": "status", "documents": "files"}))
    assert (state.healthy, state.indexing) == (True, True)
    assert state.detail == "the tool 'status' says that it failed: loading"


def test_a_server_that_hangs_on_goodbye_is_ready_all_the_same() -> None:
    """The end of a session has half a second of the ten that another request may take, and no say in the state."""
    seconds: dict[str, float] = {}

    def hanging(request: httpx.Request) -> httpx.Response:
        seconds[request.method] = request.extensions["timeout"]["read"]
        if request.method == "DELETE":
            raise httpx.ReadTimeout("no byte")
        response = Server()(request)
        response.headers["mcp-session-id"] = "s1"
        return response

    wire = Wire(httpx.MockTransport(hanging), deadline=60, seconds=10, max_bytes=1 << 20, now=lambda: 0.0)
    with httpx.Client(transport=wire, base_url="http://api") as client:
        assert adapter().index_state(client, READY) == IndexState(healthy=True, indexing=False)
    assert seconds == {"POST": 10, "DELETE": 0.5}


def test_what_no_waiting_changes_ends_the_wait() -> None:
    """A tool that is not there, also that of the index, is told at once; a server that fails may yet come up."""
    with pytest.raises(CannotTell, match="no tool 'search'"):
        looked(Server(tools=[]), adapter())
    with pytest.raises(CannotTell, match="no tool 'stats'"):
        looked(Server(), adapter(index={"tool": "stats", "documents": "files"}))
    state = looked(lambda _: said("starting", 503), adapter())
    assert (state.healthy, state.detail) == (False, 'HTTP 503: "starting"')


PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}


def test_progress_does_not_extend_the_deadline() -> None:
    """A server that only ever tells how far it is has its time, and is then told that nobody waits any more."""
    with played() as side, ThreadPoolExecutor(1) as pool:
        started = Serving(base_url="http://stdio", pipes=side.pipes)
        by = adapter({}, timeout=0.1)
        asked = pool.submit(lambda: by.ask([(CASES[0], "hybrid")], started, on_result=lambda *_: None))
        side.say({"jsonrpc": "2.0", "id": side.hear()["id"], "result": {"protocolVersion": "2025-06-18"}})
        assert side.hear()["method"] == "notifications/initialized"
        call = side.hear()
        side.say(PROGRESS, PROGRESS)
        given_up = side.hear()
        assert (given_up["method"], given_up["params"]) == ("notifications/cancelled", {"requestId": call["id"]})
        (result,) = asked.result(20).results
    assert result.failure is not None
    assert (result.failure.kind, result.failure.message) == ("timeout", "no answer within 0.1 s")
