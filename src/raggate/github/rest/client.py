"""Requests to GitHub -> JSON or bytes: paced, repeated where that is safe, within one budget of waiting."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct

from raggate import __version__
from raggate.base.certificates import checked_by
from raggate.base.dates import retry_after
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.jsonio import dumps, fields, loads
from raggate.base.numbers import fixed, often, setting
from raggate.base.quote import cut, quoted
from raggate.base.redact import Guarded, redact_cut

API_VERSION = "2022-11-28"
"""What the requests are written for. Servers from Enterprise Server 3.9 on know it, earlier ones ignore the header."""

MOST_REDIRECTS = 3
MOST_RETRIES = 3
"""How often a request is sent again, whatever the reasons were."""
REQUEST_S = 120.0
"""The most seconds one answer may take to arrive in full."""
FALLBACK_S = 60.0
"""Seconds to wait for a rate limit that does not say how long."""
BETWEEN_WRITES_S = 1.0
MOST_JSON_BYTES = 64 << 20
"""The largest JSON answer that is read: a page of a hundred comments of full length has about half."""
RAW = "application/vnd.github.raw+json"

_JSON = "application/vnd.github+json"
_MOST_PAGES = 1000
_PER_PAGE = 100
_ERROR_BYTES = 64 << 10
_LONGEST_ADDRESS = 1000
_TIMEOUT = httpx.Timeout(connect=10, read=30, write=30, pool=10)
_TOKEN = re.compile(r"[\x21-\x7e]+")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")
_NUMBER = re.compile(r"[0-9]{1,12}")
_SECONDARY = re.compile(r"\bsecondary rate\b", re.IGNORECASE)
_MOVED = frozenset((301, 302, 303, 307, 308))
_FINAL = frozenset((400, 401, 403, 404, 410, 422, 451))
# nothing has been asked yet where no connection was made
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+")
# path below /repos/owner/name -> the scope of `permissions:` that it needs; the first match counts
_SCOPES = (
    (re.compile(r"/issues/(\d+/comments|comments/\d+(/reactions)?)"), "pull-requests"),
    (re.compile(r"/pulls(/.*)?|/commits/[^/]+/pulls"), "pull-requests"),
    (re.compile(r"/issues(/.*)?"), "issues"),
    (re.compile(r"/actions/.*"), "actions"),
    (re.compile(r"|/(contents|git|commits|compare|branches)(/.*)?"), "contents"),
)


class Request(Struct, frozen=True, kw_only=True):
    """What is asked of GitHub, and what may be done when it fails.

    `path` is below the API's base. `leave` lets a redirect lead to another origin, without the token. A POST that may
    have been done is sent again if it is `repeatable`; `find_existing` looks whether it has been.
    """

    method: str
    url: httpx.URL
    path: str
    content: bytes | None = None
    accept: str = _JSON
    limit: int = MOST_JSON_BYTES
    leave: bool = False
    repeatable: bool = True
    find_existing: Callable[[], Any | None] | None = None
    writes: bool = False

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.method} {cut(self.path)}"


class Answer(Guarded, Struct, frozen=True, kw_only=True):
    """What came back; `existing` is what `find_existing` gave, for a write that turned out to be done already."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    cross_origin: bool = False
    next_url: str = ""
    existing: Any = None


class Wait(Struct, frozen=True):
    """Send it again after so many seconds. `asked` tells whether GitHub said so; the reason follows "because of"."""

    seconds: float
    reason: str
    asked: bool = False


def wait_after(status: int | None, headers: Mapping[str, str], body: str, *, number: int, now: float) -> Wait | None:
    """Return how long to wait before a failed request is sent again; None if that is no use.

    `number` is 1 for the first time it was sent, `now` seconds since 1970. The body is untrusted.
    """
    asked = retry_after(headers.get("retry-after", ""), now)
    if status in {403, 429}:
        secondary, reset = _SECONDARY.search(body), headers.get("x-ratelimit-reset", "").strip()
        used_up = headers.get("x-ratelimit-remaining", "").strip() == "0"
        if used_up and not secondary and _NUMBER.fullmatch(reset):
            # GitHub counts in whole seconds: one more, so that it is over for certain
            return Wait(float(max(math.ceil(int(reset) - now) + 1, 0)), "a rate limit", asked=True)
        if asked or secondary or used_up:
            return Wait(asked or FALLBACK_S, "a rate limit", asked=True)
    if status in _FINAL or (status is not None and status < 400):
        return None
    reason = "a failed connection" if status is None else f"status {status}"
    return Wait(max(float(number**2), asked or 0.0), reason, asked=(asked or 0.0) > number**2)


class GitHub(AbstractContextManager["GitHub"]):
    """GitHub's API, with one token, one request at a time. To be used as a context manager.

    The token goes to the origin of `api_url` only and into no message. `graphql_url` is empty for the one that belongs
    to `api_url`. Retries and rate limits are waited for `budget_s` seconds in all; `say` gets a line before each.
    """

    def __init__(
        self,
        *,
        api_url: str,
        token: str,
        graphql_url: str = "",
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        budget_s: float = 120,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        if not _TOKEN.fullmatch(token):
            problem = "it has spaces or other characters no token has" if token else "it is empty"
            raise UsageError(f"the GitHub token cannot be used: {problem}", hint="Usually it is ${{ github.token }}.")
        self._origin = _address(api_url.rstrip("/"), "GITHUB_API_URL")
        self._base = str(self._origin).rstrip("/")
        self._graphql_url = self._graphql_address(graphql_url or f"{self._base.removesuffix('/v3')}/graphql")
        self._token = token
        self._sleep, self._clock, self._now, self._say = sleep, clock, now, say
        self._left_s = budget_s
        self._wrote_at = float("-inf")
        try:
            self._client = httpx.Client(
                transport=transport,
                timeout=_TIMEOUT,
                verify=checked_by(self._base if transport is None else "http:"),
                headers={"User-Agent": f"raggate/{__version__}"},
            )
        except (OSError, ValueError, ImportError, UsageError) as error:
            raise UsageError(
                f"no connection to GitHub can be made: {error}",
                hint="Look at SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY and ALL_PROXY.",
            ) from error

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def get(self, path: str, **params: str | int | None) -> Any:
        """Read a JSON value; None when the answer is empty. A parameter that is None is left out."""
        return self._json(Request(method="GET", url=self._url(path, **params), path=path))

    def find(self, path: str, **params: str | int | None) -> Any:
        """Read a JSON value like `get`; None if GitHub says that it does not exist."""
        try:
            return self.get(path, **params)
        except GitHubError as error:
            if error.status == 404:
                return None
            raise

    def pages(self, path: str, *, key: str | None = None, **params: str | int | None) -> Iterator[Any]:
        """Read a list page by page, as far as the caller goes. One of very many pages is an error, never cut.

        `key` is where the list stands when it is wrapped in an object, such as `workflow_runs`.
        """
        url = self._url(path, per_page=_PER_PAGE, **params)
        seen = {str(url)}
        while True:
            request = Request(method="GET", url=url, path=path)
            answer = self._perform(request)
            items = self._parsed(request, answer)
            if key is not None:
                items = items.get(key) if isinstance(items, dict) else None
            if not isinstance(items, list):
                raise self._error(request, "expected a list" + (f" in {key!r}" if key else ""), status=answer.status)
            yield from items
            if not answer.next_url:
                return
            url = self._resolved(answer.next_url, start=url)
            if not self._at_home(url):
                raise self._error(request, f"its next page is at {cut(url.host)}, which raggate does not follow")
            if str(url) in seen or len(seen) >= _MOST_PAGES:
                raise self._error(request, "its pages do not end")
            seen.add(str(url))

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        find_existing: Callable[[], Any | None] | None = None,
        repeatable: bool = False,
    ) -> Any:
        """Write, and give the JSON answer; None when the answer is empty.

        If nobody knows whether GitHub did it (no answer, or 5xx), PUT, PATCH and DELETE are sent again. A POST would do
        it twice: it is sent again only if it is `repeatable`, or if `find_existing` finds nothing of an earlier try.
        """
        request = Request(
            method=method,
            url=self._url(path),
            path=path,
            content=None if body is None else dumps(body),
            repeatable=repeatable or find_existing is not None or method != "POST",
            find_existing=find_existing,
            writes=True,
        )
        return self._json(request)

    def graphql(self, query: str, variables: Mapping[str, object]) -> dict[str, Any]:
        """Ask the GraphQL API, what may be done twice, and give what stands in `data`."""
        request = Request(
            method="POST",
            url=self._graphql_url,
            path="/graphql",
            content=dumps({"query": query, "variables": variables}),
            writes=query.startswith("mutation"),
        )
        answer = self._perform(request)
        reply = self._parsed(request, answer)
        if not isinstance(reply, dict) or reply.get("errors") or not isinstance(reply.get("data"), dict):
            problem = reply_message(answer.body) or "expected `data` and no errors"
            raise self._error(request, problem, status=answer.status)
        data: dict[str, Any] = reply["data"]
        return data

    def download(self, path: str, *, limit: int, accept: str = _JSON) -> bytes:
        """Read bytes such as an artifact's, also from where GitHub redirects to, which does not get the token."""
        url = self._url(path)
        return self._perform(Request(method="GET", url=url, path=path, accept=accept, limit=limit, leave=True)).body

    def _graphql_address(self, text: str) -> httpx.URL:
        url = _address(text, "GITHUB_GRAPHQL_URL")
        if not self._at_home(url):
            raise UsageError(
                f"GITHUB_GRAPHQL_URL: expected a URL at {cut(self._base)}, where the token may be sent, "
                f"found {quoted(text)}"
            )
        return url

    def _url(self, path: str, **params: str | int | None) -> httpx.URL:
        if not _PATH.fullmatch(path) or {"..", "."} & set(path.lower().replace("%2e", ".").split("/")):
            raise ValueError(f"not a path of the API, or not percent-encoded: {path!r}")
        query = {name: value for name, value in params.items() if value is not None}
        return httpx.URL(self._base + path, params=query)

    def _json(self, request: Request) -> Any:
        return self._parsed(request, self._perform(request))

    def _parsed(self, request: Request, answer: Answer) -> Any:
        if answer.existing is not None:
            return answer.existing
        if not answer.body.strip():
            return None
        try:
            return loads(answer.body)
        except ValueError as error:
            excerpt = cut(answer.body[:200].decode("utf-8", "replace"), limit=80)
            raise self._error(
                request,
                f"expected JSON, found {excerpt!r}",
                status=answer.status,
                hint="Is GITHUB_API_URL the API's URL, and does no proxy answer in its place?",
            ) from error

    def _perform(self, request: Request) -> Answer:
        """Send a request until it succeeds or must not be tried again; raises GitHubError when it did not succeed."""
        uncertain = False
        for number in itertools.count(1):
            answer, cause = self._try(request)
            if answer is not None and answer.status < 300:
                return answer
            status = None if answer is None else answer.status
            if request.method == "DELETE" and uncertain and status in {404, 410}:
                return Answer(status=204, headers={})
            unclear = not isinstance(cause, _UNSENT) if status is None else status >= 500
            uncertain = uncertain or (unclear and request.writes)
            headers, body = ({}, "") if answer is None else (answer.headers, answer.body.decode("utf-8", "replace"))
            wait = wait_after(status, headers, body, number=number, now=self._now())
            error = self._refusal(request, answer, cause, wait, number, uncertain=uncertain)
            again = wait is not None and number <= MOST_RETRIES and wait.seconds <= self._left_s
            again = again and (request.repeatable or not unclear)
            if again and wait is not None:
                self._pause(request, wait, number)
            if uncertain and request.find_existing is not None:
                try:
                    existing = request.find_existing()
                except GitHubError:
                    # nobody knows whether it was done: another try could do it twice
                    raise error from cause
                if existing is not None:
                    return Answer(status=200, headers={}, existing=existing)
            if not again:
                raise error from cause
        raise AssertionError("the tries end")

    def _try(self, request: Request) -> tuple[Answer | None, httpx.HTTPError | None]:
        pause = self._wrote_at + BETWEEN_WRITES_S - self._clock() if request.writes else 0.0
        if pause > 0:
            self._sleep(pause)
        try:
            return self._exchanged(request), None
        except httpx.HTTPError as error:
            return None, error
        except GitHubError as error:
            raise self._error(request, error.message, status=error.status) from error
        finally:
            if request.writes:
                self._wrote_at = self._clock()

    def _pause(self, request: Request, wait: Wait, number: int) -> None:
        self._left_s -= wait.seconds
        why = f"because of {wait.reason} (retry {number} of {MOST_RETRIES})"
        self._say(f"GitHub: {request.label} again in {setting(wait.seconds)} s {why}")
        self._sleep(wait.seconds)

    def _exchanged(self, request: Request) -> Answer:
        """Send a request, follow at most three redirects, and read the answer whole; of an error at most 64 KiB."""
        url, at_home = request.url, True
        for _ in range(MOST_REDIRECTS + 1):
            # what has left the origin once gets no token, even if it comes back
            at_home = at_home and self._at_home(url)
            answer, location = self._sent(request, url, at_home=at_home)
            if not location:
                return answer
            url = self._resolved(location, start=url)
            if not request.leave and not self._at_home(url):
                raise GitHubError(f"the server redirects to {cut(url.host)}, which raggate does not follow")
        raise GitHubError(f"the server redirects more than {MOST_REDIRECTS} times")

    def _sent(self, request: Request, url: httpx.URL, *, at_home: bool) -> tuple[Answer, str]:
        end = self._clock() + REQUEST_S
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        if at_home:
            headers |= {"Accept": request.accept, "X-GitHub-Api-Version": API_VERSION}
            headers |= {"Authorization": f"Bearer {self._token}"}
            headers |= {"Content-Type": "application/json"} if request.content is not None else {}
        with self._client.stream(request.method, url, headers=headers, content=request.content) as response:
            status = response.status_code
            moved = status in _MOVED and (request.method == "GET" or status in {307, 308})
            location = response.headers.get("location", "") if moved else ""
            answer = Answer(
                status=status,
                headers=response.headers,
                body=b"" if location else self._body(response, request.limit, end),
                cross_origin=not at_home,
                next_url=response.links.get("next", {}).get("url", ""),
            )
            return answer, location

    def _body(self, response: httpx.Response, limit: int, end: float) -> bytes:
        bad, content = response.status_code >= 300, bytearray()
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            # a few bytes could unpack to gigabytes
            raise GitHubError(f"the server's answer is packed ({cut(encoding)}), expected it as it is")
        for piece in response.iter_bytes():
            content += piece
            if bad and len(content) > _ERROR_BYTES:
                break
            if not bad and len(content) > limit:
                raise GitHubError(f"the server's answer is larger than {limit} bytes", status=response.status_code)
            if self._clock() > end:
                raise httpx.ReadTimeout(f"the answer is not complete after {fixed(REQUEST_S, 0)} seconds")
        return bytes(content[:_ERROR_BYTES] if bad else content)

    def _at_home(self, url: httpx.URL) -> bool:
        """Return whether a URL is at the API's own origin: scheme, host and port."""
        return not url.userinfo and _origin_of(url) == _origin_of(self._origin)

    def _resolved(self, text: str, *, start: httpx.URL) -> httpx.URL:
        """Read a URL that GitHub sent; refuse what is no http(s) URL, holds a password, or would leave https."""
        try:
            url = start.join(text)
        except (httpx.InvalidURL, ValueError) as error:
            raise GitHubError(f"the server sent a link that is no URL: {quoted(text, limit=100)}") from error
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
            raise GitHubError(f"the server sent a link that raggate does not follow: {quoted(text, limit=100)}")
        if self._origin.scheme == "https" and url.scheme != "https":
            raise GitHubError(f"the server sent a link to {cut(url.host)} without https, which raggate does not follow")
        return url

    def _error(self, request: Request, problem: str, *, status: int | None = None, hint: str = "") -> GitHubError:
        return GitHubError(redact_cut(f"GitHub: {request.label}: {problem}", [self._token]), status=status, hint=hint)

    def _refusal(
        self,
        request: Request,
        answer: Answer | None,
        cause: httpx.HTTPError | None,
        wait: Wait | None,
        number: int,
        *,
        uncertain: bool,
    ) -> GitHubError:
        reply = hint = ""
        if answer is None:
            parts = [f"GitHub did not answer {request.label}: {type(cause).__name__} {cut(cause)}".strip()]
        else:
            reply = reply_message(answer.body)
            parts = [f"GitHub answers {request.label} with {answer.status}" + (f": {reply}" if reply else "")]
            if wait is None and not answer.cross_origin:
                hint = advice(request.method, request.path, answer.status)
        if wait is not None and wait.asked:
            parts.append(f"It asks to wait {setting(wait.seconds)} s because of {wait.reason}")
        if number > 1:
            parts.append(f"It was tried {often(number)}")
        if uncertain:
            parts.append("It may have been done anyway")
        return GitHubError(
            redact_cut(". ".join(parts), [self._token]),
            status=None if answer is None else answer.status,
            hint=redact_cut(hint, [self._token]),
            reply=redact_cut(reply, [self._token]),
        )


def _address(text: str, name: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise UsageError(f"{name}: expected a URL with http or https, found {quoted(url.host or text)}")
    return url


def _origin_of(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


class GitHubError(CannotTell):
    """GitHub refused a request, did not answer, or answered with what cannot be used. `reply` is in its own words."""

    def __init__(self, message: str, *, status: int | None = None, hint: str = "", reply: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reply = reply


def unexpected(expected: str, *, where: str = "", hint: str = "") -> GitHubError:
    """Make the error for an answer that is not what was asked for; `where` is the request or the part of the API."""
    place = f"{where}: " if where else ""
    return GitHubError(f"the server's API: {place}expected {expected}, found something else", hint=hint)


def address(value: object) -> str:
    """Return the address of a page that GitHub names; empty for none, or one that is too long or cannot be printed."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_ADDRESS else ""


def encodable(text: str) -> str:
    """Return a text as JSON can hold it: surrogates become `?`."""
    return text.encode("utf-8", "replace").decode()


def permission(method: str, path: str) -> str:
    """Return the line of `permissions:` that a request needs, such as `issues: write`; empty when it is not known."""
    repository = _REPOSITORY.match(path)
    if repository is None:
        return ""
    rest = path[repository.end() :].rstrip("/")
    scope = next((scope for pattern, scope in _SCOPES if pattern.fullmatch(rest)), "")
    # whoever reads a pull request is about to write to it, so the right to read would not be enough
    reads = method == "GET" and scope != "pull-requests"
    return f"{scope}: {'read' if reads else 'write'}" if scope else ""


def advice(method: str, path: str, status: int) -> str:
    """Return what to do about a refusal; empty when the status says nothing about the token."""
    if status == 401:
        return "The token is wrong or has expired. GITHUB_TOKEN ends with its job; other tokens have an end date."
    if status not in {403, 404}:
        return ""
    line = permission(method, path)
    parts = [f"Give the job `{line}` under `permissions:`."] if line else []
    if method == "POST" and path.endswith("/pulls"):
        parts.append(
            "The repository's setting 'Allow GitHub Actions to create and approve pull requests' "
            "(Settings, Actions, General) must be on as well."
        )
    if line and method != "GET":
        parts.append(
            "The token of a pull request from a fork or from Dependabot can only read, whatever "
            "the workflow says. There the second stage posts the report."
        )
    if status == 404:
        parts.append("If the token has the permission, then it does not exist. GitHub hides what a token may not see.")
    return " ".join(parts)


def reply_message(body: bytes) -> str:
    """Return what GitHub says about a refusal, as one line; empty when it says nothing that can be read."""
    try:
        reply = fields(loads(body))
    except ValueError:
        return ""
    errors, message = reply.get("errors"), reply.get("message")
    details = [_detail(error) for error in errors[:5]] if isinstance(errors, list) else []
    return cut("; ".join(part for part in (message if isinstance(message, str) else "", *details) if part))


def _detail(error: object) -> str:
    if isinstance(error, str):
        return error
    detail = fields(error)
    keys = ("message",) if isinstance(detail.get("message"), str) else ("resource", "field", "code")
    return " ".join(detail[key] for key in keys if isinstance(detail.get(key), str))
