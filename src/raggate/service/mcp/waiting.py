"""A client that waits in place -> what an event loop takes for a transport, for a look at a server by one task."""

from __future__ import annotations

from collections.abc import AsyncIterator

from raggate.service.transport import WITHIN
from raggate.text.http_client import httpx


class WaitingTransport(httpx.AsyncBaseTransport):
    """Carries requests by a client, with its own timeouts and bounds. Nothing else of the event loop runs meanwhile."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        # the other timeouts of a request are those of asking
        within = {WITHIN: request.extensions[WITHIN]} if WITHIN in request.extensions else {}
        sent = self._client.build_request(
            request.method, request.url, headers=request.headers, content=request.content or None, extensions=within
        )
        reply = self._client.send(sent, stream=True, follow_redirects=False)
        return httpx.Response(reply.status_code, headers=reply.headers, stream=_Pieces(reply))


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, reply: httpx.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._reply.iter_raw():
            yield piece

    async def aclose(self) -> None:
        self._reply.close()
