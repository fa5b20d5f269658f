"""A server on the loopback interface, until it is interrupted."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from raggate.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

LOOPBACK = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Take a port of the loopback interface; any free one for 0.

    Raises:
        UsageError: when it is taken.
    """
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((LOOPBACK, port))
        # whoever is told the address at once waits for the first answer, and is not refused
        taken.listen()
    except OSError as error:
        taken.close()
        raise UsageError(f"--port: {port}: {error.strerror}", hint="Leave it out to take a free one.") from None
    return taken


def server(app: ASGIApp) -> Server:
    """Return a server of an app; `server.run(sockets=[...])` serves until a signal comes."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=64 << 10,
        )
    )
