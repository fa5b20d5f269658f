"""Attempts without a response: what went wrong, and whether another attempt may be made."""

from __future__ import annotations

from msgspec import Struct

from raggate.models.run import Failure, FailureKind
from raggate.text.http_client import httpx
from raggate.text.quote import cut

# how the HTTP library says that the other side hung up, as opposed to talking nonsense
_HUNG_UP = ("Server disconnected", "peer closed connection", "peer unexpectedly closed connection")


class Miss(Struct, frozen=True):
    """An attempt without a response, and whether another attempt may be made."""

    failure: Failure
    again: bool = False


def lost(error: httpx.TransportError) -> Miss:
    """Return how a connection was lost, and whether that may be tried again."""
    cause = cut(error, limit=200) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return miss("connection", f"cannot connect: {cause}", again=True)
    hung_up = isinstance(error, httpx.NetworkError) or cause.startswith(_HUNG_UP)
    return miss("connection", f"connection lost: {cause}" if hung_up else f"not HTTP: {cause}", again=hung_up)


def miss(kind: FailureKind, message: str, *, status: int | None = None, again: bool = False) -> Miss:
    """Make a miss of a failure."""
    return Miss(Failure(kind=kind, message=message, status=status), again)


class Missed(Exception):
    """Raised where a miss cannot be returned."""

    def __init__(self, why: Miss) -> None:
        super().__init__(why.failure.message)
        self.miss = why
