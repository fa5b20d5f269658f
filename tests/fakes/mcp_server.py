"""A small MCP server over Markdown notes, behind its standard input and output or at a port, well behaved or not.

    mcp_server.py NOTES          speaks over standard input and output
    mcp_server.py NOTES PORT     speaks over HTTP at /mcp

FAKE_BEHAVIOUR is a list such as `stateless,ask_back`; see the uses of `BEHAVIOUR`. `lose:word` keeps every note with
that word from the answers.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from plain_http import PlainHandler, PlainServer

BEHAVIOUR = dict(item.partition(":")[::2] for item in os.environ.get("FAKE_BEHAVIOUR", "ok").split(","))
VAULTS = ("personal", "work")
CALLS = itertools.count(1)
SESSIONS = itertools.count(1)
TIMES: dict[str, itertools.count[int]] = defaultdict(itertools.count)
TOOL = {
    "name": "search_notes",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}, "vaults": {"type": "array"}},
        "required": ["query"],
    },
}


def sections(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(root.rglob("*.md")):
        headings: list[str] = []
        for part in re.split(r"(?m)^(?=#)", path.read_text(encoding="utf-8")):
            marks, _, rest = part.partition(" ")
            title, _, text = rest.partition("\n")
            headings = [*headings[: len(marks) - 1], title.strip()]
            if text.strip():
                section = {"path": path.relative_to(root).as_posix(), "headings": headings, "text": text.strip()}
                found.append(section)
    return found


def words(text: str) -> set[str]:
    """Split into lower-case words of three characters or more."""
    return set(re.findall(r"\w{3,}", text.lower()))


class Server:
    """What is answered, however it is asked."""

    def __init__(self, root: Path) -> None:
        lost = BEHAVIOUR.get("lose", "\0")
        self.key = ""
        self.user = ""
        self.sections = [section for section in sections(root) if lost not in section["text"]]

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Answer one message; None for a notification, or a reply."""
        if "id" not in message or "method" not in message:
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**reply, "result": self.result(message["method"], message.get("params", {}))}
        except LookupError as error:
            return {**reply, "error": {"code": -32601, "message": f"no method {error}"}}

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize" and "stateless" not in BEHAVIOUR:
            return {
                "protocolVersion": BEHAVIOUR.get("version", params["protocolVersion"]),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        if method == "server/discover" and "stateless" in BEHAVIOUR:
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
        if "stateless" in BEHAVIOUR and "_meta" not in params:
            raise LookupError(method)
        if method == "tools/list":
            return {"tools": [TOOL]}
        if method == "tools/call":
            return self.called(params["arguments"])
        raise LookupError(method)

    def called(self, arguments: dict[str, Any]) -> dict[str, Any]:
        number = next(CALLS)
        if number > int(BEHAVIOUR.get("die_after", 1 << 30)):
            os.abort()
        if number > int(BEHAVIOUR.get("fail_after", 1 << 30)):
            return {"content": [{"type": "text", "text": f"the index is corrupt{self.key}"}], "isError": True}
        asked = words(arguments["query"])
        places = tuple(f"{vault}/" for vault in arguments.get("vaults", VAULTS))
        found = [(len(asked & words(section["text"])), section) for section in self.sections]
        places = tuple(place for place in places if self.user in place)
        if "leaks" in BEHAVIOUR:
            places = VAULTS
        hits = [section for shared, section in found if shared and section["path"].startswith(places)]
        hits.sort(key=lambda section: -len(asked & words(section["text"])))
        if "dice" in BEHAVIOUR and next(TIMES[arguments["query"]]) % 2:
            hits.reverse()
        hits = hits[: arguments.get("limit", 10)]
        if "text" in BEHAVIOUR:
            return {"content": [{"type": "text", "text": json.dumps({"hits": hits})}]}
        return {"content": [], "structuredContent": {"hits": hits}}


def over_pipes(server: Server) -> None:
    """Answer line by line until there are no more."""
    if "banner" in BEHAVIOUR:
        write("notes server, ready")
    if "tell_key" in BEHAVIOUR:
        server.key = os.environ["NOTES_KEY"]
        write(server.key)
        sys.stderr.write(server.key)
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            sys.stderr.write(f"told: {line}")
        elif message["method"] == "tools/call":
            if "ask_back" in BEHAVIOUR:
                write(json.dumps({"jsonrpc": "2.0", "id": "b1", "method": "ping"}))
                write(json.dumps({"jsonrpc": "2.0", "id": "b2", "method": "roots/list"}))
            if "noise" in BEHAVIOUR:
                write("searching …")
        reply = server.answer(message)
        if reply is not None:
            write(json.dumps(reply))


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Handler(PlainHandler):
    """The same over HTTP, in sessions, in plain JSON or as a stream of events."""

    server: HttpServer

    def post(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.notes.key = self.headers.get("x-key", "")
        self.server.notes.user = self.headers.get("x-user", "")
        if message["method"] == "initialize" and "stateless" not in BEHAVIOUR:
            self.server.session = f"s{next(SESSIONS)}"
        elif "stateless" not in BEHAVIOUR and self.headers.get("mcp-session-id") != self.server.session:
            self.answer(404, b"no such session")
            return
        reply = self.server.notes.answer(message)
        if reply is None:
            self.answer(202, b"")
        elif "error" in reply and "stateless" in BEHAVIOUR:
            self.said(400, reply)
        else:
            self.said(200, reply)
        if message["method"] == "tools/call" and "forget" in BEHAVIOUR:
            # once, so that one question is asked in a session that is gone
            del BEHAVIOUR["forget"]
            self.server.session = "forgotten"

    def said(self, status: int, reply: dict[str, Any]) -> None:
        body, kind = json.dumps(reply), "application/json"
        if "events" in BEHAVIOUR and status == 200:
            progress = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
            body, kind = f": hello\n\ndata: {progress}\n\nevent: message\ndata: {body}\n\n", "text/event-stream"
        raw = body.encode()
        head = f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n"
        session = f"Mcp-Session-Id: {self.server.session}\r\n" if self.server.session else ""
        self.wfile.write(f"{head}{session}\r\n".encode() + raw)


class HttpServer(PlainServer):
    """A server with one session, as there is one client."""

    session = ""
    notes: Server


def main() -> None:
    """Speak over what the arguments name."""
    server = Server(Path(sys.argv[1]))
    if len(sys.argv) == 2:
        over_pipes(server)
        return
    http = HttpServer(("127.0.0.1", int(sys.argv[2])), Handler)
    http.notes = server
    http.serve_forever()


if __name__ == "__main__":
    main()
