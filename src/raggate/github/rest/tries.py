"""One call to GitHub -> its answer, after pauses between writes and as many tries as are safe and fit the budget."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx

from raggate.github.rest.exchange import Answer, Connection, Request
from raggate.github.rest.failures import GitHubError, advice, graphql_failure, permission, said
from raggate.github.rest.retry import MOST_RETRIES, Attempt, GiveUp, Wait, ambiguous, decide
from raggate.github.runner.secrets import redact
from raggate.text.numbers import setting
from raggate.text.quote import cut

BETWEEN_WRITES_S = 1.0
BETWEEN_NOTIFICATIONS_S = 3.0

# nothing has been asked yet where no connection was made
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_NOTIFYING = re.compile(
    r"/repos/[^/]+/[^/]+/(issues|issues/\d+/comments|commits/[^/]+/comments|pulls|pulls/\d+/(comments|reviews)"
    r"|releases)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request and what may be done when it fails.

    Args:
        request: what is sent.
        path: below the API's base, for messages and rules.
        repeatable: whether a POST may be sent again although it may have been done.
        find_existing: looks whether it has been done; None for not.
        graphql: whether errors stand in an answer of status 200.
    """

    request: Request
    path: str
    repeatable: bool = True
    find_existing: Callable[[], Any | None] | None = None
    graphql: bool = False

    @property
    def writes(self) -> bool:
        """Whether it counts as a change, as every call of GraphQL does."""
        return self.request.method != "GET"

    @property
    def notifies(self) -> bool:
        """Whether people get to hear of it."""
        return self.request.method == "POST" and _NOTIFYING.fullmatch(self.path) is not None


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """What `find_existing` found: the write had been done."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Failure:
    attempt: Attempt
    answer: Answer | None = None
    cause: httpx.HTTPError | None = None


class RetryingClient:
    """Makes calls one after the other; knows when the last write was and how much waiting is left.

    Args:
        connection: carries the requests.
        token: is taken out of messages.
        sleep: waits so many seconds.
        clock: seconds that never go back.
        now: seconds since 1970.
        budget_s: the most seconds of waiting between tries in all, without the pauses between writes.
        say: is told, in one harmless line, before a wait between tries.
    """

    def __init__(
        self,
        connection: Connection,
        token: str,
        *,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        now: Callable[[], float],
        budget_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._token = token
        self._sleep, self._clock, self._now, self._say = sleep, clock, now, say
        self._left_s = budget_s
        self._wrote_at = self._notified_at = float("-inf")

    def perform(self, call: Call) -> Answer | AlreadyDone:
        """Make a call until it succeeds or must not be tried again.

        Raises:
            GitHubError: when it did not succeed.
        """
        number, uncertain = 0, False
        while True:
            number += 1
            done = self._try(call, number)
            if isinstance(done, Answer):
                return done
            if call.request.method == "DELETE" and uncertain and done.attempt.status in {404, 410}:
                return Answer(status=204, headers={}, body=b"")
            uncertain = uncertain or ambiguous(done.attempt)
            decision = decide(done.attempt)
            error = self._refusal(call, done, decision, uncertain=uncertain and call.writes)
            again = isinstance(decision, Wait) and decision.seconds <= self._left_s
            if isinstance(decision, Wait) and again:
                self._wait(call, decision, number)
            if uncertain and call.find_existing is not None:
                try:
                    found = call.find_existing()
                except GitHubError:
                    # nobody knows whether it was done: another try could do it twice
                    raise error from done.cause
                if found is not None:
                    return AlreadyDone(found)
            if not again:
                raise error from done.cause

    def error(self, call: Call, problem: str, *, status: int | None = None, hint: str = "") -> GitHubError:
        """Make the error for an answer that cannot be used."""
        message = f"GitHub: {call.request.method} {cut(call.path)}: {problem}"
        return GitHubError(redact(message, [self._token]), status=status, hint=hint)

    def _try(self, call: Call, number: int) -> Answer | _Failure:
        self._pace(call)
        attempt = Attempt(method=call.request.method, status=None, number=number, now=0.0, repeatable=call.repeatable)
        try:
            answer = self._connection.exchange(call.request)
        except httpx.HTTPError as error:
            sent = not isinstance(error, _UNSENT)
            return _Failure(replace(attempt, now=self._now(), sent=sent), cause=error)
        except GitHubError as error:
            raise self.error(call, error.message, status=error.status) from error
        finally:
            self._note(call)
        status, headers, text = answer.status, dict(answer.headers), answer.body
        if call.graphql and status == 200:
            status, text = graphql_failure(text)
            # the word for the primary limit there
            headers |= {"x-ratelimit-remaining": "0"} if status == 429 else {}
        if status < 300:
            return answer
        body = text[:4000].decode("utf-8", "replace")
        return _Failure(replace(attempt, status=status, headers=headers, body=body, now=self._now()), answer)

    def _pace(self, call: Call) -> None:
        free = self._wrote_at + BETWEEN_WRITES_S if call.writes else float("-inf")
        if call.notifies:
            free = max(free, self._notified_at + BETWEEN_NOTIFICATIONS_S)
        pause = free - self._clock()
        if pause > 0:
            self._sleep(pause)

    def _note(self, call: Call) -> None:
        if call.writes:
            self._wrote_at = self._clock()
        if call.notifies:
            self._notified_at = self._clock()

    def _wait(self, call: Call, wait: Wait, number: int) -> None:
        self._left_s -= wait.seconds
        self._say(
            f"GitHub: {call.request.method} {cut(call.path)} again in {setting(wait.seconds)} s because of "
            f"{wait.reason} (retry {number} of {MOST_RETRIES})"
        )
        self._sleep(wait.seconds)

    def _refusal(self, call: Call, failure: _Failure, decision: Wait | GiveUp, *, uncertain: bool) -> GitHubError:
        method, answer, status = call.request.method, failure.answer, failure.attempt.status
        request = f"{method} {cut(call.path)}"
        if answer is None:
            problem = f"{type(failure.cause).__name__} {cut(failure.cause)}".strip()
            parts = [f"GitHub did not answer {request}: {problem}"]
        else:
            parts = [": ".join(part for part in (f"GitHub answers {request} with {status}", said(answer.body)) if part)]
        wait = decision if isinstance(decision, Wait) else decision.wait
        asked = wait is not None and wait.asked
        if asked and wait is not None:
            parts.append(f"It asks to wait {setting(wait.seconds)} s because of {wait.reason}")
        if isinstance(decision, Wait):
            parts.append(
                f"Of the time to wait, {setting(self._left_s)} s are left and {setting(decision.seconds)} s are needed"
            )
        elif wait is not None:
            parts.append(f"It was tried {failure.attempt.number} times")
        if uncertain:
            parts.append("It may have been done all the same")
        hint = ""
        if status is not None and answer is not None and not asked and not answer.cross_origin:
            hint = advice(method, call.path, status, answer.headers)
        return GitHubError(
            redact(". ".join(parts), [self._token]),
            status=status,
            hint=redact(hint, [self._token]),
            wait_s=wait.seconds if asked and wait is not None else None,
            uncertain=uncertain,
            reply=redact(said(answer.body), [self._token]) if answer is not None else "",
            permission=permission(method, call.path),
        )
