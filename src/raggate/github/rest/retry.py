"""One request to GitHub -> its answer, after pauses between writes and as many tries as are safe and fit the budget.

What is sent again, and after how many seconds, is the table of GitHub's own client. It differs from that in being more
patient only: a Retry-After header counts beside every status that is sent again, and it makes a 403 or 429 a rate limit
whatever the body says.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.github.rest.exchange import Answer, Connection, Request
from raggate.github.rest.failures import GitHubError, advice, graphql_failure, permission, reply_message
from raggate.text.guarded import Guarded
from raggate.text.http_client import httpx
from raggate.text.jsonio import fields, loads
from raggate.text.numbers import often, setting
from raggate.text.quote import cut
from raggate.text.redact import redact_cut
from raggate.text.retry_after import retry_after

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
