"""What client and server agree on before a tool is called: a version, a session, and what they want of each message."""

from __future__ import annotations

import base64
import re

from msgspec import Struct

from raggate.service.mcp.messages import Message
from raggate.service.misses import Missed, miss
from raggate.text.quote import quoted

WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with `initialize`, the one that is proposed first."""

STATELESS = "2026-07-28"
"""The version without a handshake, in which every request says what a handshake said before."""

SESSION = "Mcp-Session-Id"
"""The header of a session."""

_ENCODED = "=?base64?"
_PLAIN = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1000}")
# the version is of this client, so that what a server is told does not change with every release
_CLIENT = {"name": "raggate", "version": "1"}
_META = "io.modelcontextprotocol"


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
        """Whether there is no session."""
        return self.version == STATELESS

    def params(self, given: Message) -> Message:
        """Return the parameters of a request as this version wants them."""
        if not self.stateless:
            return given
        meta = {
            f"{_META}/protocolVersion": self.version,
            f"{_META}/clientInfo": _CLIENT,
            f"{_META}/clientCapabilities": {},
        }
        return {**given, "_meta": {**given.get("_meta", {}), **meta}}

    def headers(self, message: Message) -> dict[str, str]:
        """Return the headers of a message over HTTP as this version wants them."""
        given = {"MCP-Protocol-Version": self.version, SESSION: self.session}
        headers = {name: value for name, value in given.items() if value}
        if self.stateless and (method := message.get("method")):
            headers["Mcp-Method"] = method
            tool = message.get("params", {}).get("name")
            if isinstance(tool, str):
                headers["Mcp-Name"] = _in_header(tool)
        return headers


def _in_header(text: str) -> str:
    """Write a text as this protocol does in a header, which has no other characters."""
    if _PLAIN.fullmatch(text) and not text.startswith(_ENCODED):
        return text
    return f"{_ENCODED}{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def proposal() -> Message:
    """Return the parameters of `initialize`. Nothing is offered to the server, so it has nothing to ask for."""
    return {"protocolVersion": WITH_HANDSHAKE[0], "capabilities": {}, "clientInfo": _CLIENT}


def agreed(result: Message, session: str) -> Terms:
    """Read the result of `initialize`, and the session that came with it.

    Raises:
        Disagreed: when the server speaks no version that raggate does.
        Missed: when the session can be in no header.
    """
    if session and not _SESSION_ID.fullmatch(session):
        raise Missed(miss("schema", f"{SESSION}: expected visible ASCII, found {quoted(session, limit=60)}"))
    version = result.get("protocolVersion")
    if version not in WITH_HANDSHAKE:
        raise Disagreed(version)
    return Terms(version, session)


def discovered(result: Message) -> Terms:
    """Read the result of `server/discover`.

    Raises:
        Disagreed: when the server speaks no version without a handshake that raggate does.
    """
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS not in versions:
        raise Disagreed(versions)
    return Terms(STATELESS)
