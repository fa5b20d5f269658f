"""A server on the loopback interface, until it is interrupted."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from raggate.base.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn import Server

LOOPBACK = "127.0.0.1"
MAX_BODY = 1 << 20
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_NOTHING = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def listen(port: int) -> socket.socket:
    """Take a port of the loopback interface; any free one for 0."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((LOOPBACK, port))
        # the socket listens before the address is printed, so that an early request waits and is not refused
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


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(32)


class Guard:
    """Lets requests through to an app below `/<token>/`; all others learn nothing but that they may not."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        reason = self._refused(scope)
        if reason:
            await _refuse(reason, send)
            return
        inner = {**scope, "path": scope["path"].removeprefix(f"/{self._token}") or "/"}
        await self._app(inner, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        names = [value for name, value in scope["headers"] if name.lower() == b"host"]
        host = headers.get(b"host", "")
        if len(names) != 1 or host not in self._hosts:
            return 421, "this server answers only to 127.0.0.1 and localhost"
        token = scope["path"].partition("/")[2].partition("/")
        if not (token[1] and hmac.compare_digest(token[0].encode(), self._token.encode())):
            return 403, "open the address that `raggate label` printed, with its token"
        if headers.get(b"sec-fetch-site", "none") not in {"none", "same-origin"}:
            return 403, "not for pages of other sites"
        if scope["method"] in {"GET", "HEAD"}:
            return None
        if headers.get(b"origin") != f"http://{host}":
            return 403, "not for pages of other sites"
        if headers.get(b"content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "expected JSON"
        # the server holds a body to the length that it announces
        length = headers.get(b"content-length", "")
        if b"transfer-encoding" in headers or not (
            length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= MAX_BODY
        ):
            return 413, f"expected at most {MAX_BODY} bytes, and a Content-Length"
        return None


async def _refuse(reason: tuple[int, str], send: Send) -> None:
    status, text = reason
    await _with_headers(send)(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain; charset=utf-8")]}
    )
    await send({"type": "http.response.body", "body": f"raggate: {text}\n".encode()})


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            if not any(name == b"content-security-policy" for name, _ in own):
                own.append((b"content-security-policy", _NOTHING))
            message = {**message, "headers": [*own, *_HEADERS]}
        await send(message)

    return with_headers
