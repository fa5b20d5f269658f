"""Attempts without a response: what went wrong, in sentences, and whether another attempt may be made."""

from __future__ import annotations

from msgspec import Struct

from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut, quoted
from raggate.models.run import Failure, FailureKind
from raggate.service.answer_limits import MAX_BODY_BYTES

# how the HTTP library says that the other side hung up, as opposed to talking nonsense
_HUNG_UP = ("Server disconnected", "peer closed connection", "peer unexpectedly closed connection")

HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a compressed body could grow a thousandfold
    "Content-Type": "application/json",
    "User-Agent": "raggate",
}
"""What every question is sent with."""
CONNECT_SECONDS = 5.0
"""The longest wait for a connection to the API."""
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_RETRIED_STATUS = frozenset((502, 503))


class Miss(Struct, frozen=True):
    """An attempt without a response, and whether another attempt may be made."""

    failure: Failure
    again: bool = False


def missed(error: httpx.TransportError) -> Miss:
    """Describe a request without a reply, and whether it may be tried again."""
    if isinstance(error, httpx.TimeoutException):
        return miss("timeout", f"no connection within {setting(CONNECT_SECONDS)} s")
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


UNANSWERED = (Missed, httpx.TransportError, ValueError)
"""What asking a question and reading its answer raise."""


def unanswered(error: Exception, case_id: str) -> Miss:
    """Return how a question stayed without an answer, by an error that is one of `UNANSWERED`."""
    if isinstance(error, Missed):
        return error.miss
    if isinstance(error, httpx.TransportError):
        return missed(error)
    return miss("schema", cut(f"{error} (question {quoted(case_id, limit=60)})"))


def unreadable(encoding: str | None, *, whole: bool, more: int) -> Miss | None:
    """Return why a body is not to be read, if it is not: `more` bytes are behind it, `encoding` is its header."""
    if not whole:
        return miss("body", f"the body has more than {MAX_BODY_BYTES} bytes", status=200)
    if more:
        return miss("body", f"{more} bytes came after the end of the answer", status=200)
    return encoded(encoding)


def encoded(encoding: str | None) -> Miss | None:
    """The remark that a body is compressed, if its header says so."""
    if encoding is None or encoding.lower() == "identity":
        return None
    shown = cut(encoding, limit=40)
    return miss("body", f"the body is encoded ({shown}), although raggate asked for plain text", status=200)


def refused(status: int, location: str | None, body: bytes) -> Miss:
    """Describe an unexpected status, with its redirect or the beginning of its body."""
    excerpt = cut(body[:2_000].decode("utf-8", "replace"), limit=200)
    if location is not None and status in _REDIRECTS:
        excerpt = f"redirects to {cut(location, limit=100)}, which raggate does not follow"
    message = f"HTTP {status}: {excerpt}" if excerpt else f"HTTP {status}"
    return miss("status", message, status=status, again=status in _RETRIED_STATUS)
