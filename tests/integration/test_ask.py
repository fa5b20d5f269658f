"""Asking against a real server on the loopback: order, bounds, retries, and every way an API can misbehave."""

from __future__ import annotations

import gc
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from bounds import bounds
from fakes.ask_api import FakeAskApi, Reply, Script, ask_body
from raggate.config.ask_settings import Ask
from raggate.models.golden import Case
from raggate.models.run import Failure, Result
from raggate.models.service import ProcessExit
from raggate.service import ask as service_ask
from raggate.service.adapters.ask import AskAdapter
from raggate.service.http_channel import OverHttp
from raggate.service.line_pipes import Serving
from tables import each_row

KILLED = ProcessExit(message="was killed by SIGKILL", signal="SIGKILL")
EXITED = ProcessExit(message="exited with code 3", code=3)


def cases(count: int) -> tuple[Case, ...]:
    """Build cases that ask `q0`, `q1` and so on."""
    return tuple(Case(id=f"c{number}", question=f"q{number}", answerable=True) for number in range(count))


def ask(
    api: FakeAskApi | Serving,
    asked: Sequence[Case] | int = 1,
    *,
    on_result: Callable[[Result, int, int], None] | None = None,
    collect: bool = True,
    **settings: Any,
) -> service_ask.AskResult:
    """Ask some cases with settings that do not make a test wait."""
    started = Serving(base_url=api.base_url) if isinstance(api, FakeAskApi) else api
    small = {name: settings.pop(name) for name in ("retries", "give_up_after", "max_body_bytes") if name in settings}
    slice_ = Ask(**settings)
    chosen = cases(asked) if isinstance(asked, int) else asked
    questions = service_ask.questions_of(chosen, slice_.modes)
    adapter = OverHttp(AskAdapter(slice_, ("personal", "work")), slice_)
    with bounds(**small):
        return adapter.ask(questions, started, on_result=on_result or (lambda *_: None), collect=collect)


def failure(script: Script, **settings: Any) -> tuple[Failure, Result, FakeAskApi]:
    """Ask one question that fails; give the failure, the result and the API, for its counts."""
    with FakeAskApi(script) as api:
        (result,) = ask(api, **settings).results
    assert result.response is None
    assert result.failure is not None
    return result.failure, result, api


def texts(outcome: service_ask.AskResult) -> list[tuple[str, str, str]]:
    """Return case, mode and the text of the only chunk of every answered question."""
    return [(r.case_id, r.mode, r.response.chunks[0].text) for r in outcome.results if r.response]


@pytest.fixture(autouse=True)
def fast_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pauses between attempts short."""
    monkeypatch.setattr(service_ask, "BACK_OFF_SECONDS", 0.01)


@pytest.fixture(autouse=True)
def nothing_left(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Every test ends without complaints about lost tasks, connections or exceptions, whatever happened in it."""
    # what other tests have left is none of this one's, and looking through all of it takes a quarter of a second
    gc.freeze()
    yield
    gc.collect()
    assert caplog.text == ""


@each_row("concurrency", [1, 16])
def test_results_are_in_question_order_whatever_the_order_of_answers(concurrency: int) -> None:
    """Results come by mode as configured, then by case as in the golden set, at any concurrency and any delays."""
    rng = random.Random(7)  # noqa: S311 - delays, not secrets
    delays = [rng.random() / 50 for _ in range(40)]
    with FakeAskApi(lambda question: (200, ask_body(question), delays[int(question[1:])])) as api:
        heard: list[tuple[Any, ...]] = []
        outcome = ask(
            api, 40, on_result=lambda *told: heard.append(told), concurrency=concurrency, modes=["vector", "lexical"]
        )
        modes = [asked.body["mode"] for asked in api.asked]
    expected = [(f"c{n}", mode, f"q{n}") for mode in ("vector", "lexical") for n in range(40)]
    assert texts(outcome) == expected
    assert outcome.stopped is None
    assert sorted(modes) == ["lexical"] * 40 + ["vector"] * 40
    assert [(done, total) for _, done, total in heard] == [(n, 80) for n in range(1, 81)]
    assert {id(result) for result, _, _ in heard} == {id(result) for result in outcome.results}


def test_cases_are_asked_in_their_own_modes_only() -> None:
    """A case that names modes is asked in those of them that are configured."""
    chosen = (
        Case(id="all", question="a", answerable=True),
        Case(id="one", question="b", answerable=True, modes=("vector",)),
        Case(id="none", question="c", answerable=True, modes=("other",)),
    )
    with FakeAskApi() as api:
        outcome = ask(api, chosen, modes=["lexical", "vector"])
    assert [(r.case_id, r.mode) for r in outcome.results] == [("all", "lexical"), ("all", "vector"), ("one", "vector")]


def test_every_question_has_a_trace_of_its_own() -> None:
    """Each is sent with a W3C traceparent that asks to be kept; its result, answered or not, has that trace's id."""
    with FakeAskApi(lambda question: (500, b"", 0) if question == "q1" else Reply(body=ask_body(question))) as api:
        results = ask(api, 3).results
        sent = {asked.body["question"]: asked.headers["traceparent"] for asked in api.asked}
        headers = api.asked[0].headers
    assert (headers["content-type"], headers["accept-encoding"]) == ("application/json", "identity")
    assert all(re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01", value) for value in sent.values())
    assert [result.trace_id for result in results] == [sent[f"q{number}"].split("-")[1] for number in range(3)]
    assert len({result.trace_id for result in results}) == 3


def test_a_rate_is_kept() -> None:
    """At 50 in a second the last of 6 questions starts a tenth of a second after the first."""
    with FakeAskApi() as api:
        begun = time.perf_counter()
        ask(api, 6, rate=50)
        assert time.perf_counter() - begun >= 0.1


class Flaky:
    """Fails each question a number of times before it answers."""

    def __init__(self, fails: int, reply: Reply) -> None:
        self.fails = fails
        self.reply = reply
        self.lock = threading.Lock()
        self.seen: dict[str, int] = {}

    def __call__(self, question: str) -> Reply:
        with self.lock:
            self.seen[question] = self.seen.get(question, 0) + 1
            return self.reply if self.seen[question] <= self.fails else Reply(body=ask_body(question))


@each_row(
    "reply",
    [Reply(status=502), Reply(status=503), Reply(drop="reset"), Reply(body=ask_body("q"), drop="half")],
    ids=["502", "503", "no answer", "half an answer"],
)
def test_passing_trouble_is_retried_and_counted(reply: Reply) -> None:
    """After 502, 503 or a lost connection the question is asked again, and the result says how often."""
    with FakeAskApi(Flaky(2, reply)) as api:
        outcome = ask(api, 3, retries=2)
        assert [(r.retries, r.failure) for r in outcome.results] == [(2, None)] * 3
        assert set(api.counts.values()) == {3}


@each_row(
    ("reply", "kind"),
    [
        (Reply(status=500, body=b"bug", drop="half"), "status"),
        (Reply(status=429), "status"),
        (Reply(body=b"garbage"), "schema"),
        (Reply(raw=b"SMTP ready\r\n\r\n"), "connection"),
        (Reply(body=b"", headers={"Content-Encoding": "gzip"}), "body"),
    ],
    ids=["500 cut", "429", "garbage", "not HTTP", "gzip"],
)
def test_lasting_trouble_is_not_retried(reply: Reply, kind: str) -> None:
    """What another attempt cannot mend is asked once."""
    found, result, api = failure(lambda _: reply, retries=5)
    assert found.kind == kind
    assert (result.retries, api.total) == (0, 1)


def test_back_off_doubles_and_is_the_same_every_time() -> None:
    """Pauses double, are up to a quarter longer, differ between questions and never between runs."""
    pauses = [service_ask._back_off("c1|hybrid", retries) for retries in range(4)]
    for retries, pause in enumerate(pauses):
        assert 1 <= pause / (service_ask.BACK_OFF_SECONDS * 2**retries) <= 1.25
    assert pauses == [service_ask._back_off("c1|hybrid", retries) for retries in range(4)]
    assert pauses[0] != service_ask._back_off("c2|hybrid", 0)


@each_row("reply", [Reply(body=b"", delay=30), Reply(pieces=[(0.02, b" ")] * 1000)], ids=["no byte", "byte by byte"])
def test_a_slow_answer_ends_with_the_total_time(reply: Reply) -> None:
    """An API that sends no byte, or one after the other, is a timeout, once."""
    found, result, api = failure(lambda _: reply, timeout=0.2)
    assert (found.kind, found.message) == ("timeout", "no answer within 0.2 s")
    assert (result.retries, api.total) == (0, 1)
    assert 150 < result.elapsed_ms < 2000


def test_total_time_covers_the_retries() -> None:
    """Retries end with the total time, and the failure says what they were for."""
    start = time.perf_counter()
    found, result, _ = failure(lambda _: (503, b"later", 0.08), retries=10, timeout=0.3)
    assert time.perf_counter() - start < 3
    assert found.kind == "timeout"
    assert found.message in {"no answer within 0.3 s. Before that: HTTP 503: later", "no answer within 0.3 s"}
    assert 1 <= result.retries < 10


@each_row("declared", [True, False])
def test_huge_body_is_refused_unread(declared: bool) -> None:
    """A body beyond the bound is a failure, whether or not the API says beforehand how long it is."""
    reply = Reply(body=b" " * 5000) if declared else Reply(pieces=[(0, b" " * 5000)])
    found, _, _ = failure(lambda _: reply, max_body_bytes=1024)
    assert found == Failure(kind="body", message="the body has more than 1024 bytes", status=200)


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions go straight to the API, whatever proxies the environment names."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FakeAskApi() as api:
        assert ask(api, 2).results[1].response


@each_row(
    ("how", "sentence"), [(KILLED, "the API was killed by SIGKILL after"), (EXITED, "the API exited with code 3 after")]
)
def test_dying_api_stops_the_asking_at_once(how: ProcessExit, sentence: str) -> None:
    """When the API dies nothing waits for a timeout: what has no answer is aborted, and the outcome says why."""
    with FakeAskApi(lambda question: (200, ask_body(question), 0 if int(question[1:]) < 7 else 30)) as api:
        ends: list[ProcessExit | None] = [None]
        started = Serving(base_url=api.base_url, died=lambda: ends[-1])

        def heard(result: Result, done: int, total: int) -> None:
            if done == 7:
                ends.append(how)

        begun = time.monotonic()
        outcome = ask(started, 20, on_result=heard, concurrency=4)
        assert time.monotonic() - begun < 20
    assert outcome.stopped == f"{sentence} 7 of 20 calls"
    assert [bool(r.response) for r in outcome.results] == [True] * 7 + [False] * 13
    assert {r.failure.kind for r in outcome.results[7:] if r.failure} == {"aborted"}
    assert outcome.results[19].failure == Failure(kind="aborted", message=outcome.stopped)


def test_connections_lost_to_a_dying_api_are_aborted_questions() -> None:
    """A connection that breaks because the API dies is not counted against the question, even without retries."""
    with FakeAskApi() as api:
        ends: list[ProcessExit | None] = [None]
        started = Serving(base_url=api.base_url, died=lambda: ends[-1])

        def script(question: str) -> Reply:
            if question != "q0":
                threading.Timer(0.02, lambda: ends.append(KILLED)).start()
                return Reply(drop="reset")
            return Reply(body=ask_body(question))

        api.script = script
        outcome = ask(started, 5, concurrency=1, retries=0)
    assert outcome.stopped == "the API was killed by SIGKILL after 1 of 5 calls"
    assert {r.failure.kind for r in outcome.results if r.failure} == {"aborted"}


def test_giving_up_after_failures_in_a_row() -> None:
    """Enough failures in a row end the asking; the rest is aborted without being asked or announced."""
    with FakeAskApi(lambda question: (200 if question == "q2" else 500, ask_body(question), 0)) as api:
        outcome = ask(api, 30, concurrency=1, give_up_after=4)
        assert api.total == 7
    assert outcome.stopped is not None
    assert outcome.stopped.startswith("gave up after 4 failures in a row, after 7 of 30 calls. The last one: HTTP 500")
    kinds = [r.failure.kind if r.failure else "" for r in outcome.results]
    assert kinds == ["status", "status", "", *["status"] * 4, *["aborted"] * 23]


@each_row("count", [3, 4, 30])
def test_results_that_are_not_collected_are_heard(count: int) -> None:
    """Whoever takes results as they come is given no second copy, but the failures of what was left over."""
    heard: list[str] = []
    with FakeAskApi(lambda _: Reply(status=500)) as api:
        on_result = lambda result, *_: heard.append(result.case_id)  # noqa: E731 - one word of it
        outcome = ask(api, count, on_result=on_result, collect=False, concurrency=1, give_up_after=4, retries=0)
    asked = min(count, 4)
    assert heard == [f"c{number}" for number in range(asked)]
    # when everything was asked there is nothing to give up
    assert (outcome.stopped is None) == (count <= 4)
    assert [result.case_id for result in outcome.results] == [f"c{number}" for number in range(asked, count)]
    assert list(outcome.unasked()) == list(outcome.results)


@each_row("error", [KeyboardInterrupt, SystemExit, OSError])
def test_interrupt_keeps_what_was_handed_out_and_leaves_nothing_running(error: type[BaseException]) -> None:
    """An exception in the middle comes through as it is; results so far were handed out, and no task goes on."""
    with FakeAskApi(lambda question: (200, ask_body(question), 0 if int(question[1:]) < 5 else 30)) as api:
        kept: list[str] = []

        def heard(result: Result, done: int, total: int) -> None:
            kept.append(result.case_id)
            if done == 5:
                raise error

        start = time.perf_counter()
        with pytest.raises(error):
            ask(api, 20, on_result=heard, concurrency=3)
        assert time.perf_counter() - start < 5
        # what was on its way when the exception came may be counted late, but no more than runs at once
        time.sleep(0.3)
        assert api.total <= 5 + 3
    assert sorted(kept) == ["c0", "c1", "c2", "c3", "c4"]


def test_signal_waits_for_a_safe_moment() -> None:
    """A signal raises nothing inside the event loop, which could lose a step of it: asking ends at the next look."""
    before = signal.signal(signal.SIGTERM, terminate)
    went_on: list[str] = []

    def heard(result: Result, done: int, total: int) -> None:
        if done == 5:
            signal.raise_signal(signal.SIGTERM)
            went_on.append(result.case_id)

    try:
        with FakeAskApi(lambda question: (200, ask_body(question), 0 if int(question[1:]) < 5 else 30)) as api:
            start = time.perf_counter()
            with pytest.raises(SystemExit):
                ask(api, 20, on_result=heard, concurrency=3)
            assert time.perf_counter() - start < 5
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(went_on) == 1


def terminate(number: int, frame: object) -> None:
    """Handle a signal as a program does that wants to clean up."""
    raise SystemExit


@each_row(
    ("number", "handle", "error"),
    [(signal.SIGINT, signal.default_int_handler, KeyboardInterrupt), (signal.SIGTERM, terminate, SystemExit)],
)
def test_signal_while_waiting_for_answers(number: int, handle: Any, error: type[BaseException]) -> None:
    """A real signal, while every question hangs, ends the asking at once."""
    before = signal.signal(number, handle)
    try:
        with FakeAskApi(lambda _: (200, b"", 30)) as api:
            threading.Timer(0.2, os.kill, [os.getpid(), number]).start()
            start = time.perf_counter()
            with pytest.raises(error):
                ask(api, 20)
            assert time.perf_counter() - start < 5
    finally:
        signal.signal(number, before)


def test_how_an_api_ended_after_the_last_question() -> None:
    """An API that dies of its last answer is noticed though nothing is left to ask."""
    assert service_ask.ended_early(Serving(base_url="http://127.0.0.1:1")) is None
    told = service_ask.ended_early(Serving(base_url="http://127.0.0.1:1", died=lambda: KILLED))
    assert told == "the API was killed by SIGKILL right after its last answer"
