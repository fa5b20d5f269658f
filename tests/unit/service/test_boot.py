"""Readiness: when an API counts as up, and what is said when it does not come up. No process, network or waiting."""

from __future__ import annotations

import queue
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.config.service_settings import Api, CommandBackend, Readiness
from raggate.models.service import IndexState, ProcessExit, Workspace
from raggate.service import boot
from raggate.service.boot import Clock, Expected, Growth, check_size, why_it_ended
from tables import each_row

SETTLE = 3.0
FIVE = Expected(documents=5, chunks=9)
UNKNOWN = Expected(documents=5)


def state_index_growth(
    documents: int | None, chunks: int | None = None, empty: int | None = None, detail: str = ""
) -> IndexState:
    return IndexState(healthy=True, indexing=False, documents=documents, chunks=chunks, empty=empty, detail=detail)


def final_at(expected: Expected, *states: IndexState | None) -> float | None:
    growth = Growth(expected, SETTLE)
    for second in range(20):
        if growth.finished(states[min(second, len(states) - 1)], float(second)):
            return float(second)
    return None


@each_row(
    ("expected", "states", "second"),
    [
        pytest.param(FIVE, [state_index_growth(5, 9, 0)], 1, id="complete at the second look"),
        pytest.param(FIVE, [state_index_growth(5, 12)], 1, id="more passages than the baseline had"),
        pytest.param(FIVE, [state_index_growth(5)], 1, id="no passages told"),
        pytest.param(FIVE, [state_index_growth(None)], 1, id="nothing counted"),
        pytest.param(FIVE, [state_index_growth(None, 9)], 1, id="chunks alone, as many as the baseline had"),
        pytest.param(FIVE, [state_index_growth(None, 8)], 3, id="chunks alone, fewer than the baseline had"),
        pytest.param(
            UNKNOWN, [state_index_growth(None, 9)], 3, id="chunks alone, and how many there should be is not known"
        ),
        pytest.param(FIVE, [state_index_growth(None, detail="HTTP 503")], 3, id="kept from counting"),
        pytest.param(FIVE, [state_index_growth(4, 9)], 3, id="a document is missing"),
        pytest.param(FIVE, [state_index_growth(5, 8)], 3, id="fewer passages than the baseline had"),
        pytest.param(FIVE, [state_index_growth(5, 9, 2)], 3, id="documents without chunks"),
        pytest.param(UNKNOWN, [state_index_growth(5, 9)], 3, id="how many passages there should be is not known"),
        pytest.param(
            FIVE,
            [state_index_growth(5, 7), state_index_growth(5, 8), state_index_growth(5, 9)],
            5,
            id="complete, and seen to grow",
        ),
        pytest.param(FIVE, [state_index_growth(5, 9), None, state_index_growth(5, 9)], 3, id="no answer in between"),
        pytest.param(
            FIVE,
            [state_index_growth(1, 3), state_index_growth(1, 3), state_index_growth(1, 3), state_index_growth(2, 5)],
            6,
            id="a pause shorter than settle",
        ),
    ],
)
def test_when_an_index_is_final(expected: Expected, states: list[IndexState | None], second: float) -> None:
    """One that is known to be complete at the second look; one that grew, or may be incomplete, once it has settled."""
    assert final_at(expected, *states) == second


@each_row(
    ("expected", "seen", "second"),
    [
        pytest.param(FIVE, state_index_growth(5, 0), None, id="no chunk"),
        pytest.param(UNKNOWN, state_index_growth(None, 0), None, id="no passage, and no count of documents"),
        pytest.param(FIVE, state_index_growth(0), None, id="no document"),
        pytest.param(
            Expected(documents=5, chunks=0), state_index_growth(5, 0), 1, id="as the baseline's index counted"
        ),
        pytest.param(Expected(documents=0), state_index_growth(0, 0), 3, id="no note has text"),
    ],
)
def test_an_empty_index_is_never_final(expected: Expected, seen: IndexState, second: float | None) -> None:
    """No time makes an index that holds nothing one to ask, unless nothing is what it should count."""
    assert final_at(expected, seen) == second


DONE = IndexState(healthy=True, indexing=False, documents=5, chunks=9)


class Hangs(BaseException):
    """What a look raises that is never answered."""


class FakeClock(Clock):
    """Time that passes only where somebody waits: a test takes none, however busy the machine is."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> float:
        """Return the seconds that were waited."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        assert seconds > 0
        self.seconds += seconds

    def take(self, answers: queue.SimpleQueue, seconds: float) -> object:
        """Return the answer, which the other thread gives at once; a look that hangs takes all the time there is."""
        answer = answers.get(timeout=60)
        if isinstance(answer, Hangs):
            answers.put(answer)
            self.seconds += seconds
            raise queue.Empty
        return answer


@dataclass
class FakeApi:
    """A Started whose death can be scripted: `deaths` are what died() says, the last one for ever."""

    deaths: list[ProcessExit | None] = field(default_factory=lambda: [None])
    base_url: str = "http://127.0.0.1:9"
    log: tuple[str, ...] = ("starting", "panic: no vault")
    closed: bool = False

    def died(self) -> ProcessExit | None:
        """Return the next of the scripted deaths."""
        return self.deaths.pop(0) if len(self.deaths) > 1 else self.deaths[0]

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of a fixed log."""
        return self.log

    @contextmanager
    def start(self, settings: object, place: object) -> Iterator[FakeApi]:
        """Stand in for a backend."""
        try:
            yield self
        finally:
            self.closed = True


class Script:
    """An index_state that plays looks one after the other, the last one for ever, and counts them."""

    def __init__(self, *looks: IndexState | Exception) -> None:
        self.looks = list(looks)
        self.count = 0

    def __call__(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Play the next look."""
        look = self.looks[min(self.count, len(self.looks) - 1)]
        self.count += 1
        if isinstance(look, Exception):
            raise look
        return look


def asking(client: httpx.Client, ready: Readiness) -> IndexState:
    response = client.get(ready.health_path)
    if response.status_code == 200 and not isinstance(response.json(), dict):
        raise ValueError("expected a mapping, found a list")
    return IndexState(healthy=response.status_code == 200, indexing=False)


def state(documents: int | None, chunks: int | None = None, *, indexing: bool = False, detail: str = "") -> IndexState:
    return IndexState(healthy=True, indexing=indexing, documents=documents, chunks=chunks, detail=detail)


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return Workspace(root=tmp_path, out=tmp_path, vaults={}, environment={})


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bring_up(place: Workspace, clock: FakeClock) -> Callable[..., Outcome]:
    def run(
        index_state: boot.Probe,
        *,
        api: FakeApi | None = None,
        url: str | None = None,
        respond: Callable[[httpx.Request], httpx.Response] | None = None,
        timeout: float = 60,
        settle: float = 3,
        expected: Expected = FIVE,
    ) -> Outcome:
        fake, said = api or FakeApi(), list[str]()
        settings = Api(
            command=None if url else CommandBackend(run=["x"]),
            url=url,
            ready=Readiness(timeout=timeout, settle=settle),
        )
        begun, error = clock.now(), None
        try:
            with boot.up(
                settings,
                replace(place, say=said.append),
                index_state=index_state,
                expected=expected,
                start=fake.start,
                transport=httpx.MockTransport(respond) if respond else None,
                clock=clock,
            ) as started:
                assert fake.closed is False
                assert started.base_url == (url or fake.base_url)
        except CannotTell as caught:
            error = caught
        return Outcome(fake, said, error, clock.now() - begun)

    return run


@dataclass
class Outcome:
    """How one attempt to bring an API up went."""

    api: FakeApi
    said: list[str]
    error: CannotTell | None
    seconds: float

    @property
    def message(self) -> str:
        """Return what was said when it did not come up."""
        assert self.error is not None, "it came up"
        return self.error.message


class TestReady:
    """When an API counts as up."""

    def test_two_equal_looks_at_a_complete_index(self, bring_up):
        """An API whose index is complete is up after the second look that says so, and is torn down at the end."""
        script = Script(DONE)
        outcome = bring_up(script)
        assert outcome.error is None
        assert script.count == 2
        assert outcome.api.closed
        assert "5 of 5 documents, 9 passages" in outcome.said[-1]

    def test_a_relapse_starts_over(self, bring_up):
        """A look that fails between two equal ones makes neither of them count."""
        script = Script(DONE, httpx.ReadError("reset"), DONE, IndexState(healthy=False, indexing=False), DONE, DONE)
        assert bring_up(script).error is None
        assert script.count == 6

    def test_an_incomplete_index_is_final_once_it_settles(self, bring_up):
        """An index smaller than the vault is taken as final only after it has not changed for the settling time."""
        outcome = bring_up(Script(state(4, 9)), settle=3)
        assert outcome.error is None
        assert outcome.seconds == pytest.approx(3, abs=0.1)
        assert outcome.said[-1].endswith(
            "4 of 5 documents, 9 passages, and the index is incomplete but has not changed for 3 s"
        )

    def test_more_documents_than_the_vault_has(self, bring_up):
        """An index larger than the vault is that of another vault, or an old one: nothing is asked of it."""
        assert "6 documents, but the vault has 5 notes" in bring_up(Script(state(6, 9))).error.message

    def test_url_starts_nothing(self, bring_up):
        """With `api.url` no backend is used and nothing is torn down."""
        outcome = bring_up(Script(DONE), url="http://rag.test:9000")
        assert outcome.error is None
        assert outcome.api.closed is False

    def test_news_while_it_takes_long(self, bring_up):
        """A long wait says every five seconds how far the API is."""
        outcome = bring_up(Script(*[state(2, 3, indexing=True)] * 110, DONE))
        assert outcome.said[:-1] == [
            f"waiting for {seconds} s: it is still indexing, 2 of 5 documents, 3 passages" for seconds in (5, 10)
        ]


class TestDeath:
    """The process ends before it is ready."""

    def test_before_the_first_answer(self, bring_up):
        """A dead process ends the wait at once, with how it ended and its last output."""
        outcome = bring_up(
            Script(httpx.ConnectError("refused")),
            api=FakeApi(deaths=[None, None, ProcessExit(message="exited with code 3", code=3)]),
        )
        assert outcome.message == "the API exited with code 3 before it was ready"
        assert outcome.error.log == ("starting", "panic: no vault")
        assert outcome.seconds < 1
        assert outcome.api.closed

    def test_during_a_look_that_hangs(self, bring_up):
        """A process that dies while a request hangs is noticed without waiting for the request."""

        def hang(client: httpx.Client, ready: Readiness) -> IndexState:
            raise Hangs

        outcome = bring_up(
            hang, api=FakeApi(deaths=[None, None, ProcessExit(message="was killed by SIGKILL", signal="SIGKILL")])
        )
        assert outcome.message == "the API was killed by SIGKILL before it was ready"
        assert "memory" in outcome.error.hint
        assert outcome.seconds < 1


class TestTimeout:
    """The time is over before it is ready."""

    def test_not_listening(self, bring_up):
        """Nothing on the port is told apart from bad answers, with the key of the timeout and the log."""
        outcome = bring_up(timeout=2, index_state=Script(httpx.ConnectError("[Errno 111] Connection refused")))
        assert outcome.message.startswith("the API was not ready after 2 s: it is not listening")
        assert outcome.seconds == pytest.approx(2)
        assert "http://127.0.0.1:9" in outcome.message
        assert "api.ready.timeout" in outcome.error.hint
        assert outcome.error.log

    def test_not_listening_elsewhere(self, bring_up):
        """An API that somebody else should have started is said to need starting."""
        outcome = bring_up(timeout=2, index_state=Script(httpx.ConnectError("refused")), url="http://rag.test:9000")
        assert "Start the API of `api.url` before raggate" in outcome.error.hint

    def test_unhealthy(self, bring_up):
        """A bad status is shown with the beginning of the body, harmless."""
        outcome = bring_up(
            timeout=2, index_state=asking, respond=lambda _: httpx.Response(503, text="no \x1b[31mvector\nstore")
        )
        assert "not healthy, GET /api/health answers 503: no \x1b[31mvector store" in outcome.message

    def test_another_protocol(self, bring_up):
        """An answer of the wrong shape is told apart from a bad status."""
        outcome = bring_up(timeout=2, index_state=asking, respond=lambda _: httpx.Response(200, json=[1, 2]))
        assert "does not follow the protocol, expected a mapping, found a list" in outcome.message
        assert "answers 200: [1,2]" in outcome.message

    def test_another_word_than_true(self, bring_up):
        """Where `indexing` is "idle", neither more time nor starting the API helps, and neither is said to."""
        state = Script(ValueError('index.indexing: expected true or false, found "idle"'))
        outcome = bring_up(timeout=2, index_state=state, url="http://rag.test:9000")
        assert 'index.indexing: expected true or false, found "idle"' in outcome.message
        assert "list the values that mean yes: `indexing: {FIELD: [VALUE]}`" in outcome.error.hint
        assert "must be started" not in outcome.error.hint

    def test_still_indexing(self, bring_up):
        """An index that is not finished in time is told with how far it came."""
        outcome = bring_up(timeout=2, index_state=Script(state(3, 8, indexing=True)))
        assert "it is still indexing, 3 of 5 documents, 8 passages" in outcome.message

    def test_an_index_that_cannot_be_read(self, bring_up):
        """One that is not there is not still indexing; the hint asks for its name, and counts are no matter."""
        unseen = IndexState(healthy=True, indexing=True, unseen=True, detail="GET /notes: HTTP 404; its index: 'noted'")
        outcome = bring_up(timeout=2, index_state=Script(unseen))
        assert outcome.message.endswith("after 2 s: its index cannot be read, GET /notes: HTTP 404; its index: 'noted'")
        assert "Are the names of your index and its fields right" in outcome.error.hint

    def test_the_last_look_is_cut_short(self, bring_up, clock):
        """A look that the deadline cuts short says nothing: the one before it tells how far the API is."""
        indexing = state(4, indexing=True)

        def looks(client: httpx.Client, ready: Readiness) -> IndexState:
            if clock.now() < 1000.9:
                return indexing
            clock.seconds = 1001.0
            raise httpx.ReadTimeout("the deadline")

        message = bring_up(looks, timeout=1).message
        assert message == "the API was not ready after 1 s: it is still indexing, 4 of 5 documents"

    def test_an_index_that_never_settles(self, bring_up):
        """An index that grew and has not settled in time is not taken as final, and is said to change."""
        outcome = bring_up(timeout=2, index_state=Script(state(2, 4), state(3, 8)), settle=3)
        assert "its index still changes, 3 of 5 documents" in outcome.message

    @pytest.mark.parametrize(
        ("seen", "said"),
        [
            (state(4, 8), "its index is incomplete, 4 of 5 documents, 8 passages"),
            (state(5, 8), "its index is not known to be complete, 5 of 5 documents, 8 passages"),
            (state(0), "its index is empty, 0 of 5 documents"),
            (
                state(None, detail="POST /ask: no answer in time"),
                "its index is not known to be complete, the API does not report how many documents it has (POST "
                "/ask: no answer in time)",
            ),
        ],
    )
    def test_an_index_that_was_not_seen_to_change(self, bring_up, seen, said):
        """One that stays as it is, but not for long enough yet, is not said to change."""
        outcome = bring_up(timeout=2, index_state=Script(seen), settle=3)
        assert outcome.message == f"the API was not ready after 2 s: {said}"

    def test_an_empty_index(self, bring_up):
        """One that holds no chunk is not asked, however long it stays so, and no longer timeout is advised."""
        outcome = bring_up(timeout=20, index_state=Script(state(5, 0)), settle=3)
        assert outcome.message == ("the API was not ready after 20 s: its index is empty, 5 of 5 documents, 0 passages")
        assert "Does your API read the notes" in outcome.error.hint
        assert "api.ready.timeout" not in outcome.error.hint

    @pytest.mark.parametrize("pause", [0.25, 3])
    def test_a_dripping_body_does_not_outlast_the_deadline(self, bring_up, clock, pause):
        """A body that comes byte by byte ends with the deadline, however short the pauses are."""

        class Drip(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                while True:
                    clock.sleep(pause)
                    yield b" "

        outcome = bring_up(timeout=15, index_state=asking, respond=lambda _: httpx.Response(200, stream=Drip()))
        assert "GET /api/health is not answered in time" in outcome.message
        assert 15 <= outcome.seconds <= 15 + pause

    def test_a_huge_body_is_not_read(self, bring_up):
        """A body beyond the limit is given up, not collected."""
        sent: list[int] = []

        class Huge(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                sent.append(0)
                while True:
                    sent[-1] += 1
                    yield b" " * (1 << 21)

        outcome = bring_up(timeout=2, index_state=asking, respond=lambda _: httpx.Response(200, stream=Huge()))
        assert "larger than 8388608 bytes" in outcome.message
        assert max(sent) == 5

    def test_a_compressed_bomb_is_not_unpacked(self, bring_up):
        """A compressed answer nobody asked for is not decoded."""
        bomb = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"\x1f\x8b bomb"))
        assert "does not follow the protocol" in bring_up(timeout=2, index_state=asking, respond=lambda _: bomb).message

    @pytest.mark.parametrize(
        ("seconds", "words"), [(0.3, "has not answered"), (30, "a request is not answered in time")]
    )
    def test_a_look_that_never_ends(self, bring_up, seconds, words):
        """A look that no timeout of the client ends, such as a dripping header, ends with the deadline all the same."""

        def hang(client: httpx.Client, ready: Readiness) -> IndexState:
            raise Hangs

        outcome = bring_up(timeout=seconds, index_state=hang)
        assert f"it accepts connections but {words}" in outcome.message
        assert outcome.seconds == pytest.approx(seconds, abs=0.2)


def test_a_hanging_look_is_left_on_a_real_clock(place: Workspace) -> None:
    """A look works in a thread of its own: one that is not answered at all does not keep the wait from ending."""
    answered = threading.Event()

    def hang(client: httpx.Client, ready: Readiness) -> IndexState:
        answered.wait(60)
        return DONE

    settings = Api(command=CommandBackend(run=["x"]), ready=Readiness(timeout=0.05))
    wait = boot.up(settings, place, index_state=hang, expected=FIVE, start=FakeApi().start)
    try:
        with pytest.raises(CannotTell, match="has not answered"), wait:
            pass
    finally:
        answered.set()


class TestHopeless:
    """Waiting does not help."""

    @pytest.mark.parametrize("status", [302, 401, 404, 405])
    def test_given_up_early(self, bring_up, status):
        """A status that waiting does not change ends the wait long before the timeout, and names the key to check."""
        outcome = bring_up(asking, respond=lambda _: httpx.Response(status))
        assert f"cannot become ready: GET /api/health answers {status}" in outcome.message
        assert outcome.message.endswith("for 5 s")
        assert "api.ready.health_path" in outcome.error.hint
        assert outcome.seconds == pytest.approx(5, abs=0.1)

    def test_given_up_at_a_path_of_the_adapter(self, bring_up):
        """Where the path is none of `api.ready`, no key of that section is offered to change."""

        def elsewhere(client: httpx.Client, ready: Readiness) -> IndexState:
            client.post("/mcp")
            return IndexState(healthy=False, indexing=False)

        outcome = bring_up(elsewhere, respond=lambda _: httpx.Response(404))
        assert "cannot become ready: POST /mcp answers 404" in outcome.message
        assert outcome.error.hint == "Is /mcp a path of this API? Set the path in the section `ask`."

    def test_given_up_with_a_certificate_that_nobody_vouches_for(self, bring_up):
        """Nor does a certificate get trusted by waiting: who could vouch for it is to be said."""

        def distrusting(client: httpx.Client, ready: Readiness) -> IndexState:
            raise httpx.ConnectError("self-signed") from ssl.SSLCertVerificationError("self-signed")

        outcome = bring_up(distrusting)
        assert re.search("ready: the certificate of .* is not trusted .* for 5 s", outcome.message)
        assert "SSL_CERT_FILE" in outcome.error.hint
        assert outcome.seconds == pytest.approx(5, abs=0.1)

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_not_given_up(self, bring_up, status):
        """A status that may get better is waited for."""
        outcome = bring_up(asking, respond=lambda _: httpx.Response(status), timeout=2)
        assert f"not ready after 2 s: it is not healthy, GET /api/health answers {status}" in outcome.message

    def test_patience_starts_over(self, bring_up):
        """Only what has lasted without a pause for all the patience is hopeless."""
        statuses = iter([*[404] * 26, 503, *[404] * 26])
        outcome = bring_up(asking, respond=lambda _: httpx.Response(next(statuses, 200), json={}))
        assert outcome.error is None


def test_a_bug_of_the_adapter_is_not_swallowed(bring_up):
    """An unexpected exception of index_state comes out as it is, and the API is torn down."""
    api = FakeApi()
    with pytest.raises(KeyError, match="oops"):
        bring_up(Script(KeyError("oops")), api=api)
    assert api.closed


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "localhost.localdomain",
        "ip6-loopback",
        "api.localhost",
        "127.0.0.1",
        "127.1.2.3",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::1%25lo]",
    ],
)
def test_localhost_inside_a_container(tmp_path: Path, host: str) -> None:
    """In the action's container, where nothing listens, localhost as URL is explained before anything is asked."""
    place = Workspace(root=tmp_path, out=tmp_path, vaults={}, environment={}, in_action=True)
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        api = Api(url=f"http://{host}:{taken.getsockname()[1]}")
    with (
        pytest.raises(UsageError, match="is the container that raggate runs in") as caught,
        boot.up(api, place, index_state=Script(state(5)), expected=FIVE, clock=FakeClock()),
    ):
        pass
    assert "service's name" in caught.value.hint
    assert "gateway" in caught.value.hint


@pytest.mark.parametrize("in_action", [True, False])
def test_localhost_where_something_listens(tmp_path: Path, *, in_action: bool) -> None:
    """What listens on localhost is asked, also by an action that a runner has given the machine's network."""
    place = Workspace(root=tmp_path, out=tmp_path, vaults={}, environment={}, in_action=in_action)
    looks = Script(state(5))
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        api = Api(url=f"http://127.0.0.1:{server.getsockname()[1]}")
        with boot.up(api, place, index_state=looks, expected=FIVE, clock=FakeClock()) as started:
            assert started.base_url == api.url
    assert looks.count


FAILED = ProcessExit(message="exited with code 1", code=1)


@each_row(
    ("line", "path"),
    [
        ("panic: open /data/index.db: read-only file system", "/data/index.db"),
        ("OSError: [Errno 30] Read-only file system: '/root/.cache/x'", None),
        ("Error: EROFS: read-only file system, mkdir '/app/tmp'", "/app/tmp"),
        ("mkdir: cannot create directory '/var/lib/x': Read-only file system", "/var/lib/x"),
    ],
)
def test_read_only(line: str, path: str | None) -> None:
    """An API that must write where it may not is told the path that it tried, and the key that allows it."""
    path = path or "/root/.cache/x"
    hint = why_it_ended(FAILED, ["starting", line], contained=True)
    assert f"{path!r}" in hint
    assert "`api.container.writable`" in hint
    assert "writable" not in why_it_ended(FAILED, [line])
    assert "writable" not in why_it_ended(FAILED, ["starting"], contained=True)


def test_a_service_has_limits_of_its_own() -> None:
    """The end of a service is no reason to give the API more."""
    hint = why_it_ended(ProcessExit(message="was killed", out_of_memory=True, service="store"))
    assert "under `api.services`" in hint
    assert "api.container" not in hint


@each_row(
    ("ended", "hint"),
    [
        (ProcessExit(message="exited with code 0", code=0), "foreground"),
        (ProcessExit(message="was killed", out_of_memory=True), "api.container.memory"),
        (ProcessExit(message="was killed by SIGKILL", signal="SIGKILL"), "too much memory"),
        (ProcessExit(message="was killed by SIGTERM", signal="SIGTERM"), "api.log"),
        (ProcessExit(message="was lost: exited with code 0 (OOM)"), "api.log"),
    ],
)
def test_what_to_do_follows_from_how_it_ended(ended: ProcessExit, hint: str) -> None:
    """The advice goes by the code, the signal and the memory, whatever the words say."""
    assert hint in why_it_ended(ended)


def test_a_hostile_line_is_plain_and_bounded() -> None:
    """What an API prints as a path is one harmless line, however long."""
    hint = why_it_ended(FAILED, ["/" + "\x1b[31m" * 5000 + "a: read-only file system"], contained=True)
    assert "\x1b" not in hint
    assert len(hint) < 600


def test_an_index_of_something_else() -> None:
    """More documents than the vault has files come from another vault or an earlier run: nothing is asked."""
    with pytest.raises(CannotTell, match=r"35 documents, but the vault has 1 note$") as caught:
        check_size(35, expected=1, files=2)
    assert "{run}" in caught.value.hint
