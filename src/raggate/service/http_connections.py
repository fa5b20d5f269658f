"""The connections to one API: opened when a question needs one, kept for the next, closed with the asking."""

from __future__ import annotations

import asyncio
import socket
import ssl

from raggate.config.ask_settings import Ask
from raggate.service.http_connection import Connection, Reply, Request
from raggate.text.certificates import authorities
from raggate.text.http_client import httpx

_NEXT_ADDRESS_SECONDS = 0.25  # before a second address of a name is tried beside the first, as RFC 8305 has it


class Connections:
    """Carries requests to one API, each on a connection of its own: as many as are under way at once.

    There is no other state between two requests: no redirects, cookies, proxies or credentials.

    Args:
        base_url: scheme, host and port.
        settings: the timeouts and bounds of a question.
    """

    def __init__(self, base_url: str, settings: Ask) -> None:
        url = httpx.URL(base_url)
        self._host = url.raw_host.decode()
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._checked_by = _authorities() if url.scheme == "https" else None
        self._settings = settings
        self._idle: list[Connection] = []

    async def exchange(self, request: Request) -> Reply:
        """Send a request and read its reply.

        Raises:
            httpx.TransportError: when there is none, as `Connection.exchange`, or no connection.
        """
        connection = self._kept() or await self._opened()
        reply = await connection.exchange(request)
        if connection.open:
            self._idle.append(connection)
        return reply

    async def close(self) -> None:
        """Close what is kept."""
        for connection in self._idle:
            connection.close()
        # a socket is closed when the loop comes round
        await asyncio.sleep(0)

    def _kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.close()
        return None

    async def _opened(self) -> Connection:
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(self._settings.connect_timeout)
        try:
            async with limit:
                _, connection = await loop.create_connection(
                    lambda: Connection(self._settings, loop),
                    self._host,
                    self._port,
                    ssl=self._checked_by,
                    happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                )
        except OSError as error:
            raise httpx.ConnectTimeout("") if limit.expired() else httpx.ConnectError(_why(error)) from error
        return connection


def _authorities() -> ssl.SSLContext:
    context = authorities()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _why(error: OSError) -> str:
    # each address of a name may have failed in another way
    return str(error) if isinstance(error, socket.gaierror | ssl.SSLError) else "All connection attempts failed"
