"""An MCP server is asked for its tools and one question, and what raggate.yml says of it comes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.pipeline.discovery import discover
from raggate.pipeline.tool_discovery import Wanted, chunks_of, shape_of
from raggate.service.discovery.given import headers_of
from tables import each_row

URL = "http://api.example:8000"
NOTES = {"Keys.md": {("Keys", "Spare")}, "Food.md": {("Food",)}}
HITS = [{"file": "Keys.md", "text": "a key"}, {"file": "Food.md", "text": "bread"}]
QUERY = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
READ = {"list": "hits", "rel_path": "file", "text": "text"}


def tool(name: str) -> dict[str, Any]:
    """Return a tool as it is listed."""
    return {"name": name, "inputSchema": QUERY}


def structured(_: dict[str, Any]) -> dict[str, Any]:
    """Answer as most servers do."""
    return {"content": [], "structuredContent": {"hits": HITS}}


@dataclass
class Server:
    """An MCP server at a path, and what it heard: the methods, and the tools that were called."""

    tools: list[dict[str, Any]] = field(default_factory=lambda: [tool("search_notes"), tool("write_note")])
    answer: Callable[[dict[str, Any]], dict[str, Any]] = structured
    path: str = "/mcp"
    called: list[str] = field(default_factory=list)
    headers: list[httpx.Headers] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        if request.url.path != self.path or request.method != "POST":
            return httpx.Response(404)
        message = json.loads(request.content)
        self.headers.append(request.headers)
        if "id" not in message:
            return httpx.Response(202)
        if "method" not in message or message.get("jsonrpc") != "2.0":
            return httpx.Response(400, json={"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}})
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": self.result(message)})

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a method."""
        if message["method"] == "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
        if message["method"] == "tools/list":
            return {"tools": self.tools}
        self.called.append(message["params"]["name"])
        return self.answer(message["params"])


def discovered(server: Server, url: str = f"{URL}/mcp", **wanted: Any) -> dict[str, Any]:
    """Discover a server."""
    return discover(Wanted(url=url, question="key", **{"notes": NOTES, **wanted}), httpx.MockTransport(server))


@each_row(
    ("path", "url", "place"),
    [
        ("/mcp", f"{URL}/mcp", {}),
        ("/mcp", URL, {}),
        ("/mcp/", URL, {"path": "/mcp/"}),
        ("/tools/mcp/", f"{URL}/tools/mcp/", {"path": "/tools/mcp/"}),
        ("/notes", f"{URL}/notes", {"path": "/notes"}),
    ],
)
def test_a_server_is_recognised(path: str, url: str, place: dict[str, str]) -> None:
    """By its path, at the usual one, and by its greeting at any other; only the tool that searches is called."""
    server = Server(path=path)
    assert discovered(server, url) == {
        "api": {"url": URL},
        "ask": {
            "adapter": "mcp",
            **place,
            "tool": "search_notes",
            "body": {"query": "{question}", "limit": "{k}"},
            "response": {"chunks": READ},
        },
    }
    assert server.called == ["search_notes"]


def blocks(*texts: str, **more: Any) -> dict[str, Any]:
    """Return a result with a text in each block."""
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


IN_BLOCKS = {"text": "blocks", "response": {"chunks": {**READ, "list": "$"}}}
BY_PATH = {"text": "# {path}\n{text}", "response": {"chunks": {"list": "$", "rel_path": "path", "text": "text"}}}


@each_row(
    ("result", "settings"),
    [
        (blocks(json.dumps({"hits": HITS})), {"response": {"chunks": READ}}),
        (blocks(*map(json.dumps, HITS), structuredContent={"result": [{"text": "two notes"}]}), IN_BLOCKS),
        (blocks(*map(json.dumps, HITS)), IN_BLOCKS),
        (blocks(*(f"# {hit['file']}\n{hit['text']}" for hit in HITS)), BY_PATH),
    ],
)
def test_results_of_every_kind_are_read(result: dict[str, Any], settings: dict[str, Any]) -> None:
    """JSON in one text, a hit in each block, and texts that begin with the path of their note."""
    made = discovered(Server(answer=lambda _: result))["ask"]
    assert {name: made[name] for name in made if name not in ("adapter", "tool", "body")} == settings


def test_the_tool_that_was_named_is_called() -> None:
    """Whatever its name says."""
    server = Server(tools=[tool("search_notes"), tool("lines")])
    assert discovered(server, tool="lines")["ask"]["tool"] == "lines"
    assert server.called == ["lines"]


def saying(text: str = "", **more: Any) -> Server:
    """Return a server whose tool answers with a text, and what else its result has."""
    return Server(answer=lambda _: {"content": [{"type": "text", "text": text}] if text else [], **more})


@each_row(
    ("server", "wanted", "said"),
    [
        (Server(tools=[tool("lines"), tool("write_note")]), {}, "has the tools lines and write_note; no name says"),
        (Server(tools=[{"name": "search_all", "inputSchema": {}}]), {}, "search_all; search_all takes no question"),
        (Server(tools=[tool("search_and_wipe")]), {}, "search_and_wipe; search_and_wipe may write, as its"),
        # `post` is a noun here, which nobody can know
        (Server(tools=[tool("search_post")]), {}, "search_post may write, as its name or annotations suggest"),
        (Server(tools=[]), {}, "the MCP server has no tools"),
        (Server(), {"tool": "search_note"}, "'search_note' is not there"),
        (Server(tools=[{"name": "x", "inputSchema": {}}]), {"tool": "x"}, "--tool: 'x' takes no question"),
        (saying("the index is corrupt", isError=True), {}, "the tool 'search_notes' says that it failed: the index"),
        (saying("I found two notes."), {}, "its text is not JSON. It begins with I found two notes."),
        # Python's own text of a list, as a tool whose return type is `str` gives it
        (
            saying(repr(HITS), structuredContent={"result": repr(HITS)}),
            {},
            "It begins with [{'file': 'Keys.md', 'text'",
        ),
        (saying('{"hits": []}'), {}, 'search_notes (query, limit): {"hits": []}'),
        (saying(structuredContent={"hits": []}), {}, "search_notes (query, limit): {'hits': []}"),
    ],
)
def test_what_is_missing_is_said(server: Server, wanted: dict[str, Any], said: str) -> None:
    """What the server has, or what it answered, is in the message."""
    with pytest.raises(UsageError) as caught:
        discovered(server, **wanted)
    assert said in caught.value.message
    assert not server.called or server.called == ["search_notes"]


def test_a_key_is_sent_and_stays_out_of_messages() -> None:
    """Headers go with every message, as variables into the file; a value that a server repeats is not shown."""
    headers = headers_of({"X-Key": "{env.API_KEY}"}, {"API_KEY": "s3cret-of-theirs"})
    server = Server()
    made = discovered(server, headers=headers)["ask"]
    assert made["headers"] == {"X-Key": "{env.API_KEY}"}
    assert {sent["x-key"] for sent in server.headers} == {"s3cret-of-theirs"}
    with pytest.raises(UsageError) as caught:
        discovered(saying("s3cret-of-theirs"), headers=headers, secrets=("s3cret-of-theirs",))
    assert "s3cret" not in caught.value.message


def test_a_server_behind_a_slash() -> None:
    """A redirect from `/mcp` to `/mcp/` is not followed: the message has the address, and says to give it."""

    def redirect(request: httpx.Request) -> httpx.Response:
        return httpx.Response(307, headers={"location": f"{URL}/mcp/"})

    with pytest.raises(CannotTell, match=f"redirects to {URL}/mcp/") as caught:
        discover(Wanted(url=f"{URL}/mcp", question="key"), httpx.MockTransport(redirect))
    assert caught.value.hint == "raggate follows no redirects: give the address that they lead to."


ROOT = {"hits": [{"where": "/v/Keys.md", "body": "a"}, {"where": "/v/Food.md", "body": "b"}]}


@each_row(
    ("trails", "expected"),
    [
        ([["Keys", "Spare"], ["Food"]], {"heading_path": "ref.trail"}),
        (["Keys / Spare", "Food"], {"heading_path": "ref.trail", "heading_separator": " / "}),
        (["Keys / Spare / Ring", "Food"], {"heading_path": "ref.trail", "heading_separator": " / "}),
        ([["Keys"], ["Food"]], {}),  # may be the title of the note alone
        (["Keys", "Food"], {}),
        ([["Keys", "Lost"], ["Food"]], {}),
        (["Keys / Spare", "Food\nBread / Water"], {}),
        ([["Keys", 1], ["Food"]], {}),
        ([None, ["Food"]], {}),
    ],
)
def test_headings_of_a_field_of_any_name(trails: list[Any], expected: dict[str, str]) -> None:
    """Headings are recognised by those of the notes, whatever their field is called; a title alone may be anything."""
    files = ("/v/Keys.md", "/v/Food.md")
    root = [{"path": file, "text": "t", "ref": {"trail": trail}} for file, trail in zip(files, trails, strict=True)]
    wanted = Wanted(url="", question="q", notes={"Keys.md": {("Keys",), ("Keys", "Spare")}, "Food.md": {("Food",)}})
    shape = shape_of(root, wanted)
    assert shape is not None
    chunks = chunks_of(shape, root, wanted)
    assert {part: path for part, path in chunks.items() if part.startswith("heading")} == expected
