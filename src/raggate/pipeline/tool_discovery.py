"""An MCP server -> what raggate.yml says of it: which of its tools searches, with which arguments, and what it answers.

Only tools that say by their names that they search are called, or the one that somebody named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct, field

from raggate.base import dates, redact
from raggate.base.errors import CannotTell, UsageError
from raggate.base.headings import Elements, fold, separator_of, set_apart_by
from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut, enumerated, quoted, suggestion
from raggate.base.redact import Guarded
from raggate.config.ask_settings import MCP_PATH
from raggate.config.mapped_settings import ChunkFields, ResponseFields
from raggate.config.service_settings import Api
from raggate.gate.filled_fields import prefix_of
from raggate.inputs.notes import JUDGED_CHUNKS
from raggate.inputs.text_places import Finder
from raggate.models.service import Workspace
from raggate.service.adapters import mcp
from raggate.service.adapters.mapped import filled_json, prefixes
from raggate.service.adapters.mapped_response import read
from raggate.service.discovery import mcp_tools, shapes
from raggate.service.discovery.given import Headers
from raggate.service.discovery.mcp_tools import Tool
from raggate.service.discovery.openapi import REDIRECTED
from raggate.service.discovery.shapes import Shape
from raggate.service.mcp.pipes import PipeTransport
from raggate.service.mcp.protocol import Message
from raggate.service.mcp.session import Exchange, Session
from raggate.service.misses import Missed
from raggate.service.transport import WaitingTransport

_LONGEST = 500
"""Characters of the longest text that may be headings: a passage that begins with them is longer."""

SECONDS = 60.0
"""For a server that is started, and everything that it is asked."""
MAX_CALLS = 12
_K = 10
_SHOWN = 20
_NAME_IT = "`--tool NAME` names the one that searches the notes."
_READ_IT = (
    "`--question` asks something that the index can answer; docs/mcp.md shows how a text is split into hits, and the "
    "settings to write by hand."
)


class Wanted(Guarded, Struct, frozen=True, kw_only=True):
    """What is known before the API is called, each as somebody said it or empty.

    Attributes:
        url: with the path of the endpoint or without; empty for a server that is started.
        notes: the notes that it may name: path -> the heading paths of each.
        find: finds the headings of a text in its note.
        directories: where the notes lie on this machine.
        fields: part of a chunk, or `list` -> its path.
        secrets: values that no message may hold.
        tool: the tool of an MCP server that searches.
        body: the JSON body that asks the question.
        health: the path that answers 200 when it is up.
    """

    url: str
    question: str
    notes: Mapping[str, Collection[Elements]] = field(default_factory=dict)
    find: Finder = field(default=lambda *_: None)
    directories: Collection[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)
    secrets: tuple[str, ...] = ()
    tool: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    health: str = ""


def check_fields(wanted: Wanted) -> None:
    """Refuse a part that no chunk has."""
    strange = next((name for name in wanted.fields if name not in ChunkFields.model_fields), None)
    if strange is not None:
        parts = ", ".join(ChunkFields.model_fields)
        near = suggestion(strange, ChunkFields.model_fields)
        raise UsageError(f"--map: expected one of {parts}, found {quoted(strange)}{near}")


def shape_of(root: Any, wanted: Wanted) -> Shape | None:
    """Recognise an answer; None when it has no list of chunks."""
    return shapes.recognise(root, wanted.notes.keys(), wanted.fields.get("list"))


def chunks_of(shape: Shape, root: Any, wanted: Wanted) -> dict[str, Any]:
    """Return the section of the chunks, with what somebody said before what was recognised."""
    paths_by_part = {"list": shape.list, **shape.fields, **wanted.fields}
    if not paths_by_part.keys() & {"rel_path", "doc_id"}:
        texts = enumerated(list(shape.texts[:20])) or "none"
        raise UsageError(
            f"no part of a passage in {shape.list} looks like the path of its note. Its texts are {texts}",
            hint="Name it with `--map rel_path=meta.file`, or with `--map doc_id=id` if there is only an id.",
        )
    chunks: dict[str, Any] = {name: paths_by_part[name] for name in ChunkFields.model_fields if name in paths_by_part}
    prefix = _prefix(chunks, root, wanted)
    if prefix and "path_prefix" not in chunks:
        # also behind `file://`
        if prefix.rstrip("/").endswith((*wanted.directories,)):
            raise UsageError(
                f"the API returns absolute paths of this machine, below {quoted(prefix)}: "
                "no other machine has that folder",
                hint="Let it return paths from the folder of the notes. If it runs in another folder on CI, name that: "
                "`--map path_prefix=/data/notes/`.",
            )
        # a template, in which braces are doubled
        chunks["path_prefix"] = prefix.replace("{", "{{").replace("}", "}}")
    if "heading_path" not in chunks and (known := _known_headings(chunks, root, prefix or "", wanted)) is not None:
        chunks["heading_path"] = known
    separator = _separator(chunks, root, prefix or "", wanted)
    if separator is not None:
        chunks.setdefault("heading_separator", separator)
    if _found_by_text(chunks, root, wanted):
        told = {"path": chunks["heading_path"]} if "heading_path" in chunks else {}
        chunks["heading_path"] = {"from": "text", **told}
    return chunks


def _found_by_text(chunks: Mapping[str, Any], root: Any, wanted: Wanted) -> bool:
    """Return whether at least half of the passages have more headings by their text than the API tells."""
    if not chunks.keys() >= {"rel_path", "text"}:
        return False
    fields = ResponseFields(chunks=ChunkFields.model_validate(chunks))
    vaults = prefixes(fields.chunks.path_prefix, ())
    try:
        passages = read(root, fields, vaults, retrieval_only=True).chunks
    except ValueError:
        return False
    found = [wanted.find(None, it.rel_path, it.heading_path, it.text) for it in passages[:JUDGED_CHUNKS]]
    return bool(found) and 2 * sum(headings is not None for headings in found) >= len(found)


def _prefix(chunks: Mapping[str, str], root: Any, wanted: Wanted) -> str | None:
    paths = [path for path in shapes.values_of("rel_path", chunks, root) if isinstance(path, str)]
    strange = [path for path in paths if path not in wanted.notes]
    return prefix_of(strange, set(wanted.notes)) if strange and len(strange) == len(paths) else None


def _known_headings(chunks: Mapping[str, Any], root: Any, prefix: str, wanted: Wanted) -> str | None:
    notes = [
        wanted.notes.get(path.removeprefix(prefix), ()) if isinstance(path, str) else ()
        for path in shapes.values_of("rel_path", chunks, root)
    ]
    leaves = shapes.leaves_of(chunks, root)
    fitting = (leaf for leaf, values in leaves.items() if leaf not in chunks.values() and _are_headings(values, notes))
    return next(fitting, None)


def _are_headings(values: Sequence[Any], notes: Sequence[Collection[Elements]]) -> bool:
    """Return whether these are headings of these notes, of several levels somewhere: a title alone may be anything."""
    if all(isinstance(value, str) and len(value) <= _LONGEST and "\n" not in value for value in values):
        return set_apart_by(zip(values, notes, strict=False)) is not None
    trails = [tuple(map(fold, value)) if shapes.is_texts(value) else () for value in values]
    known = ([tuple(map(fold, path)) for path in paths] for paths in notes)
    return max(map(len, trails)) > 1 and all(trail in paths for trail, paths in zip(trails, known, strict=False))


def _separator(chunks: Mapping[str, str], root: Any, prefix: str, wanted: Wanted) -> str | None:
    if not isinstance(chunks.get("heading_path"), str):
        return None
    paths, headings = (shapes.values_of(part, chunks, root) for part in ("rel_path", "heading_path"))
    # LlamaIndex writes `/A/B/`
    return separator_of(
        (text.strip("/"), wanted.notes.get(path.removeprefix(prefix), ()))
        for path, text in zip(paths, headings, strict=False)
        if isinstance(path, str) and isinstance(text, str)
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
    """Ask a server for its tools, and one of them a question; give the section `ask` for it."""
    sent = {"headers": dict(wanted.headers.templates)} if wanted.headers.templates else {}
    place = {} if path == MCP_PATH else {"path": path}
    return {"adapter": "mcp", **place, **sent, **asyncio.run(_settings(client, path, wanted))}


def discover_started(wanted: Wanted, how: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Do what `discover_program` does, for a server that speaks over its standard input and output."""
    api = {**how, "stdio": True}
    late = CannotTell(f"the MCP server did not answer within {setting(SECONDS)} s", hint="Is it slow to start?")
    with mcp.start(Api.model_validate(api), workspace) as started, dates.within(SECONDS, late):
        transport = PipeTransport(getattr(started, "pipes"))  # noqa: B009 - not of every started API
        with httpx.Client(base_url=started.base_url, transport=transport, timeout=SECONDS) as client:
            try:
                ask = section(client, MCP_PATH, wanted)
            except CannotTell as error:
                error.log = started.log_tail()
                raise
    return {"api": api, "ask": ask}


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
    return Session(Exchange(WaitingTransport(client), url, wanted.headers.values))


class _Tools(Struct):
    """The tools of one server, and what became of those that were called."""

    _wanted: Wanted
    _session: Session
    _listed: Sequence[Message]
    _tried: list[str] = field(default_factory=list)

    async def settings(self) -> dict[str, Any]:
        """Call the likeliest tools until an answer is understood."""
        problems, hint = ("no result of the MCP server has a list of passages that raggate can read",), _READ_IT
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
        if not likely:
            left_out = [*islice(mcp_tools.left_out(self._listed), _SHOWN)]
            why = left_out or ["no name says that it searches"]
            raise UsageError("; ".join([f"the MCP server has {self._names()}", *why]), hint=_NAME_IT)
        return likely

    def _named(self, name: str, by_name: Mapping[str, Tool]) -> Tool:
        if name not in by_name:
            there = [str(tool.get("name")) for tool in self._listed]
            why, meant = (mcp_tools.NO_QUESTION, "") if name in there else ("is not there", suggestion(name, there))
            raise UsageError(f"--tool: {quoted(name)} {why}. The MCP server has {self._names()}{meant}")
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
                return {"tool": tool.name, "body": dict(tool.arguments), **way, "response": response}
            answer = mcp_tools.in_words(result)
        except (Missed, httpx.HTTPError) as error:
            answer = cut(error) or type(error).__name__
        asked = f"{tool.name} ({', '.join(tool.arguments)})"
        self._tried.append(redact.redact_cut(f"{asked}: {answer}", self._wanted.secrets))
        return None
