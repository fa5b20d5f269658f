"""A server behind two pipes, played by the test: replies find who asked, and what breaks the protocol fails those."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bounds import bounds
from played_server import SECONDS, Played, played
from raggate.base.http_client import httpx
from raggate.service.mcp import protocol
from raggate.service.mcp.pipes import PipeTransport
from raggate.service.misses import Missed
from tables import each_row
from tries import tried

HELLO = protocol.request(0, "initialize", {})
CALL = protocol.request(0, "tools/call", {"name": "search"})


def greeted(server: Played) -> Played:
    asked = server.pipes.ask(HELLO)
    server.say(reply(server.hear()["id"]))
    asked.result(SECONDS)
    return server


def reply(number: object, **result: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def problem(asked: Future[Any]) -> str:
    error = asked.exception(SECONDS)
    assert isinstance(error, Missed | httpx.ReadError), error
    return str(error)


@pytest.fixture
def server() -> Iterator[Played]:
    with played() as side:
        yield side


def test_replies_find_who_asked_whatever_their_order(server: Played) -> None:
    """Two questions are under way, and the second is answered first."""
    first, second = greeted(server).pipes.ask(CALL), server.pipes.ask(CALL)
    numbers = [server.hear()["id"] for _ in range(2)]
    assert len({*numbers}) == 2
    server.say(reply(numbers[1], is_of="second"), reply(numbers[0], is_of="first"))
    assert first.result(SECONDS)["result"] == {"is_of": "first"}
    assert second.result(SECONDS)["result"] == {"is_of": "second"}


def test_what_the_server_asks_is_answered_and_its_news_are_not(server: Played) -> None:
    """A ping gets a result, sampling an error, notifications nothing; the question waits through all of it."""
    asked = greeted(server).pipes.ask(CALL)
    number = server.hear()["id"]
    server.say(
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}},
        {"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}},
    )
    assert server.hear() == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert server.hear()["error"]["code"] == protocol.METHOD_NOT_FOUND
    assert not asked.done()
    server.say(reply(number))
    assert asked.result(SECONDS)["result"] == {}


def test_a_server_is_greeted_once(server: Played) -> None:
    """Who greets again gets the first reply, so that a slow server is not asked twice, nor told twice to begin."""
    first, second = server.pipes.ask(HELLO), server.pipes.ask(HELLO)
    server.say(reply(server.hear()["id"], is_the="first"))
    assert first.result(SECONDS) == second.result(SECONDS) == server.pipes.ask(HELLO).result(SECONDS)
    for _ in range(2):
        server.pipes.tell(protocol.notification("notifications/initialized"))
    server.pipes.ask(CALL)
    assert [server.hear()["method"] for _ in range(2)] == ["notifications/initialized", "tools/call"]


@each_row(
    ("line", "said"),
    [
        (b"searching", "something other than JSON-RPC to its standard output: 'searching'"),
        (b'{"id": 2, "result": {"a": "\xff"}}', "not valid UTF-8 at byte"),
        (b'{"jsonrpc": "2.0", "id": 2}', "something other than JSON-RPC"),
        (json.dumps(reply(99)).encode(), "answers request 99, which raggate did not send"),
        (json.dumps(reply(True)).encode(), "answers request true, which raggate did not send"),
        (json.dumps(reply(1)).encode(), "answers request 1, which raggate did not send, or which has its answer"),
        (b'{"jsonrpc": "2.0", "id": ' + b"[" * 500 + b"]" * 500 + b', "result": {}}', "nested too deeply"),
        (b"x" * 5000, "a line of more than 4096 bytes"),
    ],
)
def test_what_breaks_the_protocol_fails_those_that_wait(line: bytes, said: str) -> None:
    """A line that is no message, too long, or a reply to nobody fails the question, and the next one is answered."""
    with bounds(max_body_bytes=4096), played() as server:
        asked = greeted(server).pipes.ask(CALL)
        assert server.hear()["id"] == 2
        server.say(line)
        assert said in problem(asked)
        following = server.pipes.ask(CALL)
        server.say(reply(server.hear()["id"]))
        assert following.result(SECONDS)["result"] == {}


def test_what_comes_while_nobody_waits_fails_the_next(server: Played) -> None:
    """A second reply to a question that is answered is told by the question after it, and by no further one."""
    asked = greeted(server).pipes.ask(CALL)
    number = server.hear()["id"]
    server.say(reply(number), reply(number), {"jsonrpc": "2.0", "id": "seen", "method": "ping"})
    asked.result(SECONDS)
    assert server.hear()["id"] == "seen"
    assert "which has its answer already" in problem(server.pipes.ask(CALL))
    following = server.pipes.ask(CALL)
    server.say(reply(server.hear()["id"]))
    assert following.result(SECONDS)


def test_a_line_without_end_fails_every_question(server: Played) -> None:
    """However long it goes on, it is not kept, and each question that meets it is told."""
    greeted(server)
    with bounds(max_body_bytes=4096):
        for _ in range(2):
            asked = server.pipes.ask(CALL)
            server.hear()
            server.said.write(b"x" * 5000)
            server.said.flush()
            assert "a line of more than 4096 bytes" in problem(asked)


def test_a_late_reply_is_nobodys_problem(server: Played) -> None:
    """Who waits no longer has the server told; its reply may still come, once."""
    asked = greeted(server).pipes.ask(CALL)
    number = server.hear()["id"]
    server.pipes.leave(asked)
    cancelled = server.hear()
    assert (cancelled["method"], cancelled["params"]) == ("notifications/cancelled", {"requestId": number})
    following = server.pipes.ask(CALL)
    server.say(reply(number), reply(server.hear()["id"], is_of="following"))
    assert following.result(SECONDS)["result"] == {"is_of": "following"}


def test_a_closed_output_fails_all_from_then_on(server: Played) -> None:
    """A server that closes its output, as a dead one does, is told to those that wait and to all that come."""
    asked = greeted(server).pipes.ask(CALL)
    server.said.close()
    assert problem(asked) == problem(server.pipes.ask(CALL)) == "the server closed its standard output"


def test_a_server_that_does_not_read_holds_nobody_up(server: Played) -> None:
    """Its pings pile up no further than the bound, and questions are still taken."""
    greeted(server).say(*[{"jsonrpc": "2.0", "id": "p" * 1000, "method": "ping"}] * 3000)
    asked = server.pipes.ask(CALL)
    server.said.close()
    assert problem(asked) == "the server closed its standard output"


def test_a_request_over_http_is_carried(server: Played) -> None:
    """The transport gives the reply as a body, with the number that its request had, or ends with the time to read."""
    greeted(server)
    transport, content = PipeTransport(server.pipes), json.dumps({**CALL, "id": 41}).encode()

    def carried(seconds: float) -> httpx.Response:
        extensions = {"timeout": {"read": seconds}}
        return transport.handle_request(
            httpx.Request("POST", "http://stdio/mcp", content=content, extensions=extensions)
        )

    with pytest.raises(httpx.ReadTimeout):
        carried(0.01)
    assert server.hear()["params"] == {"name": "search"}
    assert server.hear()["method"] == "notifications/cancelled"
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(carried, SECONDS)
        server.say(reply(server.hear()["id"], is_of="41"))
        body = b"".join(response.result(SECONDS).iter_raw())
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 41, "result": {"is_of": "41"}}


@given(st.lists(st.binary(max_size=60), max_size=8))
@tried(30)
def test_any_bytes_fail_or_are_read(lines: list[bytes]) -> None:
    """Whatever a server writes, a question ends, and nothing but a reply to it is one."""
    with played() as server:
        asked = greeted(server).pipes.ask(CALL)
        server.say(*lines)
        server.said.close()
        assert problem(asked)
