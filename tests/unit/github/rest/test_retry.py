"""When a failed request to GitHub is sent again: the table of GitHub's own client, and where it differs on purpose."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from raggate.github.rest.retry import FALLBACK_S, MOST_RETRIES, Attempt, GiveUp, Wait, ambiguous, decide
from tables import each_row

NOW = 1_700_000_000.0
SECONDARY = '{"message": "You have exceeded a secondary rate limit. Please wait a few minutes"}'
ABUSE = '{"message": "You have triggered an abuse detection mechanism."}'
RESET = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 10)}
PAST = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) - 10)}
SQUARES = [1.0, 4.0, 9.0]


def waits(
    method: str, status: int | None, headers: dict[str, str] | None = None, body: str = "", *, repeatable: bool = True
) -> list[float]:
    """Return the waits between tries when every try fails in the same way."""
    found = []
    for number in range(1, 10):
        attempt = Attempt(
            method=method,
            status=status,
            headers={name.lower(): value for name, value in (headers or {}).items()},
            body=body,
            number=number,
            now=NOW,
            repeatable=repeatable,
        )
        decision = decide(attempt)
        if isinstance(decision, GiveUp):
            return found
        found.append(decision.seconds)
    raise AssertionError("it does not end")


@each_row("method", ["GET", "POST", "PATCH", "PUT", "DELETE"])
@each_row(
    ("status", "expected"),
    [
        *((status, []) for status in (304, 400, 401, 403, 404, 410, 422, 451)),
        *((status, SQUARES) for status in (408, 409, 423, 429, 500, 501, 502, 503, 504, None)),
    ],
)
def test_every_status(method: str, status: int | None, expected: list[float]) -> None:
    """Without headers it is final, or tried again after 1, 4 and 9 seconds, whatever the method is."""
    assert waits(method, status) == expected


@each_row("status", [403, 429])
@each_row(
    ("headers", "body", "expected"),
    [
        (RESET, "", 11),
        (PAST, "", 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "", 60),
        ({"x-ratelimit-remaining": "0"}, "", 60),
        ({}, SECONDARY, 60),
        ({}, ABUSE, 60),
        ({}, "You have exceeded a secondary rate limit", 60),
        ({"Retry-After": "5"}, SECONDARY, 5),
        ({"Retry-After": "0"}, SECONDARY, 60),
        ({"Retry-After": "soon"}, SECONDARY, 60),
        ({"Retry-After": "-5"}, SECONDARY, 60),
        ({"Retry-After": "٣"}, SECONDARY, 60),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:50 GMT"}, SECONDARY, 30),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:50 -0000"}, SECONDARY, 30),
        ({"Retry-After": "Tue, 14 Nov 2000 22:13:50 GMT"}, SECONDARY, 60),
        (RESET, SECONDARY, 60),
    ],
)
def test_every_rate_limit(status: int, headers: dict[str, str], body: str, expected: float) -> None:
    """A limit waits as long as GitHub says, a minute where it does not say, and three times at most."""
    assert waits("GET", status, headers, body) == [expected] * MOST_RETRIES
    assert waits("POST", status, headers, body, repeatable=False) == [expected] * MOST_RETRIES


@each_row(
    ("status", "headers", "body", "expected"),
    [
        (404, RESET, "", []),
        (422, {}, SECONDARY, []),
        (403, {"x-ratelimit-remaining": "1"}, "", []),
        (403, {}, '{"message": "Resource not accessible by integration"}', []),
        (403, {}, '{"message": "no", "title": "secondary rate limit"}', []),
        (500, {}, SECONDARY, SQUARES),
        (500, RESET, "", SQUARES),
    ],
)
def test_what_is_no_rate_limit(status: int, headers: dict[str, str], body: str, expected: list[float]) -> None:
    """Words and headers of a limit count beside 403 and 429 only."""
    assert waits("GET", status, headers, body) == expected


@each_row(
    ("status", "headers", "expected"),
    [
        (403, {"Retry-After": "5"}, [5, 5, 5]),
        (429, {"Retry-After": "5"}, [5, 5, 5]),
        (503, {"Retry-After": "5"}, [5, 5, 9]),
        (503, {"Retry-After": "nonsense"}, SQUARES),
        (404, {"Retry-After": "5"}, []),
    ],
)
def test_retry_after_counts_beside_every_status_that_is_tried_again(
    status: int, headers: dict[str, str], expected: list[float]
) -> None:
    """Unlike for GitHub's client, Retry-After makes a limit of 403 and 429, and is a least wait elsewhere."""
    assert waits("GET", status, headers) == expected


@each_row(
    ("method", "status", "sent", "expected"),
    [
        ("POST", None, True, True),
        ("POST", None, False, False),
        ("POST", 502, True, True),
        ("POST", 409, True, False),
        ("POST", 429, True, False),
        ("PUT", None, True, False),
        ("PATCH", 500, True, False),
        ("GET", 500, True, False),
    ],
)
def test_a_post_is_not_done_twice(method: str, status: int | None, sent: bool, expected: bool) -> None:
    """A POST that may have been done is final unless the caller says otherwise; one that never left is not."""
    attempt = Attempt(method=method, status=status, number=1, now=NOW, sent=sent)
    assert isinstance(decide(attempt), GiveUp) is expected
    assert ambiguous(attempt) is (sent if status is None else status >= 500)


def test_giving_up_tells_what_was_asked() -> None:
    """After the last try, the wait GitHub asked for is still told."""
    attempt = Attempt(method="GET", status=403, body=SECONDARY, number=MOST_RETRIES + 1, now=NOW)
    assert decide(attempt) == GiveUp(Wait(FALLBACK_S, "a secondary rate limit", asked=True))


@given(
    st.sampled_from([None, 403, 429, 500, 503]),
    st.text(),
    st.text(),
    st.text(),
    st.text(),
    st.sampled_from(["0", "1", "", "x"]),
)
def test_hostile_headers(status: int | None, after: str, reset: str, message: str, date: str, remaining: str) -> None:
    """Whatever the headers and the body are, the wait is a finite number that is not negative."""
    headers = {"retry-after": after or date, "x-ratelimit-reset": reset, "x-ratelimit-remaining": remaining}
    decision = decide(Attempt(method="GET", status=status, headers=headers, body=message, number=1, now=NOW))
    if isinstance(decision, Wait):
        assert math.isfinite(decision.seconds)
        assert decision.seconds >= 0


@given(
    st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} [0-9]{1,6} [0-9:]{1,9} [+-]?[0-9A-Z]{1,6}", fullmatch=True)
)
def test_hostile_dates(text: str) -> None:
    """Whatever looks like a date is a wait or is taken for no header at all."""
    decision = decide(Attempt(method="GET", status=429, headers={"retry-after": text}, number=1, now=NOW))
    assert isinstance(decision, Wait)
    assert math.isfinite(decision.seconds)
