"""Requests to judges over HTTP, against a server that does everything wrong that servers do."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import Any

import pytest

from fakes.judge_server import Answer, FakeJudge
from judging import make_judge, make_request
from raggate.config.judge_settings import Judges
from raggate.judges import client
from raggate.judges.budget import Budget, upper_bound
from raggate.judges.client import Client
from raggate.models.judging import JudgeRequest, NotJudged, Reply, Spending
from tables import each_row

MODEL = {"model": "small", "base_url": "http://127.0.0.1:1", "build": "b1"}
Outcomes = list[Reply | NotJudged]

over_connections = functools.partial(FakeJudge, wire=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait little before a retry that no server asks to wait for."""
    monkeypatch.setattr(client, "BACK_OFF_SECONDS", 0.01)


def send(requests: list[JudgeRequest], *, key: str = "", **keys: Any) -> tuple[Outcomes, Spending]:
    """Send requests at once; give what came of them and what was spent."""
    settings = Judges.model_validate({"models": [MODEL], **keys})

    async def send_all() -> tuple[Outcomes, Spending]:
        budget = Budget(calls=settings.max_calls, usd=settings.max_usd)
        async with Client(settings, budget, lambda _: key) as http:
            return await asyncio.gather(*map(http.send, requests)), budget.spending()

    return asyncio.run(send_all())


def requests_to(server: FakeJudge, number: int = 1, **judge: Any) -> list[JudgeRequest]:
    """Build different requests to a server."""
    asked = make_judge(base_url=server.url, **judge)
    return [make_request(f"Number {index}.", judge=asked) for index in range(number)]


def only(server: FakeJudge, **keys: Any) -> Reply | NotJudged:
    """Send one request and give what came of it."""
    ((outcome,), _) = send(requests_to(server), **keys)
    return outcome


def refusal(server: FakeJudge, **keys: Any) -> NotJudged:
    """Send one request and give why nothing came of it."""
    outcome = only(server, **keys)
    assert isinstance(outcome, NotJudged)
    return outcome


def in_turn(*answers: Answer) -> FakeJudge:
    """Make a server that gives these answers one after the other, the last one for ever."""
    left = [*answers]
    return over_connections(lambda _: left.pop(0) if len(left) > 1 else left[0])


def test_the_key_is_sent_and_never_shown() -> None:
    """The key is in the header, and is hidden in whatever the server says of it, also in a reply."""
    with over_connections(lambda _: Answer(status=401, text="bad key sk-secret-123")) as server:
        told = refusal(server, key="sk-secret-123")
        assert server.requests[0].headers["authorization"] == "Bearer sk-secret-123"
    assert told == NotJudged(reason="status", detail="the server answers 401: bad key ***")
    with over_connections(lambda _: Answer(text="the key is sk-secret-123")) as server:
        reply = only(server, key="sk-secret-123")
    assert isinstance(reply, Reply)
    assert reply.text == "the key is ***"


KEY = "sk-judge-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"
ESCAPED = KEY.replace("G", "\\u0047")


@each_row("key", [KEY, ESCAPED])
@each_row("before", [0, 140, 150, 165, 185, 195])
def test_a_key_at_the_end_of_an_excerpt_is_hidden(key: str, before: int) -> None:
    """No part of the key is shown, wherever the excerpt of an error ends, and however JSON spells it."""
    with over_connections(lambda _: Answer(status=401, text="x" * before + key + " tail" * 50)) as server:
        detail = refusal(server, key=KEY).detail
    assert "sk-jud" not in detail
    assert "ABCDEF" not in detail


def test_the_key_in_a_refusal_that_was_cut_is_hidden() -> None:
    """What a model says when it declines is cut, and the beginning of a key at its end is hidden."""
    body = {"choices": [{"message": {"refusal": "x" * 280 + KEY}}]}
    with over_connections(lambda _: Answer(raw=json.dumps(body).encode())) as server:
        told = refusal(server, key=KEY)
    assert told.reason == "refused"
    assert "sk-jud" not in told.detail


@each_row("around", ['{{"score": "{}"}}', '```json\n{{"score": "{}"}}\n```', "no JSON: {}"])
def test_a_reply_that_spells_the_key_with_escapes_is_none(around: str) -> None:
    """The reader of JSON would make the key of it, so nothing of such a reply reaches a file."""
    with over_connections(lambda _: Answer(text=around.format(ESCAPED))) as server:
        told = refusal(server, key=KEY)
    assert told.reason == "invalid_reply"
    assert "sk-jud" not in told.detail


@each_row("status", [429, 503, 529])
def test_what_may_pass_is_tried_again_and_counted(status: int) -> None:
    """A server that is busy twice and then answers costs three calls."""
    with in_turn(Answer(status=status), Answer(status=status), Answer(text="x")) as server:
        (outcome,), spending = send(requests_to(server))
    assert isinstance(outcome, Reply)
    assert (spending.calls, spending.retries, spending.tokens) == (3, 2, 110)


@each_row("headers", [{}, {"Retry-After": "3600"}])
@each_row("status", [408, 500, 502, 504, 520])
def test_what_a_server_gave_up_is_charged(status: int, headers: dict[str, str]) -> None:
    """A gateway may give up after the reply was made and paid for: the most that the call can have taken counts."""
    with over_connections(lambda _: Answer(status=status, headers=headers)) as server:
        requests = requests_to(server, price=[1, 1])
        _, spending = send(requests)
    assert spending.calls == (1 if headers or status == 520 else 3)
    assert spending.untold == spending.calls
    assert spending.tokens == spending.calls * upper_bound(requests[0]).tokens
    assert spending.usd is None


@each_row("status", [301, 400, 401, 403, 404, 422])
def test_what_does_not_pass_is_not_tried_again(status: int) -> None:
    """A request that the server refuses is made once, a redirect is not followed, and the status is told."""
    with over_connections(lambda _: Answer(status=status, text="no", headers={"Location": "/elsewhere"})) as server:
        told = refusal(server)
        assert server.calls == 1
    assert told == NotJudged(reason="status", detail=f"the server answers {status}: no")


def test_a_retry_after_header_is_waited_for_by_all() -> None:
    """No request goes to a server that wants to be left alone for a second, whichever request was told so."""
    with in_turn(Answer(status=429, headers={"Retry-After": "1"}), Answer(text="x")) as server:
        outcomes, _ = send(requests_to(server, 3), concurrency=1)
        waited = server.times[1] - server.times[0]
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert waited >= 1


def test_a_slow_server_is_not_waited_for_and_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that does not come in time is none; its tokens are not known, so the most counts."""
    monkeypatch.setattr(client, "CALL_SECONDS", 0.2)
    with over_connections(lambda _: Answer(text="x", delay=1)) as server:
        (outcome,), spending = send(requests_to(server))
        assert server.calls == 1
    assert outcome == NotJudged(reason="timeout", detail="no reply within 0.2 s")
    assert (spending.calls, spending.untold, spending.usd) == (1, 1, None)
    assert spending.tokens > 100


def test_the_time_for_all_of_them_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time of the run is over, what is left is not asked, and says so."""
    monkeypatch.setattr(client, "SECONDS", 0.5)
    with over_connections(lambda _: Answer(text="x", delay=0.3)) as server:
        outcomes, _ = send(requests_to(server, 5), concurrency=1)
        assert server.calls < 5
    last = outcomes[-1]
    assert isinstance(last, NotJudged)
    assert last == NotJudged(reason="deadline", detail="the 0.5 s for all requests are over")


def test_a_server_that_is_not_there_is_told() -> None:
    """A server that does not listen is tried again and then told with its address; no token is charged."""
    with over_connections() as gone:
        pass
    (outcome,), spending = send(requests_to(gone))
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "connection"
    assert outcome.detail.startswith(gone.url)
    assert (spending.calls, spending.tokens) == (3, 0)


@pytest.mark.parametrize(
    ("variable", "value", "detail"),
    [
        ("HTTPS_PROXY", "socks5://127.0.0.1:1", "cannot be used: expected an address"),
        ("HTTPS_PROXY", "nonsense://me:pa55word@127.0.0.1:1", "cannot be used"),
        ("HTTPS_PROXY", "http://me:pa55word/@127.0.0.1:1", "cannot be used"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "of /nowhere/ca.pem (SSL_CERT_FILE) cannot be read: [Errno 2] No such"),
        ("SSL_CERT_FILE", __file__, f"of {__file__} (SSL_CERT_FILE) cannot be read: "),
    ],
)
def test_an_environment_that_lets_nobody_connect_is_told(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, detail: str
) -> None:
    """Proxies and certificates that cannot be used are a reason that names the variable, and no password of it."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    judge = make_judge("openai:gpt-4o-2024-08-06", base_url="https://judge.invalid")
    ((told,), spending) = send([make_request(judge=judge)])
    assert isinstance(told, NotJudged)
    assert told.reason == "connection"
    assert variable in told.detail
    assert detail in told.detail
    assert "pa55word" not in told.detail
    assert spending.calls == 0


@each_row(
    "url",
    [
        "http://127.0.0.1:99999",
        "http://\u00fc.\u00fc..de",
        "http://a\x01b",
    ],
)
def test_an_address_that_cannot_be_asked_is_told(url: str) -> None:
    """A host or a port that there cannot be is a reason with the address, and nothing is charged."""
    ((told,), spending) = send([make_request(judge=make_judge().model_copy(update={"base_url": url}))])
    assert isinstance(told, NotJudged)
    assert told.reason == "connection"
    assert told.detail.startswith(url)
    assert spending.tokens == 0


@each_row(
    ("answer", "reason"),
    [
        (Answer(raw=b"<html>busy</html>"), "invalid_reply"),
        (Answer(text="", finish="stop"), "refused"),
        (Answer(raw=b"x" * (5 << 20)), "invalid_reply"),
    ],
)
def test_what_is_no_reply_is_not_tried_again(answer: Answer, reason: str) -> None:
    """An answer that says nothing was paid for: it is a reason, charged, and not asked for again."""
    with over_connections(lambda _: answer) as server:
        (outcome,), spending = send(requests_to(server))
        assert server.calls == 1
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == reason
    assert spending.untold == 1


def test_no_more_are_under_way_than_allowed() -> None:
    """Twelve requests go out three at a time."""
    with over_connections(lambda _: Answer(text="x", delay=0.05)) as server:
        send(requests_to(server, 12), concurrency=3)
        assert server.peak == 3
        assert server.calls == 12
