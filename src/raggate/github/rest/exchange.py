"""One HTTP request to GitHub with its redirects -> the whole answer, within a size, the token at its origin only."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from raggate import __version__
from raggate.errors import UsageError
from raggate.github.rest.failures import GitHubError
from raggate.text.certificates import authorities
from raggate.text.guarded import Guarded
from raggate.text.http_client import httpx
from raggate.text.numbers import fixed
from raggate.text.quote import cut, quoted

API_VERSION = "2022-11-28"
"""What the requests are written for. Servers from Enterprise Server 3.9 on know it, earlier ones ignore the header."""

MOST_REDIRECTS = 3
REQUEST_S = 120.0
"""The most seconds one answer may take to arrive in full."""

_ERROR_BYTES = 64 << 10
_TIMEOUT = httpx.Timeout(connect=10, read=30, write=30, pool=10)
_TOKEN = re.compile(r"[\x21-\x7e]+")
_MOVED = frozenset((301, 302, 303, 307, 308))
_LONGEST_ADDRESS = 1000
_NOTIFYING = re.compile(
    r"/repos/[^/]+/[^/]+/(issues|issues/\d+/comments|commits/[^/]+/comments|pulls|pulls/\d+/(comments|reviews)"
    r"|releases)"
)


class Request(Struct, frozen=True, kw_only=True):
    """What is asked of GitHub, and what may be done when it fails.

    Args:
        method: of HTTP, in capitals.
        url: absolute, at the API's own origin.
        path: below the API's base, for messages and rules.
        content: the body; None for none.
        accept: the media type that is asked for.
        limit: the most bytes an answer may have.
        leave: whether a redirect may lead to another origin, without the token.
        repeatable: whether a POST may be sent again although it may have been done.
        find_existing: looks whether it has been done; None for not.
        graphql: whether errors stand in an answer of status 200.
    """

    method: str
    url: httpx.URL
    path: str
    content: bytes | None = None
    accept: str = "application/vnd.github+json"
    limit: int
    leave: bool = False
    repeatable: bool = True
    find_existing: Callable[[], Any | None] | None = None
    graphql: bool = False

    @property
    def writes(self) -> bool:
        """Whether it counts as a change, as every call of GraphQL does."""
        return self.method != "GET"

    @property
    def notifies(self) -> bool:
        """Whether people get to hear of it."""
        return self.method == "POST" and _NOTIFYING.fullmatch(self.path) is not None

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.method} {cut(self.path)}"


class Answer(Guarded, Struct, frozen=True, kw_only=True):
    """What came back.

    `cross_origin`: from another origin than the API's. `next_url`: the link to the next page, if any. `existing`: what
    `find_existing` gave, for a write that turned out to be done already.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cross_origin: bool = False
    next_url: str = ""
    existing: Any = None


class Connection:
    """Connections to one API, and to where it redirects; the arguments are those of `RetryingClient`."""

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None,
        clock: Callable[[], float],
    ) -> None:
        if not _TOKEN.fullmatch(token):
            problem = "it has spaces or other characters no token has" if token else "it is empty"
            raise UsageError(f"the GitHub token cannot be used: {problem}", hint="Usually it is ${{ github.token }}.")
        self.base = _base(api_url)
        self._token = token
        self._clock = clock
        try:
            verify = authorities() if self.base.scheme == "https" and transport is None else _usual()
            self._client = httpx.Client(
                transport=transport, timeout=_TIMEOUT, verify=verify, headers={"User-Agent": f"raggate/{__version__}"}
            )
        except (OSError, ValueError, ImportError, UsageError) as error:
            raise UsageError(
                f"no connection to GitHub can be made: {error}",
                hint="Look at `ca-file`, SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY and ALL_PROXY.",
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def same_origin(self, url: httpx.URL) -> bool:
        """Return whether a URL is at the API's own origin: scheme, host and port."""
        return not url.userinfo and _origin(url) == _origin(self.base)

    def resolve_url(self, text: str, *, start: httpx.URL) -> httpx.URL:
        """Read a URL that GitHub sent, relative to another one.

        Raises:
            GitHubError: for what is no http(s) URL, holds a password, or would leave https.
        """
        try:
            url = start.join(text)
        except (httpx.InvalidURL, ValueError) as error:
            raise GitHubError(f"the server sent a link that is no URL: {quoted(text, limit=100)}") from error
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
            raise GitHubError(f"the server sent a link that is not followed: {quoted(text, limit=100)}")
        if self.base.scheme == "https" and url.scheme != "https":
            raise GitHubError(f"the server sent a link to {cut(url.host)} without https, which is not followed")
        return url

    def exchange(self, request: Request) -> Answer:
        """Send a request, follow at most three redirects, and read the answer whole.

        Of an answer that is an error at most 64 KiB are read.

        Raises:
            httpx.HTTPError: when no whole answer came in time.
            GitHubError: for a redirect that is not followed, or an answer larger than the limit.
        """
        url, same_origin = request.url, True
        for _ in range(MOST_REDIRECTS + 1):
            # what has left the origin once gets no token, even if it comes back
            same_origin = same_origin and self.same_origin(url)
            answer, location = self._send(request, url, same_origin=same_origin)
            if not location:
                return answer
            url = self.resolve_url(location, start=url)
            if not request.leave and not self.same_origin(url):
                raise GitHubError(f"the server redirects to {cut(url.host)}, which is not followed")
        raise GitHubError(f"the server redirects more than {MOST_REDIRECTS} times")

    def _send(self, request: Request, url: httpx.URL, *, same_origin: bool) -> tuple[Answer, str]:
        end = self._clock() + REQUEST_S
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        if same_origin:
            headers |= {"Accept": request.accept, "X-GitHub-Api-Version": API_VERSION}
            headers |= {"Authorization": f"Bearer {self._token}"}
            headers |= {"Content-Type": "application/json"} if request.content is not None else {}
        with self._client.stream(request.method, url, headers=headers, content=request.content) as response:
            status = response.status_code
            moved = status in _MOVED and (request.method == "GET" or status in {307, 308})
            location = response.headers.get("location", "") if moved else ""
            body = b"" if location else self._body(response, request.limit, end)
            next_url = response.links.get("next", {}).get("url", "")
            answer = Answer(
                status=status, headers=response.headers, body=body, cross_origin=not same_origin, next_url=next_url
            )
            return answer, location

    def _body(self, response: httpx.Response, limit: int, end: float) -> bytes:
        pieces, size = [], 0
        bad = response.status_code >= 300
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            # a few bytes could unpack to gigabytes
            raise GitHubError(f"the server's answer is packed ({cut(encoding)}), expected it as it is")
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if bad and size > _ERROR_BYTES:
                break
            if not bad and size > limit:
                raise GitHubError(f"the server's answer is larger than {limit} bytes", status=response.status_code)
            if self._clock() > end:
                raise httpx.ReadTimeout(f"the answer is not complete after {fixed(REQUEST_S, 0)} seconds")
        return b"".join(pieces)[:_ERROR_BYTES] if bad else b"".join(pieces)


def _base(api_url: str) -> httpx.URL:
    try:
        url = httpx.URL(api_url.rstrip("/"))
    except httpx.InvalidURL as error:
        raise UsageError(f"GITHUB_API_URL is no URL: {quoted(api_url)}") from error
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise UsageError(f"GITHUB_API_URL: expected a URL with http or https; found {quoted(url.host or api_url)}")
    return url


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


@lru_cache(maxsize=1)
def _usual() -> ssl.SSLContext:
    """Return the usual certificates, which take long to load, for where an API without https may redirect to."""
    return authorities()


def address(value: object) -> str:
    """The address of a page that GitHub names; empty for none, for what cannot be printed and what is too long."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_ADDRESS else ""


def encodable(text: str) -> str:
    """Return a text as JSON can hold it: surrogates become `?`."""
    return text.encode("utf-8", "replace").decode()
