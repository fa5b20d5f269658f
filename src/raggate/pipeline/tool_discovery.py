"""An MCP server -> what raggate.yml says of it: which of its tools searches, with which arguments, and what it answers.

Only tools that say by their names that they search are called, or the one that somebody named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct, field

from raggate.config.ask_settings import Ask
from raggate.config.service_settings import CommandBackend
from raggate.errors import CannotTell, UsageError
from raggate.models.service import Workspace
from raggate.pipeline.chunk_mapping import Wanted, chunks_of, shape_of
from raggate.service.adapters.mapped_request import filled_json
from raggate.service.backends import command
from raggate.service.discovery import mcp_tools
from raggate.service.discovery.mcp_tools import Tool
from raggate.service.discovery.openapi import REDIRECTED
from raggate.service.mcp.exchange import Exchange
from raggate.service.mcp.pipes import PipeTransport
from raggate.service.mcp.protocol import Message
from raggate.service.mcp.session import Session
from raggate.service.misses import Missed
from raggate.service.transport import WaitingTransport
from raggate.text import deadlines, redact
from raggate.text.http_client import httpx
from raggate.text.nearest import suggestion
from raggate.text.numbers import setting
from raggate.text.quote import cut, enumerated, quoted

USUAL_PATH = "/mcp"
SECONDS = 60.0
"""For a server that is started, and everything that it is asked; somebody at a terminal thinks within them, too."""

MAX_CALLS = 12
_K = 10
_SHOWN = 20
_NAME_IT = "`--tool NAME` says which one searches the notes."
_READ_IT = (
    "`--question` asks something that the index can answer; docs/mcp.md shows how a text is split into hits, and the "
    "settings to write by hand."
)


def greets(client: httpx.Client, path: str, wanted: Wanted) -> bool:
    """Return whether an MCP server greets back at a path."""

    async def greeted() -> bool:
        session = _session(client, path, wanted)
        try:
            await session.open()
        except (Missed, httpx.HTTPError):
            return False
        await session.close()
        return True

    return asyncio.run(greeted())


def section(client: httpx.Client, path: str, wanted: Wanted) -> dict[str, Any]:
    """Ask a server for its tools, and one of them a question; give the section `ask` for it.

    Raises:
        UsageError: where something is missing that nobody could be asked.
        CannotTell: when no session can be opened.
    """
    headers = wanted.headers
    sent = {"headers": dict(headers.templates), "pass_env": [*headers.pass_env]} if headers.templates else {}
    place = {} if path == USUAL_PATH else {"path": path}
    return {"adapter": "mcp", "mcp": {**place, **sent, **asyncio.run(_settings(client, path, wanted))}}


def discover_started(wanted: Wanted, words: Sequence[str], workspace: Workspace) -> dict[str, Any]:
    """Start a server that speaks over its standard input and output, and give the sections `api` and `ask` for it.

    Args:
        words: the command, as `api.command.run` has it.

    Raises:
        RaggateError: as `section`, and when it cannot be started.
    """
    settings = CommandBackend(run=[*words], stdio=True)
    late = CannotTell(f"the MCP server was not looked at within {setting(SECONDS)} s", hint="Is it slow to start?")
    with deadlines.within(SECONDS, late), command.start(settings, workspace) as started:
        transport = PipeTransport(getattr(started, "pipes"))  # noqa: B009 - not of every started API
        with httpx.Client(base_url=started.base_url, transport=transport, timeout=SECONDS) as client:
            try:
                ask = section(client, USUAL_PATH, wanted)
            except CannotTell as error:
                error.log = started.log_tail()
                raise
    return {"api": {"command": {"run": [*words], "stdio": True}}, "ask": ask}


async def _settings(client: httpx.Client, path: str, wanted: Wanted) -> dict[str, Any]:
    session = _session(client, path, wanted)
    try:
        tools = await session.tools()
    except (Missed, httpx.HTTPError) as error:
        reason = redact.redact_cut(cut(error) or type(error).__name__, wanted.secrets)
        redirected = isinstance(error, Missed) and 300 <= (error.miss.failure.status or 0) < 400
        hint = REDIRECTED if redirected else "Is it up, and does it speak MCP?"
        raise CannotTell(f"the MCP server lists no tools: {reason}", hint=hint) from None
    settings = await _Tools(wanted, session, tools).settings()
    await session.close()
    return settings


def _session(client: httpx.Client, path: str, wanted: Wanted) -> Session:
    # what is looked at waits in place, bounded by the client
    url = f"{str(client.base_url).rstrip('/')}{path}"
    return Session(Exchange(WaitingTransport(client), url, wanted.headers.values, Ask()))


class _Tools(Struct):
    """The tools of one server, and what became of those that were called."""

    _wanted: Wanted
    _session: Session
    _listed: Sequence[Message]
    _tried: list[str] = field(default_factory=list)

    async def settings(self) -> dict[str, Any]:
        """Call the likeliest tools until an answer is understood."""
        problems, hint = ("no result of the MCP server has a list of chunks that raggate can read",), _READ_IT
        for tool in self._candidates()[:MAX_CALLS]:
            try:
                settings = await self._asked(tool)
            except UsageError as error:
                # another tool may name its notes
                problems, hint = (f"{tool.name}: {error.message}",), error.hint
                continue
            if settings is not None:
                return settings
        raise UsageError([*problems, *self._tried], hint=hint)

    def _candidates(self) -> list[Tool]:
        by_name = {tool.name: tool for tool in map(mcp_tools.asking, self._listed) if tool is not None}
        if self._wanted.tool:
            return [self._named(self._wanted.tool, by_name)]
        likely = mcp_tools.searching(self._listed)
        choose = self._wanted.choose
        if choose is not None and by_name and len(likely) != 1:
            names = [tool.name for tool in likely] or [*by_name]
            return [by_name[choose("Which tool of the MCP server searches the notes?", names)]]
        if not likely:
            left_out = [*islice(mcp_tools.left_out(self._listed), _SHOWN)]
            why = left_out or ["none says by its name that it searches"]
            raise UsageError("; ".join([f"the MCP server has {self._names()}", *why]), hint=_NAME_IT)
        return likely

    def _named(self, name: str, by_name: Mapping[str, Tool]) -> Tool:
        if name not in by_name:
            there = [str(tool.get("name")) for tool in self._listed]
            why = mcp_tools.NO_QUESTION if name in there else f"is not there{suggestion(name, there)}"
            raise UsageError(f"--tool: {quoted(name)} {why}; the MCP server has {self._names()}")
        return by_name[name]

    def _names(self) -> str:
        names = [cut(str(tool.get("name")), limit=60) for tool in self._listed[:_SHOWN]]
        return f"the tools {enumerated(names)}" if names else "no tools"

    async def _asked(self, tool: Tool) -> dict[str, Any] | None:
        """Call a tool; give the settings that read its result, None where none do."""
        arguments = filled_json(dict(tool.arguments), {"question": self._wanted.question, "k": _K})
        try:
            result = await self._session.call(tool.name, arguments)
            readings = mcp_tools.readings(result, tool.name, self._wanted.notes.keys())
            shapes = [
                (way, root, shape) for way, root in readings if (shape := shape_of(root, self._wanted)) is not None
            ]
            # one that names its notes is the better way to read the same
            named = [reading for reading in shapes if reading[2].fields.keys() & {"rel_path", "doc_id"}]
            for way, root, shape in [*named, *shapes][:1]:
                response = {"chunks": chunks_of(shape, root, self._wanted)}
                return {"tool": tool.name, "arguments": dict(tool.arguments), **way, "response": response}
            answer = mcp_tools.in_words(result)
        except (Missed, httpx.HTTPError) as error:
            answer = cut(error) or type(error).__name__
        asked = f"{tool.name} ({', '.join(tool.arguments)})"
        self._tried.append(redact.redact_cut(f"{asked}: {answer}", self._wanted.secrets))
        return None
