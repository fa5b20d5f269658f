"""The way to an API that is asked by one HTTP call for each question, and what such an API's adapter does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol
from urllib.parse import urlencode

import httpx

from raggate.config.ask_settings import Ask
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, Started
from raggate.service import http_replies, trace_context
from raggate.service.answer_limits import bounded
from raggate.service.ask import Attempt
from raggate.service.misses import Miss, miss
from raggate.text import jsonio
from raggate.text.certificates import checked_by
from raggate.text.quote import cut

_MAX_URLS = 10_000

Dialogue = Generator[Call, bytes, Response]
"""The calls of one question: gives one after the other, takes the 200 body of each, and returns the response.

It raises a ValueError when a body does not follow the protocol, with what was expected and found. Untrusted text.
"""


class HttpProtocol(Protocol):
    """Turns a case into HTTP calls and their bodies into a response. It does no I/O."""

    def call(self, case: Case, mode: str) -> Call:
        """Give the HTTP call that asks one case in one mode."""

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        """Ask one case in one mode: most APIs answer by one call."""


@asynccontextmanager
async def opened(adapter: HttpProtocol, api: Started, settings: Ask, workers: int) -> AsyncIterator[HttpChannel]:
    """Open a way for so many questions at once, within the timeouts and bounds of `settings`."""
    async with transport_to(api, workers) as transport:
        yield HttpChannel(transport, adapter, api.base_url, settings)


def transport_to(api: Started, connections: int) -> httpx.AsyncHTTPTransport:
    """Give what carries requests to an API, by so many connections at most."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    # not a client but its transport: no redirects, cookies, proxies or other state between questions
    return httpx.AsyncHTTPTransport(limits=limits, verify=checked_by(api.base_url), trust_env=False)


class HttpChannel:
    """A channel of HTTP calls. It has nothing to open."""

    def __init__(
        self, transport: httpx.AsyncBaseTransport, adapter: HttpProtocol, base_url: str, settings: Ask
    ) -> None:
        self._transport = transport
        self._adapter = adapter
        self._base_url = base_url
        self._settings = settings
        self._urls: dict[tuple[str, ...], httpx.URL] = {}
        self._extensions = http_replies.extensions(settings)

    async def opened(self) -> Miss | None:
        """Say nothing, as every call stands for itself."""
        return None

    def question(self, case: Case, mode: str) -> Attempt:
        """Give what asks one case in one mode."""
        return partial(self._attempt, case, mode)

    async def _attempt(self, case: Case, mode: str, traceparent: str | None) -> Response | Miss:
        dialogue = self._adapter.dialogue(case, mode)
        try:
            call = next(dialogue)
            while True:
                body = await self._body(self._request(call, traceparent))
                if isinstance(body, Miss):
                    return body
                call = dialogue.send(body)
        except StopIteration as answered:
            return _bounded(answered.value)
        except ValueError as error:
            return _unread(error)

    def _request(self, call: Call, traceparent: str | None) -> httpx.Request:
        key = (call.path, *call.query, *call.query.values())
        if len(self._urls) >= _MAX_URLS:
            self._urls.clear()
        if key not in self._urls:
            query = f"?{urlencode(call.query)}" if call.query else ""
            self._urls[key] = httpx.URL(f"{self._base_url}{call.path}{query}")
        content = None if call.json is None else jsonio.dumps(call.json)
        traced = {trace_context.HEADER: traceparent} if traceparent else {}
        headers = {**http_replies.HEADERS, **call.headers, **traced}
        return httpx.Request(
            call.method, self._urls[key], headers=headers, content=content, extensions=self._extensions
        )

    async def _body(self, request: httpx.Request) -> bytes | Miss:
        """Give a 200 body, or why there is none."""
        settings, more = self._settings, 0
        try:
            reply = await self._transport.handle_async_request(request)
            try:
                if reply.status_code != 200:
                    return await http_replies.refusal(reply)
                body, whole = await http_replies.read(reply, settings.max_body_bytes)
            finally:
                more = await http_replies.close(reply)
        except httpx.TransportError as error:
            return http_replies.missed(error, settings)
        return http_replies.unreadable(reply, whole=whole, more=more, settings=settings) or body


def _bounded(response: Response) -> Response | Miss:
    try:
        return bounded(response)
    except ValueError as error:
        return _unread(error)


def _unread(error: ValueError) -> Miss:
    return miss("schema", cut(error), status=200)
