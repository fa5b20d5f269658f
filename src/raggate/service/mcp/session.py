"""A session with an MCP server: agreed on once, begun anew when it has expired; tools are listed and called in it."""

from __future__ import annotations

import asyncio
import contextlib

from raggate.service import ask
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.mcp import protocol
from raggate.service.mcp.exchange import Answer, Exchange, Expired
from raggate.service.mcp.protocol import STATELESS, Message, RpcError, Terms, agreed, discovered, proposal
from raggate.service.misses import Missed, miss
from raggate.text.http_client import httpx

MAX_PAGES = 100
"""Of a list of tools."""

_BAD_REQUEST = 400
_GOODBYE_SECONDS = 0.5


class Session:
    """Speaks to one server, for any number of tasks at once. Every method raises as `Exchange.ask` does."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._lock = asyncio.Lock()
        self._terms = Terms()

    async def open(self) -> Terms:
        """Agree on terms with the server where there are none yet."""
        async with self._lock:
            if not self._terms.version:
                self._terms = await self._greet()
            return self._terms

    async def call(self, tool: str, arguments: Message, traceparent: str = "") -> Message:
        """Call a tool, as a part of a trace where there is one, and give the result."""
        # MCP keeps this key of `_meta` for W3C Trace Context
        meta = {"_meta": {ask.HEADER: traceparent}} if traceparent else {}
        return (await self._ask("tools/call", {"name": tool, "arguments": arguments, **meta})).result

    async def tools(self) -> list[Message]:
        """Return the tools of the server: however many pages they have, together they are no larger than one answer."""
        tools: list[Message] = []
        cursor: Message = {}
        size = 0
        for _ in range(MAX_PAGES):
            answer = await self._ask("tools/list", cursor)
            size += answer.size
            if size > MAX_BODY_BYTES:
                raise Missed(miss("body", f"tools/list: the pages have more than {MAX_BODY_BYTES} bytes"))
            page = answer.result
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise Missed(miss("schema", "tools/list: expected the list tools in the result"))
            tools += (tool for tool in listed if isinstance(tool, dict))
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return tools
            cursor = {"cursor": following}
        raise Missed(miss("schema", f"tools/list: more than {MAX_PAGES} pages"))

    async def close(self) -> None:
        """Tell the server that the session is over, where it has one."""
        if self._terms.session:
            with contextlib.suppress(httpx.TransportError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._exchange.end(self._terms, _GOODBYE_SECONDS)

    async def _ask(self, method: str, params: Message) -> Answer:
        terms = await self.open()
        try:
            return await self._exchange.ask(terms, method, params)
        except Expired:
            terms = await self._renewed(terms)
            return await self._exchange.ask(terms, method, params)

    async def _renewed(self, expired: Terms) -> Terms:
        """Begin a new session, once for all who were told that the old one has expired."""
        async with self._lock:
            if self._terms is expired:
                self._terms = await self._greet()
            return self._terms

    async def _greet(self) -> Terms:
        try:
            answer = await self._exchange.ask(Terms(), "initialize", proposal())
            terms = agreed(answer.result, answer.session)
        except Missed as refused:
            # a gateway refuses what lacks the headers of the newest version, and need not say so in JSON
            if isinstance(refused, RpcError) or refused.miss.failure.status == _BAD_REQUEST:
                return await self._discover(refused)
            raise
        await self._exchange.tell(terms, protocol.notification("notifications/initialized"))
        return terms

    async def _discover(self, refused: Missed) -> Terms:
        """Agree with a server that knows no handshake, which is how every newer one answers it."""
        try:
            answer = await self._exchange.ask(Terms(STATELESS), "server/discover", {})
        except Missed:
            raise Missed(miss("status", f"initialize: {refused}", status=refused.miss.failure.status)) from None
        return discovered(answer.result)
