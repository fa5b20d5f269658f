"""The proxy before an API: what it lets through is untouched, and what it spoils is what the fault says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fakes.ask_api import FakeAskApi, Reply, ask_body
from raggate.config.ask_settings import Ask
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.service import ProcessExit
from raggate.prove.wire import FAULTS, Damage, Proxy, WireFault, proxy
from raggate.service.adapters.ask import AskAdapter
from raggate.service.adapters.over_http import OverHttp
from raggate.text.certificates import checked_by
from raggate.text.http_client import httpx
from tables import each_row

QUESTIONS = [(Case(id=f"c{number}", question=f"q{number}", answerable=True), "hybrid") for number in range(20)]
SETTINGS = Ask(concurrency=8)


@dataclass
class FakeStarted:
    """An API that has been started."""

    base_url: str

    def died(self) -> ProcessExit | None:
        """Say that it runs."""

    def log_tail(self) -> tuple[str, ...]:
        """Return a log."""
        return ("a line",)


def asked(api: object) -> Sequence[Result]:
    """Ask the questions, and give the results in order."""
    adapter = OverHttp(AskAdapter(SETTINGS, ("work",)), SETTINGS)
    return adapter.ask(QUESTIONS, api, on_result=lambda *_: None).results  # type: ignore[arg-type]


@contextmanager
def between(api: FakeAskApi) -> Iterator[Proxy]:
    """Put a proxy before a fake API, through which every question came already."""
    with proxy(FakeStarted(api.base_url), timeout=5) as running:
        asked(running)
        yield running


def fault(damage: Damage, share: float = 0.1, seconds: float = 0.0) -> WireFault:
    """Build a fault of HTTP."""
    return WireFault(name=damage, size="", damage=damage, share=share, seconds=seconds)


def test_nothing_is_spoilt_without_a_fault() -> None:
    """Answers are the API's own, byte for byte, and a question reaches it with its query, headers and body."""
    with FakeAskApi() as api, between(api) as running:
        direct = asked(FakeStarted(api.base_url))
        through = asked(running)
        assert [result.response for result in direct] == [result.response for result in through]
        assert all(result.response is not None for result in through)
        first, last = api.asked[-40], api.asked[-1]
        assert (first.path, first.query) == (last.path, last.query)
        assert last.headers["user-agent"] == "raggate"
        assert last.headers["accept-encoding"] == "identity"
        assert running.died() is None
        assert running.log_tail() == ("a line",)


@each_row(
    ("damage", "kind", "status"), [("status", "status", 500), ("half", "schema", 200), ("reset", "connection", None)]
)
def test_so_many_calls_fail_and_always_the_same(damage: Damage, kind: str, status: int | None) -> None:
    """A tenth of twenty questions are two, the same ones each time, and they fail in the way that the fault says."""
    with FakeAskApi() as api, between(api) as running:
        running.spoil(fault(damage))
        first, second = asked(running), asked(running)
        failed = [result for result in first if result.failure]
        assert [(result.failure.kind, result.failure.status) for result in failed if result.failure] == [
            (kind, status)
        ] * 2
        assert [result.case_id for result in failed] == [result.case_id for result in second if result.failure]


def test_a_busy_api_answers_at_the_second_attempt() -> None:
    """A call that is refused once with 503 is retried, and its answer is what it was."""
    with FakeAskApi() as api, between(api) as running:
        running.spoil(fault("busy"))
        results = asked(running)
        assert all(result.response is not None for result in results)
        assert sum(result.retries for result in results) == 2


def test_late_answers_are_late_and_whole() -> None:
    """Every answer takes at least as long as the fault says, and is the same."""
    with FakeAskApi() as api, between(api) as running:
        running.spoil(fault("late", 1.0, 0.05))
        results = asked(running)
        assert min(result.elapsed_ms for result in results) >= 50
        assert all(result.response is not None for result in results)


def test_a_fault_can_be_taken_back() -> None:
    """Without a fault again, every question is answered."""
    with FakeAskApi() as api, between(api) as running:
        running.spoil(fault("status", 1.0))
        assert all(result.failure for result in asked(running))
        running.spoil(None)
        assert not any(result.failure for result in asked(running))


def test_status_and_headers_of_the_api_are_passed_on() -> None:
    """An error of the API's own stays that error, with its body, and a redirect is not followed."""
    moved = Reply(status=307, headers={"Location": "http://127.0.0.1:1/", "X-Own": "1"}, body=b"elsewhere")
    with (
        FakeAskApi(lambda _: moved) as api,
        proxy(FakeStarted(api.base_url), timeout=5) as running,
    ):
        verify = checked_by(running.base_url)
        reply = httpx.post(f"{running.base_url}/api/v1/ask?debug=true", json={"question": "q"}, verify=verify)
        assert (reply.status_code, reply.headers["x-own"], reply.content) == (307, "1", b"elsewhere")
        assert reply.headers["location"] == "http://127.0.0.1:1/"


def test_an_api_that_is_gone_is_no_answer() -> None:
    """Where the API cannot be reached, the proxy closes the connection, as the API's own machine would."""
    with FakeAskApi() as api:
        address = api.base_url
    with proxy(FakeStarted(address), timeout=5) as running:
        results = asked(running)
        assert {result.failure.kind for result in results if result.failure} == {"connection", "aborted"}


def test_an_answer_larger_than_is_read_is_still_too_large() -> None:
    """The proxy hides no size from the bounds of asking."""
    big = ask_body("x" * (9 << 20))
    with FakeAskApi(lambda _: (200, big, 0.0)) as api, between(api) as running:
        results = asked(running)
        assert {result.failure.kind for result in results if result.failure} == {"body", "aborted"}


def test_known_faults_have_a_name_and_size_of_their_own() -> None:
    """No two faults of HTTP are one, and none strikes nobody."""
    assert len({(each.name, each.size) for each in FAULTS}) == len(FAULTS)
    assert all(0 < each.share <= 1 for each in FAULTS)
