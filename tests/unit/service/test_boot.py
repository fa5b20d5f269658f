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

FIVE = Expected(documents=5, chunks=9)
UNKNOWN = Expected(documents=5)


def state(
    documents: int | None,
    chunks: int | None = None,
    empty: int | None = None,
    *,
    indexing: bool = False,
    detail: str = "",
) -> IndexState:
    return IndexState(healthy=True, indexing=indexing, documents=documents, chunks=chunks, empty=empty, detail=detail)


DONE = state(5, 9)


@each_row(
    ("expected", "states", "second"),
    [
        pytest.param(FIVE, [state(5, 9, 0)], 1, id="complete at the second look"),
        pytest.param(FIVE, [state(5, 12)], 1, id="more passages than the baseline had"),
        pytest.param(FIVE, [state(5)], 1, id="no passages told"),
        pytest.param(FIVE, [state(None)], 1, id="nothing counted"),
        pytest.param(FIVE, [state(None, 9)], 1, id="chunks alone, as many as the baseline had"),
        pytest.param(FIVE, [state(None, 8)], 3, id="chunks alone, fewer than the baseline had"),
        pytest.param(UNKNOWN, [state(None, 9)], 3, id="chunks alone, and nobody knows how many there should be"),
        pytest.param(FIVE, [state(None, detail="HTTP 503")], 3, id="kept from counting"),
        pytest.param(FIVE, [state(4, 9)], 3, id="a document is missing"),
        pytest.param(FIVE, [state(5, 8)], 3, id="fewer passages than the baseline had"),
        pytest.param(FIVE, [state(5, 9, 2)], 3, id="documents without chunks"),
        pytest.param(UNKNOWN, [state(5, 9)], 3, id="how many passages there should be is not known"),
        pytest.param(FIVE, [state(5, 7), state(5, 8), state(5, 9)], 5, id="complete, and seen to grow"),
        pytest.param(FIVE, [state(5, 9), None, state(5, 9)], 3, id="no answer in between"),
        pytest.param(FIVE, [*[state(1, 3)] * 3, state(2, 5)], 6, id="a pause shorter than settle"),
        pytest.param(FIVE, [state(5, 0)], None, id="no chunk"),
        pytest.param(UNKNOWN, [state(None, 0)], None, id="no passage, and no count of documents"),
        pytest.param(FIVE, [state(0)], None, id="no document"),
        pytest.param(Expected(documents=5, chunks=0), [state(5, 0)], 1, id="empty as the baseline's index counted"),
        pytest.param(Expected(documents=0), [state(0, 0)], 3, id="no note has text"),
    ],
)
def test_when_an_index_is_final(expected: Expected, states: list[IndexState | None], second: float | None) -> None:
    """A complete one at the second look, one that grew or may be incomplete once it has settled, an empty one never."""
    growth = Growth(expected, 3.0)
    final = (at for at in range(20) if growth.finished(states[min(at, len(states) - 1)], float(at)))
    assert next(final, None) == second


class Hangs(BaseException):
    """What a look raises that is never answered."""


class FakeClock(Clock):
    """Time that passes only where somebody waits: a test takes none, however busy the machine is."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
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
        return self.deaths.pop(0) if len(self.deaths) > 1 else self.deaths[0]

    def log_tail(self) -> tuple[str, ...]:
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

    def __init__(self, *looks: IndexState | BaseException) -> None:
        self.looks = list(looks)
        self.count = 0

    def __call__(self, client: httpx.Client, ready: Readiness) -> IndexState:
        look = self.looks[min(self.count, len(self.looks) - 1)]
        self.count += 1
        if isinstance(look, BaseException):
            raise look
        return look


def asking(client: httpx.Client, ready: Readiness) -> IndexState:
    response = client.get(ready.health_path)
    if response.status_code == 200 and not isinstance(response.json(), dict):
        raise ValueError("expected a mapping, found a list")
    return IndexState(healthy=response.status_code == 200, indexing=False)


@dataclass
class Outcome:
    """How one attempt to bring an API up went."""

    api: FakeApi
    said: list[str]
    error: CannotTell | None
    seconds: float

    @property
    def message(self) -> str:
        assert self.error is not None, "it came up"
        return self.error.message


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
    ) -> Outcome:
        fake, said = api or FakeApi(), list[str]()
        ready = Readiness(timeout=timeout, settle=3)
        settings = Api(command=None if url else CommandBackend(run=["x"]), url=url, ready=ready)
        begun, error = clock.now(), None
        try:
            with boot.up(
                settings,
                replace(place, say=said.append),
                index_state=index_state,
                expected=FIVE,
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


def test_two_equal_looks_at_a_complete_index(bring_up):
    """An API whose index is complete is up after the second look that says so, and is torn down at the end."""
    script = Script(DONE)
    outcome = bring_up(script)
    assert outcome.error is None
    assert script.count == 2
    assert outcome.api.closed
    assert "5 of 5 documents, 9 passages" in outcome.said[-1]


def test_a_relapse_starts_over(bring_up):
    """A look that fails between two equal ones makes neither of them count."""
    script = Script(DONE, httpx.ReadError("reset"), DONE, IndexState(healthy=False, indexing=False), DONE, DONE)
    assert bring_up(script).error is None
    assert script.count == 6


def test_an_incomplete_index_is_final_once_it_settles(bring_up):
    """An index smaller than the vault is taken as final only after it has not changed for the settling time."""
    outcome = bring_up(Script(state(4, 9)))
    assert outcome.seconds == pytest.approx(3, abs=0.1)
    told = "4 of 5 documents, 9 passages, and the index is incomplete but has not changed for 3 s"
    assert outcome.said[-1].endswith(told)


def test_more_documents_than_the_vault_has(bring_up):
    """An index larger than the vault is that of another vault, or an old one: nothing is asked of it."""
    assert "6 documents, but the vault has 5 notes" in bring_up(Script(state(6, 9))).error.message


def test_news_while_it_takes_long(bring_up):
    """A long wait says every five seconds how far the API is."""
    outcome = bring_up(Script(*[state(2, 3, indexing=True)] * 110, DONE))
    told = "it is still indexing, 2 of 5 documents, 3 passages"
    assert outcome.said[:-1] == [f"waiting for {seconds} s: {told}" for seconds in (5, 10)]


@each_row("look", [httpx.ConnectError("refused"), Hangs()], ids=["before the first answer", "during a look that hangs"])
def test_a_dead_process_ends_the_wait(bring_up, look):
    """A process that dies is noticed at once, also while a request hangs; how and its last output are told."""
    ended = ProcessExit(message="was killed by SIGKILL", signal="SIGKILL")
    outcome = bring_up(Script(look), api=FakeApi(deaths=[None, None, ended]))
    assert outcome.message == "the API was killed by SIGKILL before it was ready"
    assert "memory" in outcome.error.hint
    assert outcome.error.log == ("starting", "panic: no vault")
    assert outcome.seconds < 1
    assert outcome.api.closed


MORE_TIME = "raise `api.ready.timeout` (2 s now)"
UNSEEN = IndexState(healthy=True, indexing=True, unseen=True, detail="GET /notes: HTTP 404; its index: 'noted'")
UNCOUNTED = "the API does not report how many documents it has (POST /ask: no answer in time)"


@each_row(
    ("look", "said", "hint"),
    [
        (httpx.ConnectError("no"), "it is not listening, no connection to http://127.0.0.1:9 (no)", MORE_TIME),
        (state(3, 8, indexing=True), "it is still indexing, 3 of 5 documents, 8 passages", MORE_TIME),
        (UNSEEN, "its index cannot be read, GET /notes: HTTP 404; its index: 'noted'", "Are the names of your index"),
        (state(4, 8), "its index is incomplete, 4 of 5 documents, 8 passages", MORE_TIME),
        (state(5, 8), "its index is not known to be complete, 5 of 5 documents, 8 passages", MORE_TIME),
        (state(5, 0), "its index is empty, 5 of 5 documents, 0 passages", "Does your API read the notes"),
        (state(0), "its index is empty, 0 of 5 documents", "Does your API read the notes"),
        (
            state(None, detail="POST /ask: no answer in time"),
            f"its index is not known to be complete, {UNCOUNTED}",
            MORE_TIME,
        ),
        # neither more time nor starting the API helps
        (
            ValueError('index.indexing: expected true or false, found "idle"'),
            'it does not follow the protocol, index.indexing: expected true or false, found "idle" '
            "(a request got no answer)",
            "list the values that mean yes: `indexing: {FIELD: [VALUE]}`",
        ),
        (Hangs(), "it accepts connections but a request is not answered in time", MORE_TIME),
    ],
)
def test_how_far_it_was_when_the_time_was_over(bring_up, look, said, hint):
    """The last look tells in one sentence what is missing, and the hint what can help."""
    outcome = bring_up(Script(look), timeout=2)
    assert outcome.message == f"the API was not ready after 2 s: {said}"
    assert hint in outcome.error.hint
    assert ("ready.timeout" in outcome.error.hint) == (hint == MORE_TIME or look is UNSEEN)
    assert outcome.seconds == pytest.approx(2, abs=0.2)
    assert outcome.error.log


def test_an_index_that_never_settles(bring_up):
    """An index that grew and has not settled in time is not taken as final, and is said to change."""
    outcome = bring_up(Script(state(2, 4), state(3, 8)), timeout=2)
    assert "its index still changes, 3 of 5 documents" in outcome.message


def test_not_listening_elsewhere(bring_up):
    """An API that somebody else should have started is said to need starting; nothing of it is torn down."""
    outcome = bring_up(Script(httpx.ConnectError("refused")), timeout=2, url="http://rag.test:9000")
    assert "Start the API of `api.url` before raggate" in outcome.error.hint
    assert not outcome.api.closed


@each_row(
    ("response", "said"),
    [
        (
            httpx.Response(503, text="no \x1b[31mvector\nstore"),
            "not healthy, GET /api/health answers 503: no \x1b[31mvec",
        ),
        (httpx.Response(200, json=[1, 2]), "expected a mapping, found a list (GET /api/health answers 200: [1,2])"),
        (httpx.Response(429), "it is not healthy, GET /api/health answers 429"),
        # compressed, which nobody asked for: it is not unpacked
        (
            httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"\x1f\x8b bomb")),
            "does not follow the protocol",
        ),
    ],
)
def test_an_answer_that_is_no_yes(bring_up, response, said):
    """A status that may get better is waited for, and told with its body; another shape is told apart."""
    assert said in bring_up(asking, timeout=2, respond=lambda _: response).message


def test_the_last_look_is_cut_short(bring_up, clock):
    """A look that the deadline cuts short says nothing: the one before it tells how far the API is."""

    def looks(client: httpx.Client, ready: Readiness) -> IndexState:
        if clock.now() < 1000.9:
            return state(4, indexing=True)
        clock.seconds = 1001.0
        raise httpx.ReadTimeout("the deadline")

    message = bring_up(looks, timeout=1).message
    assert message == "the API was not ready after 1 s: it is still indexing, 4 of 5 documents"


class Body(httpx.SyncByteStream):
    """A body without an end, which counts its pieces."""

    def __init__(self, piece: bytes, pause: Callable[[], None] = lambda: None) -> None:
        self.piece, self.pause, self.sent = piece, pause, 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.pause()
            self.sent += 1
            yield self.piece


@pytest.mark.parametrize("pause", [0.25, 3])
def test_a_dripping_body_does_not_outlast_the_deadline(bring_up, clock, pause):
    """A body that comes byte by byte ends with the deadline, however short the pauses are."""
    drip = lambda _: httpx.Response(200, stream=Body(b" ", lambda: clock.sleep(pause)))  # noqa: E731 - an answer
    outcome = bring_up(asking, timeout=15, respond=drip)
    assert "GET /api/health is not answered in time" in outcome.message
    assert 15 <= outcome.seconds <= 15 + pause


def test_a_huge_body_is_not_read(bring_up):
    """A body beyond the limit is given up, not collected."""
    bodies: list[Body] = []

    def huge(_: httpx.Request) -> httpx.Response:
        bodies.append(Body(b" " * (1 << 21)))
        return httpx.Response(200, stream=bodies[-1])

    assert "larger than 8388608 bytes" in bring_up(asking, timeout=2, respond=huge).message
    assert max(body.sent for body in bodies) == 5


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


@pytest.mark.parametrize("status", [302, 401, 404, 405])
def test_a_status_that_waiting_does_not_change(bring_up, status):
    """It ends the wait long before the timeout, and names the key to check."""
    outcome = bring_up(asking, respond=lambda _: httpx.Response(status))
    assert f"cannot become ready: GET /api/health answers {status}" in outcome.message
    assert outcome.message.endswith("for 5 s")
    assert "api.ready.health_path" in outcome.error.hint
    assert outcome.seconds == pytest.approx(5, abs=0.1)


def test_given_up_at_a_path_of_the_adapter(bring_up):
    """Where the path is none of `api.ready`, no key of that section is offered to change."""

    def elsewhere(client: httpx.Client, ready: Readiness) -> IndexState:
        client.post("/mcp")
        return IndexState(healthy=False, indexing=False)

    outcome = bring_up(elsewhere, respond=lambda _: httpx.Response(404))
    assert "cannot become ready: POST /mcp answers 404" in outcome.message
    assert outcome.error.hint == "Is /mcp a path of this API? Set the path in the section `ask`."


def test_given_up_with_a_certificate_that_nobody_vouches_for(bring_up):
    """Nor does a certificate get trusted by waiting: who could vouch for it is to be said."""

    def distrusting(client: httpx.Client, ready: Readiness) -> IndexState:
        raise httpx.ConnectError("self-signed") from ssl.SSLCertVerificationError("self-signed")

    outcome = bring_up(distrusting)
    assert re.search("ready: the certificate of .* is not trusted .* for 5 s", outcome.message)
    assert "SSL_CERT_FILE" in outcome.error.hint
    assert outcome.seconds == pytest.approx(5, abs=0.1)


def test_patience_starts_over(bring_up):
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


@each_row(
    "host",
    "localhost LOCALHOST. localhost.localdomain ip6-loopback api.localhost 127.0.0.1 127.1.2.3 127.1 2130706433 "
    "0x7f000001 0177.0.0.1 0.0.0.0 0 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] "
    "[::1%25lo]".split(),
)
def test_localhost_inside_a_container(place: Workspace, host: str) -> None:
    """In the action's container, where nothing listens, localhost as URL is explained before anything is asked."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        api = Api(url=f"http://{host}:{taken.getsockname()[1]}")
    up = boot.up(api, replace(place, in_action=True), index_state=Script(DONE), expected=FIVE, clock=FakeClock())
    with pytest.raises(UsageError, match="is the container that raggate runs in") as caught:
        up.__enter__()
    assert "service's name" in caught.value.hint
    assert "gateway" in caught.value.hint


@each_row("in_action", [True, False])
def test_localhost_where_something_listens(place: Workspace, *, in_action: bool) -> None:
    """What listens on localhost is asked, also by an action that a runner has given the machine's network."""
    looks, place = Script(DONE), replace(place, in_action=in_action)
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
        ("OSError: [Errno 30] Read-only file system: '/root/.cache/x'", "/root/.cache/x"),
        ("Error: EROFS: read-only file system, mkdir '/app/tmp'", "/app/tmp"),
        ("mkdir: cannot create directory '/var/lib/x': Read-only file system", "/var/lib/x"),
    ],
)
def test_read_only(line: str, path: str) -> None:
    """An API that must write where it may not is told the path that it tried, and the key that allows it."""
    hint = why_it_ended(FAILED, ["starting", line], contained=True)
    assert f"{path!r}" in hint
    assert "`api.container.writable`" in hint
    assert "writable" not in why_it_ended(FAILED, [line])
    assert "writable" not in why_it_ended(FAILED, ["starting"], contained=True)


@each_row(
    ("ended", "hint"),
    [
        (ProcessExit(message="exited with code 0", code=0), "foreground"),
        (ProcessExit(message="was killed", out_of_memory=True), "api.container.memory"),
        (ProcessExit(message="was killed", out_of_memory=True, service="store"), "its limits are under `api.services`"),
        (ProcessExit(message="was killed by SIGKILL", signal="SIGKILL"), "too much memory"),
        (ProcessExit(message="was killed by SIGTERM", signal="SIGTERM"), "api.log"),
        (ProcessExit(message="was lost: exited with code 0 (OOM)"), "api.log"),
    ],
)
def test_what_to_do_follows_from_how_it_ended(ended: ProcessExit, hint: str) -> None:
    """The advice goes by the code, the signal and the memory, whatever the words say; a service has its own limits."""
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
