"""A search tool of an MCP server: cases become its arguments, its results are read by field paths."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import CannotTell
from raggate.base.http_client import httpx
from raggate.base.redact import Guarded
from raggate.config.ask_settings import MCP_PATH, Ask
from raggate.config.schema import Config
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import IndexState, Started
from raggate.service import ask, boot
from raggate.service.adapters.mapped import filled_json, filled_text, prefixes, values_of, variables
from raggate.service.adapters.mapped_response import Prefixes, read, state_of
from raggate.service.answer_limits import bounded
from raggate.service.ask import AskResult, OnResult
from raggate.service.mcp import protocol
from raggate.service.mcp.pipes import AsyncPipeTransport, Pipes
from raggate.service.mcp.protocol import Disagreed, Message, root_of
from raggate.service.mcp.session import Exchange, Session, transport_to
from raggate.service.misses import Missed
from raggate.service.transport import WaitingTransport

start = boot.spoken_to(Pipes)


class McpAdapter(Guarded, Struct, frozen=True):
    """Calls the tool `ask.tool`, for every question once."""

    start = staticmethod(start)

    _settings: Ask
    _prefixes: Prefixes
    _headers: Mapping[str, str]

    @classmethod
    def of(cls, config: Config, environment: Mapping[str, str]) -> McpAdapter:
        """Make one from the configuration and the environment that its headers may read."""
        ask = config.ask
        secrets = variables(ask.headers, environment, "ask.headers")
        headers = {name: filled_text(text, secrets) for name, text in ask.headers.items()}
        return cls(ask, prefixes(ask.fields.chunks.path_prefix, tuple(config.vault)), headers)

    def index_state(self, client: httpx.Client, _ready: Readiness) -> IndexState:
        """Return whether the server is initialized and has the tool, and what the tool of `ask.index` tells.

        Raises CannotTell when the tool is not there, or takes other arguments, or no version of MCP is spoken by both.
        """
        # what is looked through waits in place, so that this is done when it is
        return asyncio.run(self._looked(WaitingTransport(client), str(client.base_url)))

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        return ask.ask(questions, partial(self._opened, api), api, self._settings, on_result=on_result, collect=collect)

    def with_headers(self, headers: Mapping[str, str]) -> McpAdapter:
        replaced = {name.lower() for name in headers}
        kept = {name: text for name, text in self._headers.items() if name.lower() not in replaced}
        return replace(self, _headers={**kept, **headers})

    async def _looked(self, transport: httpx.AsyncBaseTransport, base_url: str) -> IndexState:
        session = Session(self._exchange(transport, base_url))
        try:
            problem = self._problem(await session.tools())
            if problem:
                raise CannotTell(problem, hint="docs/mcp.md says how `ask` names a tool and its arguments.")
            state = await self._index(session)
        except Disagreed as error:
            raise CannotTell(str(error)) from None
        except Missed as error:
            return IndexState(healthy=False, indexing=False, detail=str(error))
        await session.close()
        return state

    def _problem(self, listed: Sequence[Message]) -> str:
        settings, index = self._settings, self._settings.index
        needed = [(settings.tool, settings.body), *([(index.tool, index.body)] if index else [])]
        problems = (protocol.problem(listed, tool or "", given or {}) for tool, given in needed)
        return next(filter(None, problems), "")

    async def _index(self, session: Session) -> IndexState:
        index = self._settings.index
        if index is None:
            return IndexState(healthy=True, indexing=False)
        try:
            tool = index.tool or ""
            root = root_of(await session.call(tool, index.body or {}), tool)
        except Missed as error:
            return IndexState(healthy=True, indexing=True, detail=str(error))
        return state_of(index, root)

    def _exchange(self, transport: httpx.AsyncBaseTransport, base_url: str) -> Exchange:
        return Exchange(transport, f"{base_url.rstrip('/')}{self._settings.path or MCP_PATH}", self._headers)

    @asynccontextmanager
    async def _opened(self, api: Started, workers: int) -> AsyncIterator[_Channel]:
        async with _transport_to(api, workers) as transport:
            session = Session(self._exchange(transport, api.base_url))
            yield _Channel(session, self._settings, self._read)
            await session.close()

    def _read(self, result: Message) -> Response:
        root = root_of(result, self._settings.tool or "", self._settings.text)
        return read(root, self._settings.fields, self._prefixes, retrieval_only=self._settings.retrieval_only)


@dataclass
class _Channel(ask.Channel):
    """The way to the tool: a session, which is opened before the first question."""

    _session: Session
    _settings: Ask
    _read: Callable[[Message], Response]

    async def opened(self) -> None:
        await self._session.open()

    async def attempt(self, case: Case, mode: str, traceparent: str) -> Response:
        arguments = filled_json(self._settings.body or {}, values_of(case, mode, self._settings))
        return bounded(self._read(await self._session.call(self._settings.tool or "", arguments, traceparent)))


def _transport_to(api: Started, workers: int) -> httpx.AsyncBaseTransport:
    pipes = getattr(api, "pipes", None)
    # what the server asks back is answered while its stream is open
    return transport_to(api, 2 * workers) if pipes is None else AsyncPipeTransport(pipes)
