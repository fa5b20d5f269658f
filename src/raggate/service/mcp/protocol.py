"""The messages of MCP: built, read and checked, with the terms both sides agree on. All input is untrusted."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from raggate.base.field_paths import kind_of
from raggate.base.jsonio import loads
from raggate.base.quote import cut, nearest, quoted
from raggate.config.mapped_settings import READINGS, cut_by
from raggate.service.misses import Missed, miss

Message = dict[str, Any]

METHOD_NOT_FOUND = -32601

WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with `initialize`, the one that is proposed first."""
STATELESS = "2026-07-28"
"""The version without a handshake, in which every request says what a handshake said before."""
SESSION = "Mcp-Session-Id"
"""The header of a session."""
_ENCODED = "=?base64?"
_PLAIN = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1000}")
# the version of this client, so that a release does not change what a server receives
_CLIENT = {"name": "raggate", "version": "1"}
_META = "io.modelcontextprotocol"
MAX_BLOCKS = 1_000
"""Of one result."""
SHOWN = 20
"""Names in a message."""


class RpcError(Missed):
    """A JSON-RPC error in place of a result. Its words are the server's, and untrusted."""

    def __init__(self, error: object, status: int | None = None) -> None:
        raw = error if isinstance(error, dict) else {}
        code, words = raw.get("code"), raw.get("message")
        self.code = code if type(code) is int else None
        number = f" {self.code}" if self.code is not None else ""
        detail = f": {cut(words, limit=200)}" if isinstance(words, str) and words.strip() else ""
        super().__init__(miss("status", f"the server answers with error{number}{detail}", status=status))


def request(number: int, method: str, params: Message) -> Message:
    """Return a message that is answered."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: Message | None = None) -> Message:
    """Return a message that is not."""
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def parsed(raw: bytes) -> Message:
    """Read a message. Batches, which one revision of the protocol allows, are not taken."""
    try:
        value = loads(raw)
    except ValueError as error:
        raise ValueError(f"{_beginning(raw)}: {error}") from None
    if not isinstance(value, dict) or not (isinstance(value.get("method"), str) or value.keys() & {"result", "error"}):
        raise ValueError(_beginning(raw))
    return value


def asks(message: Message) -> bool:
    """Return whether a message is the server's own, a request or a notification, and no reply."""
    return message.get("method") is not None


def is_answered(message: Message) -> bool:
    """Return whether a message is a request, which gets a reply."""
    return asks(message) and message.get("id") is not None


def reply_to(message: Message) -> Message | None:
    """Answer what a server asks its client: that it is alive, and nothing else; None for a notification."""
    if not is_answered(message):
        return None
    answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}


def answers(message: Message, number: int) -> bool:
    """Return whether a reply is to the request of that number; an error may leave out what it is about."""
    named = message.get("id")
    return (type(named) is int and named == number) or (named is None and message.get("error") is not None)


def result_of(reply: Message) -> Message:
    """Return the result of a reply; raises RpcError for an error in its place, ValueError for what is no mapping."""
    if reply.get("error") is not None:
        raise RpcError(reply["error"])
    result = reply.get("result")
    if not isinstance(result, dict):
        raise ValueError("the result: expected a mapping")
    return result


def _beginning(raw: bytes) -> str:
    return quoted(raw[:400].decode("utf-8", "replace"), limit=60)


class Disagreed(Missed):
    """Client and server have no version in common, which no waiting changes."""

    def __init__(self, versions: object) -> None:
        spoken = f"raggate speaks {', '.join((STATELESS, *WITH_HANDSHAKE))}"
        super().__init__(miss("schema", f"the server speaks {quoted(versions, limit=80)} of MCP; {spoken}"))


class Terms(Struct, frozen=True):
    """The version that is spoken, empty until it is known, and the session, empty where there is none."""

    version: str = ""
    session: str = ""

    @property
    def stateless(self) -> bool:
        return self.version == STATELESS

    def params(self, given: Message) -> Message:
        if not self.stateless:
            return given
        meta = {"protocolVersion": self.version, "clientInfo": _CLIENT, "clientCapabilities": {}}
        named = {f"{_META}/{name}": value for name, value in meta.items()}
        return {**given, "_meta": {**given.get("_meta", {}), **named}}

    def headers(self, message: Message) -> dict[str, str]:
        given = {"MCP-Protocol-Version": self.version, SESSION: self.session}
        headers = {name: value for name, value in given.items() if value}
        if self.stateless and (method := message.get("method")):
            headers["Mcp-Method"] = method
            tool = message.get("params", {}).get("name")
            if isinstance(tool, str):
                headers["Mcp-Name"] = _in_header(tool)
        return headers


def _in_header(text: str) -> str:
    if _PLAIN.fullmatch(text) and not text.startswith(_ENCODED):
        return text
    return f"{_ENCODED}{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def proposal() -> Message:
    """Return the parameters of `initialize`. Nothing is offered to the server, so it has nothing to ask for."""
    return {"protocolVersion": WITH_HANDSHAKE[0], "capabilities": {}, "clientInfo": _CLIENT}


def agreed(result: Message, session: str) -> Terms:
    """Read the result of `initialize`, and the session that came with it, which has to fit into a header."""
    if session and not _SESSION_ID.fullmatch(session):
        raise Missed(miss("schema", f"{SESSION}: expected visible ASCII, found {quoted(session, limit=60)}"))
    version = result.get("protocolVersion")
    if version not in WITH_HANDSHAKE:
        raise Disagreed(version)
    return Terms(version, session)


def discovered(result: Message) -> Terms:
    """Read the result of `server/discover`."""
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS not in versions:
        raise Disagreed(versions)
    return Terms(STATELESS)


def root_of(result: Message, tool: str, text: str | None = None) -> Any:
    """Return what a result says."""
    if result.get("isError"):
        reason = next((block["text"] for block in _blocks(result) if type(block.get("text")) is str), "")
        words = f": {cut(reason, limit=200)}" if reason.strip() else ""
        raise Missed(miss("status", f"the tool {quoted(tool)} says that it failed{words}"))
    if result.get("resultType", "complete") != "complete":
        kind = quoted(result["resultType"], limit=60)
        why = f"the tool {quoted(tool)} returns {kind} instead of a result, and raggate cannot answer that"
        raise Missed(miss("schema", why))
    if text is not None and text != "json":
        return [item for block in _blocks(result) if (item := _item(block, text)) is not None]
    structured = result.get("structuredContent")
    if structured is not None and not text:
        return structured
    texts = [block["text"] for block in _blocks(result) if _is_text(block)]
    if len(texts) != 1:
        advice = " (`ask.text: blocks` reads each as a hit)" if texts else ""
        expected = "expected structuredContent, or one text block of JSON"
        raise ValueError(f"content: {expected}, found {len(texts)} text blocks{advice}")
    try:
        return loads(texts[0])
    except ValueError as error:
        raise ValueError(f"content[].text: expected JSON, found {quoted(texts[0], limit=60)}: {error}") from None


def _blocks(result: Message) -> list[Message]:
    content = result.get("content", [])
    if not isinstance(content, list) or len(content) > MAX_BLOCKS:
        size = f"{len(content)} of them" if isinstance(content, list) else kind_of(content)
        raise ValueError(f"content: expected a list of at most {MAX_BLOCKS} blocks, found {size}")
    for position, block in enumerate(content):
        if not isinstance(block, dict):
            raise ValueError(f"content[{position}]: expected a mapping, found {kind_of(block)}")
    return content


def _is_text(block: Message) -> bool:
    return block.get("type") == "text" and type(block.get("text")) is str


def _item(block: Message, reading: str) -> Any:
    """Return the hit that a block is; None where it is none."""
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return block["resource"]
    if block.get("type") == "resource_link":
        return block
    if not _is_text(block):
        return None
    text: str = block["text"]
    if reading in READINGS:
        return _value(text, (dict,))
    begin, parts = cut_by(reading)
    return _parts(text.removeprefix(begin), parts) if text.startswith(begin) else None


def _parts(text: str, parts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Cut a text into its parts, as far as what stands behind each of them is there."""
    found: dict[str, Any] = {}
    for name, behind in parts:
        piece, mark, text = text.partition(behind) if behind else (text, "", "")
        if mark != behind:
            break
        found[name] = _value(piece, (dict, list))
    return found


def _value(text: str, kinds: tuple[type, ...]) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = loads(text)
    except ValueError:
        return text
    return value if isinstance(value, kinds) else text


def problem(tools: Sequence[Message], wanted: str, arguments: Collection[str]) -> str:
    """Return why a tool cannot be called with arguments of these names, or nothing when it can.

    Only names are looked at: a required one that is not given, and one that is given and that the tool does not name,
    which many servers drop without a word.
    """
    by_name = {name: tool for tool in tools if isinstance(name := tool.get("name"), str)}
    if wanted not in by_name:
        return f"the server has no tool {quoted(wanted)}, it has {_listed(by_name, wanted)}"
    schema = by_name[wanted].get("inputSchema")
    if not isinstance(schema, dict):
        return ""
    properties, required = schema.get("properties"), schema.get("required")
    known = [*properties] if isinstance(properties, dict) else []
    if schema.get("additionalProperties", False) is False and isinstance(properties, dict):
        for name in (name for name in arguments if name not in known):
            there = f"it has {_listed(known, name)}"
            return f"the tool {quoted(wanted)} has no argument {quoted(name)}, {there}"
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    missing = [name for name in needed if name not in arguments]
    return f"the tool {quoted(wanted)} also needs {_listed(missing)}" if missing else ""


def _listed(names: Collection[str], wanted: str = "") -> str:
    """List names, and the one that is meant by another, if any."""
    shown = [cut(name, limit=60) for name in sorted(names)[:SHOWN]]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    like = nearest(wanted, names) if wanted else None
    return f"{', '.join(shown) or 'none'}{more}" + (f". Did you mean {quoted(like)}?" if like else "")
