"""Requests to GitHub -> JSON or bytes: paced, repeated where that is safe, within one budget of waiting."""

from __future__ import annotations

import math
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from copy import copy
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from raggate import __version__
from raggate.errors import CannotTell, UsageError
from raggate.text.certificates import authorities
from raggate.text.dates import retry_after
from raggate.text.http_client import httpx
from raggate.text.jsonio import dumps, fields, loads
from raggate.text.numbers import fixed, often, setting
from raggate.text.quote import cut, quoted
from raggate.text.redact import Guarded, redact_cut

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


MOST_RETRIES = 3
"""How often a request is sent again, whatever the reasons were."""
FALLBACK_S = 60.0
"""Seconds to wait for a rate limit that does not say how long."""
BETWEEN_WRITES_S = 1.0
BETWEEN_NOTIFICATIONS_S = 3.0
_FINAL = frozenset((400, 401, 403, 404, 410, 422, 451))
_LIMITED = frozenset((403, 429))
_SECONDARY = re.compile(r"\bsecondary rate\b|\babuse detection\b", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,12}")
# nothing has been asked yet where no connection was made
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
MOST_JSON_BYTES = 64 << 20
"""The largest JSON answer that is read: a page of a hundred comments of full length has about half."""
RAW = "application/vnd.github.raw+json"
MOST_ITEMS = 100_000
_MOST_PAGES = 1000
_PER_PAGE = 100
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")
_FORK = (
    "The token of a pull request from a fork or from Dependabot can only read, whatever the workflow says: "
    "there the report is posted by the second stage."
)
_SETTING = (
    "The repository's setting 'Allow GitHub Actions to create and approve pull requests' "
    "(Settings, Actions, General) must be on as well."
)
# path below /repos/owner/name -> the scope of `permissions:` that its methods need; the first match counts
_SCOPES = (
    (re.compile(r"/issues/(\d+/comments|comments/\d+(/reactions)?)"), "pull-requests"),
    (re.compile(r"/pulls(/.*)?|/commits/[^/]+/pulls"), "pull-requests"),
    (re.compile(r"/issues(/.*)?"), "issues"),
    (re.compile(r"/check-(runs|suites)(/.*)?|/commits/[^/]+/check-(runs|suites)"), "checks"),
    (re.compile(r"/statuses/[^/]+|/commits/[^/]+/status(es)?"), "statuses"),
    (re.compile(r"/actions/.*"), "actions"),
    (re.compile(r"|/(contents|git|commits|compare|branches|tags|zipball|tarball|merges)(/.*)?"), "contents"),
)
_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+")
_READING = frozenset(("GET", "HEAD"))
_GRANT = "Give the job `{}` under `permissions:`."
_HIDDEN = "If the token has the permission, it does not exist: GitHub hides what a token may not see."


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


class Attempt(Guarded, Struct, frozen=True, kw_only=True):
    """A request that failed.

    Args:
        method: of HTTP, in capitals.
        status: of the answer; None when there was none.
        headers: of the answer; their names in small letters.
        body: of the answer, or its beginning. Untrusted.
        number: 1 for the first time the request was sent.
        now: seconds since 1970.
        sent: whether the request may have reached GitHub; matters without a status only.
        repeatable: whether a POST may be sent again although it may have been done already.
        answer: whole; None when there was none.
        cause: why there was none.
    """

    method: str
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    number: int
    now: float
    sent: bool = True
    repeatable: bool = False
    answer: Answer | None = None
    cause: httpx.HTTPError | None = None


class Wait(Struct, frozen=True):
    """Send it again after so many seconds. `asked` tells whether GitHub said so; the reason follows "because of"."""

    seconds: float
    reason: str
    asked: bool = False


class GiveUp(Struct, frozen=True):
    """Do not send it again. `wait` is what would have been waited for, had there been another try."""

    wait: Wait | None = None


def decide(attempt: Attempt) -> Wait | GiveUp:
    """Decide what follows a failed request: another try, or none."""
    wait = _limit(attempt)
    if wait is None:
        if attempt.status in _FINAL or (attempt.status is not None and attempt.status < 400):
            return GiveUp()
        if ambiguous(attempt) and attempt.method == "POST" and not attempt.repeatable:
            return GiveUp()
        wait = _pause(attempt)
    return wait if attempt.number <= MOST_RETRIES else GiveUp(wait)


def ambiguous(attempt: Attempt) -> bool:
    """Return whether GitHub may have done what was asked although the request failed."""
    if attempt.status is None:
        return attempt.sent
    return attempt.status >= 500


def _limit(attempt: Attempt) -> Wait | None:
    if attempt.status not in _LIMITED:
        return None
    headers = attempt.headers
    asked = retry_after(headers.get("retry-after", ""), attempt.now)
    if _SECONDARY.search(_message(attempt.body)):
        return Wait(asked or FALLBACK_S, "a secondary rate limit", asked=True)
    if headers.get("x-ratelimit-remaining", "").strip() == "0":
        reset = headers.get("x-ratelimit-reset", "").strip()
        if not _NUMBER.fullmatch(reset):
            return Wait(asked or FALLBACK_S, "the rate limit", asked=True)
        # GitHub counts in whole seconds: one more, so that it is over for certain
        return Wait(float(max(math.ceil(int(reset) - attempt.now) + 1, 0)), "the rate limit", asked=True)
    return Wait(asked, "a rate limit", asked=True) if asked else None


def _pause(attempt: Attempt) -> Wait:
    seconds = float(attempt.number**2)
    asked = retry_after(attempt.headers.get("retry-after", ""), attempt.now) or 0.0
    reason = "a failed connection" if attempt.status is None else f"status {attempt.status}"
    return Wait(max(seconds, asked), reason, asked=asked > seconds)


def _message(body: str) -> str:
    try:
        message = fields(loads(body.encode("utf-8", "replace"))).get("message")
    except ValueError:
        return body
    return message if isinstance(message, str) else ""


class RetryingClient:
    """Makes requests one after the other; knows when the last write was and how much waiting is left.

    Args:
        api_url: as GITHUB_API_URL says; an Enterprise Server's has a path. `http` only for a server of one's own.
        token: goes to the origin of `api_url` only and into no message.
        graphql_url: as GITHUB_GRAPHQL_URL says; empty for the one that belongs to `api_url`.
        transport: carries the requests instead of the network.
        sleep: waits so many seconds.
        clock: seconds that never go back.
        now: seconds since 1970.
        budget_s: the most seconds of waiting for retries and rate limits in all. The short pauses between writes,
            which GitHub asks every client to make, are not part of it.
        say: is told, in one harmless line, before a wait for a retry.

    Raises:
        UsageError: when URLs, token, proxies or certificates cannot be used.
    """

    name = "GitHub"
    """What messages call the server."""

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
        self._connection = Connection(api_url, token, transport=transport, clock=clock)
        self._base = str(self._connection.base).rstrip("/")
        self._graphql_url = graphql_url or f"{self._base.removesuffix('/v3')}/graphql"
        self._token = token
        self._sleep, self._clock, self._now, self._say = sleep, clock, now, say
        self._left_s = budget_s
        self._wrote_at = self._notified_at = float("-inf")

    def perform(self, request: Request) -> Answer:
        """Send a request until it succeeds or must not be tried again.

        Raises:
            GitHubError: when it did not succeed.
        """
        number, uncertain = 0, False
        while True:
            number += 1
            done = self._try(request, number)
            if isinstance(done, Answer):
                return done
            if request.method == "DELETE" and uncertain and done.status in {404, 410}:
                return Answer(status=204, headers={}, body=b"")
            uncertain = uncertain or ambiguous(done)
            decision = decide(done)
            error = self._refusal(request, done, decision, uncertain=uncertain and request.writes)
            again = isinstance(decision, Wait) and decision.seconds <= self._left_s
            if isinstance(decision, Wait) and again:
                self._wait(request, decision, number)
            if uncertain and request.find_existing is not None:
                try:
                    existing = request.find_existing()
                except GitHubError:
                    # nobody knows whether it was done: another try could do it twice
                    raise error from done.cause
                if existing is not None:
                    return Answer(status=200, headers={}, body=b"", existing=existing)
            if not again:
                raise error from done.cause

    def advice(self, method: str, path: str, status: int, headers: Mapping[str, str]) -> str:
        """Tell what to do about a refusal; empty when the status says nothing about the token."""
        return advice(method, path, status, headers)

    def error(self, request: Request, problem: str, *, status: int | None = None, hint: str = "") -> GitHubError:
        """Make the error for an answer that cannot be used."""
        return GitHubError(
            redact_cut(f"{self.name}: {request.label}: {problem}", [self._token]), status=status, hint=hint
        )

    def _try(self, request: Request, number: int) -> Answer | Attempt:
        self._pace(request)
        attempt = Attempt(method=request.method, status=None, number=number, now=0.0, repeatable=request.repeatable)
        try:
            answer = self._connection.exchange(request)
        except httpx.HTTPError as error:
            return replace(attempt, now=self._now(), sent=not isinstance(error, _UNSENT), cause=error)
        except GitHubError as error:
            raise self.error(request, error.message, status=error.status) from error
        finally:
            self._note(request)
        status, headers, text = answer.status, dict(answer.headers), answer.body
        if request.graphql and status == 200:
            status, text = graphql_failure(text)
            # the word for the primary limit there
            headers |= {"x-ratelimit-remaining": "0"} if status == 429 else {}
        if status < 300:
            return answer
        body = text[:4000].decode("utf-8", "replace")
        return replace(attempt, status=status, headers=headers, body=body, now=self._now(), answer=answer)

    def _pace(self, request: Request) -> None:
        free = self._wrote_at + BETWEEN_WRITES_S if request.writes else float("-inf")
        if request.notifies:
            free = max(free, self._notified_at + BETWEEN_NOTIFICATIONS_S)
        pause = free - self._clock()
        if pause > 0:
            self._sleep(pause)

    def _note(self, request: Request) -> None:
        if request.writes:
            self._wrote_at = self._clock()
        if request.notifies:
            self._notified_at = self._clock()

    def _wait(self, request: Request, wait: Wait, number: int) -> None:
        self._left_s -= wait.seconds
        self._say(
            f"{self.name}: {request.label} again in {setting(wait.seconds)} s because of {wait.reason} "
            f"(retry {number} of {MOST_RETRIES})"
        )
        self._sleep(wait.seconds)

    def _refusal(self, request: Request, attempt: Attempt, decision: Wait | GiveUp, *, uncertain: bool) -> GitHubError:
        answer, status = attempt.answer, attempt.status
        reply = reply_message(answer.body) if answer is not None else ""
        if answer is None:
            problem = f"{type(attempt.cause).__name__} {cut(attempt.cause)}".strip()
            parts = [f"{self.name} did not answer {request.label}: {problem}"]
        else:
            parts = [f"{self.name} answers {request.label} with {status}" + (f": {reply}" if reply else "")]
        wait = decision if isinstance(decision, Wait) else decision.wait
        asked_s = wait.seconds if wait is not None and wait.asked else None
        if wait is not None and wait.asked:
            parts.append(f"It asks to wait {setting(wait.seconds)} s because of {wait.reason}")
        if isinstance(decision, Wait):
            parts.append(
                f"Of the time to wait, {setting(self._left_s)} s are left and {setting(decision.seconds)} s are needed"
            )
        elif wait is not None:
            parts.append(f"It was tried {often(attempt.number)}")
        if uncertain:
            parts.append("It may have been done all the same")
        hint = ""
        if status is not None and answer is not None and asked_s is None and not answer.cross_origin:
            hint = self.advice(request.method, request.path, status, answer.headers)
        return GitHubError(
            redact_cut(". ".join(parts), [self._token]),
            status=status,
            hint=redact_cut(hint, [self._token]),
            wait_s=asked_s,
            reply=redact_cut(reply, [self._token]),
            permission=permission(request.method, request.path),
        )


class GitHub(RetryingClient, AbstractContextManager["GitHub"]):
    """GitHub's API, with one token, one request at a time. To be used as a context manager; see `RetryingClient`."""

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def get(self, path: str, **params: str | int | None) -> Any:
        """Read a JSON value; None when the answer is empty. A parameter that is None is left out.

        Args:
            path: below the API's base, its foreign parts percent-encoded.

        Raises:
            GitHubError: when GitHub refuses, or does not answer in time.
        """
        request = Request(method="GET", url=self._url(path, **params), path=path, limit=MOST_JSON_BYTES)
        return self._parsed(request, self.perform(request))

    def pages(self, path: str, *, key: str | None = None, **params: str | int | None) -> Iterator[Any]:
        """Read a list page by page, as far as the caller goes. One of more than `MOST_ITEMS` is an error, never cut.

        Args:
            key: where the list stands when it is wrapped in an object, such as `check_runs`.

        Raises:
            GitHubError: when a page cannot be read or is no list, or the list does not end.
        """
        url = self._url(path, per_page=_PER_PAGE, **params)
        count, seen = 0, {str(url)}
        while True:
            request = Request(method="GET", url=url, path=path, limit=MOST_JSON_BYTES)
            answer = self.perform(request)
            items = self._parsed(request, answer)
            if key is not None:
                items = items.get(key) if isinstance(items, dict) else None
            if not isinstance(items, list):
                raise self.error(request, "expected a list" + (f" in {key!r}" if key else ""), status=answer.status)
            for item in items:
                count += 1
                if count > MOST_ITEMS:
                    raise self.error(request, f"the list has more than {MOST_ITEMS} entries", status=answer.status)
                yield item
            if not answer.next_url:
                return
            url = self._connection.resolve_url(answer.next_url, start=url)
            if not self._connection.same_origin(url):
                raise self.error(request, f"its next page is at {cut(url.host)}, which is not followed")
            if str(url) in seen or len(seen) >= _MOST_PAGES:
                raise self.error(request, "its pages do not end")
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

        A failure that leaves open whether GitHub did it (no answer, or 5xx) is followed by another try for PUT, PATCH
        and DELETE, which do the same again. A POST would do it twice: it is tried again only when the caller can look.

        Args:
            path: below the API's base, its foreign parts percent-encoded.
            find_existing: looks whether an earlier try has been done after all and gives what `send` then returns, or
                None. Asked before every further try once it is open, and before giving up.
            repeatable: a POST without `find_existing` that may be done twice all the same.

        Raises:
            GitHubError: when GitHub refuses, or does not answer in time; the message says when it may have been done.
        """
        request = Request(
            method=method,
            url=self._url(path),
            path=path,
            content=None if body is None else dumps(body),
            limit=MOST_JSON_BYTES,
            repeatable=repeatable or find_existing is not None,
            find_existing=find_existing,
        )
        return self._parsed(request, self.perform(request))

    def graphql(self, query: str, variables: dict[str, object]) -> Any:
        """Ask the GraphQL API, what may be done twice, and give what stands in `data`.

        Raises:
            GitHubError: also for errors in the body of the answer.
            UsageError: when the GraphQL API is not where the API is.
        """
        request = Request(
            method="POST",
            url=self._graphql_address(),
            path="/graphql",
            content=dumps({"query": query, "variables": variables}),
            limit=MOST_JSON_BYTES,
            graphql=True,
        )
        answer = self.perform(request)
        reply = self._parsed(request, answer)
        if not isinstance(reply, dict) or reply.get("errors") or not isinstance(reply.get("data"), dict):
            raise self.error(
                request, reply_message(answer.body) or "expected `data` and no errors", status=answer.status
            )
        return reply["data"]

    def download(self, path: str, *, limit: int, accept: str = "application/vnd.github+json") -> bytes:
        """Read bytes such as an artifact's, also from where GitHub redirects to, which does not get the token.

        Args:
            limit: the most bytes that are read.

        Raises:
            GitHubError: when GitHub refuses, does not answer in time, or sends more than `limit` bytes.
        """
        url = self._url(path)
        return self.perform(Request(method="GET", url=url, path=path, accept=accept, limit=limit, leave=True)).body

    def _graphql_address(self) -> httpx.URL:
        try:
            url = httpx.URL(self._graphql_url)
        except httpx.InvalidURL:
            url = httpx.URL()
        if not self._connection.same_origin(url):
            raise UsageError(
                f"GITHUB_GRAPHQL_URL: expected a URL at {cut(self._base)}, where the token may be sent; "
                f"found {quoted(self._graphql_url)}"
            )
        return url

    def _url(self, path: str, **params: str | int | None) -> httpx.URL:
        if not _PATH.fullmatch(path) or {"..", "."} & set(path.lower().replace("%2e", ".").split("/")):
            raise ValueError(f"not a path of the API, or not percent-encoded: {path!r}")
        query = {name: value for name, value in params.items() if value is not None}
        return httpx.URL(self._base + path, params=query)

    def _parsed(self, request: Request, answer: Answer) -> Any:
        """Read the JSON value of an answer.

        Raises:
            GitHubError: when it is no JSON.
        """
        if answer.existing is not None:
            return answer.existing
        if not answer.body.strip():
            return None
        try:
            return loads(answer.body)
        except ValueError as error:
            excerpt = cut(answer.body[:200].decode("utf-8", "replace"), limit=80)
            raise self.error(
                request,
                f"expected JSON; found {excerpt!r}",
                status=answer.status,
                hint="Is GITHUB_API_URL the API's URL, and does no proxy answer in its place?",
            ) from error


class GitHubError(CannotTell):
    """GitHub refused a request, did not answer it, or answered with what cannot be used.

    Args:
        message: harmless text, without the token.
        status: of the answer; None when none came or its status is not the problem.
        hint: what to do about it.
        wait_s: seconds GitHub asked to wait, when that was more than there was time for.
        reply: GitHub's own words, empty where it said none.
        permission: the line of `permissions:` that the hint asks for; empty for none.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        hint: str = "",
        wait_s: float | None = None,
        reply: str = "",
        permission: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.wait_s = wait_s
        self.reply = reply
        self.permission = permission

    def with_hint(self, hint: str) -> GitHubError:
        """Return the same error with other advice."""
        error = copy(self)
        error.hint = hint
        return error

    @property
    def denied(self) -> bool:
        """Whether GitHub keeps something from this token: what it hides, it says is not there."""
        return self.status in {401, 403, 404} and self.wait_s is None


def unexpected(expected: str, *, where: str = "", hint: str = "") -> GitHubError:
    """Make the error for an answer that is not what was asked for; `where` is the request or the part of the API."""
    place = f"{where}: " if where else ""
    return GitHubError(f"the server's API: {place}expected {expected}; found something else", hint=hint)


def permission(method: str, path: str) -> str:
    """Return the line of `permissions:` that a request needs, such as `checks: write`; empty when it is not known.

    Args:
        path: below the API's base, such as `/repos/owner/name/check-runs`, without the query.
    """
    repository = _REPOSITORY.match(path)
    if repository is None:
        return ""
    rest = path[repository.end() :].rstrip("/")
    scope = next((scope for pattern, scope in _SCOPES if pattern.fullmatch(rest)), "")
    return f"{scope}: {'read' if method in _READING else 'write'}" if scope else ""


def advice(method: str, path: str, status: int, headers: Mapping[str, str]) -> str:
    """Tell what to do about a refusal; empty when the status says nothing about the token.

    Args:
        headers: of the answer, whose names may have any case when it is a mapping of httpx.
    """
    if status == 401:
        return "The token is wrong or has expired. GITHUB_TOKEN ends with its job; other tokens have an end date."
    if status not in {403, 404}:
        return ""
    line = permission(method, path)
    accepted = cut(headers.get("x-accepted-github-permissions", ""), limit=120)
    parts = []
    if line:
        parts.append(_GRANT.format(line))
    elif accepted:
        parts.append(f"The token needs one of these permissions: {accepted}.")
    if method == "POST" and path.rstrip("/").endswith("/pulls"):
        parts.append(_SETTING)
    if line and method not in _READING:
        parts.append(_FORK)
    if status == 404:
        parts.append(_HIDDEN)
    return " ".join(parts)


def to_write(error: GitHubError) -> GitHubError:
    """Restate a refusal to read for one who has to write there as well: the right to read would not be enough."""
    if error.permission != "pull-requests: read" or not error.hint:
        return error
    hint = _GRANT.format("pull-requests: write")
    return error.with_hint(f"{hint} {_HIDDEN}" if error.status == 404 else hint)


def reply_message(body: bytes) -> str:
    """Return what GitHub says about a refusal, as one line; empty when it says nothing that can be read."""
    reply = _reply(body)
    errors, message = reply.get("errors"), reply.get("message")
    details = [_detail(error) for error in errors[:5]] if isinstance(errors, list) else []
    return cut("; ".join(part for part in (message if isinstance(message, str) else "", *details) if part))


def graphql_failure(body: bytes) -> tuple[int, bytes]:
    """Return the status REST would have for an answer of GraphQL, and its message; 200 when trying again is no use.

    429 is the primary rate limit, 403 a secondary one, 502 a query that took too long or broke on the way.
    """
    errors = _reply(body).get("errors")
    if not isinstance(errors, list):
        return 200, b""
    message = reply_message(body)
    if re.search(r"\bsecondary rate\b", message, re.IGNORECASE):
        return 403, message.encode()
    if any(fields(error).get("type") == "RATE_LIMITED" for error in errors):
        return 429, b""
    if message.startswith("Something went wrong while executing your query"):
        return 502, b""
    return 200, b""


def _reply(body: bytes) -> dict[str, Any]:
    try:
        return fields(loads(body))
    except ValueError:
        return {}


def _detail(error: object) -> str:
    if isinstance(error, str):
        return error
    detail = fields(error)
    keys = ("message",) if isinstance(detail.get("message"), str) else ("resource", "field", "code")
    return " ".join(detail[key] for key in keys if isinstance(detail.get(key), str))
