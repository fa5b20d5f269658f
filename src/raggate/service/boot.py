"""Settings of the API -> an API that is up: healthy, its index complete or no longer growing. Torn down at the end."""

from __future__ import annotations

import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from raggate.base.certificates import TRUST, checked_by, distrusted
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.numbers import counted, fixed, setting
from raggate.base.quote import cut, quoted
from raggate.config.service_settings import Api, Readiness
from raggate.config.values import address_of
from raggate.models.service import IndexState, ProcessExit, Started, Workspace
from raggate.service import signals
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.line_pipes import Serving, Spoken
from raggate.service.transport import Exchange, Wire

_T = TypeVar("_T")
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/])(?:/[^\s/:'\"]+)+")
_LONGEST = 2000
_DETAIL = 1200
"""Characters of why an index cannot be read, with the names of others."""
Probe = Callable[[httpx.Client, Readiness], IndexState]
"""`index_state` of an adapter. Raises httpx.HTTPError for no answer, ValueError for one that breaks the protocol."""
Start = Callable[[Api, Workspace], AbstractContextManager[Started]]
"""Starts an API in a place; on exit everything that was started is gone, whatever happened."""
Backend = Callable[..., AbstractContextManager[Started]]
"""The same, of a shelf: it takes what makes the pipes of an API over standard input and output, too."""
_POLL = 0.1  # seconds, as all of these: from one look to the next
_KNOCK = 0.02  # the same while nothing answers
_WATCH = 0.05  # from one check that the process lives to the next, also during a look
_REQUEST = 10.0  # for one HTTP request of a look
_PATIENCE = 5.0  # with what does not get better by waiting, such as the status 404 and a certificate of nobody's
_NEWS = 5.0  # from one progress message to the next
_TELLING = 0.5
_LISTENING = 2.0
_OWN_NAMES = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))


class Expected(Struct, frozen=True, kw_only=True):
    """What a complete index holds: the notes with text, and the chunks that the baseline's index had of the same notes.

    `chunks` is None where that is not known.
    """

    documents: int
    chunks: int | None = None


class Growth:
    """Decides from one state after the other whether the index is final.

    An index that was never seen to grow and holds all that is expected is final at the second look. Any other has to
    stay as it is for a while: some APIs count a note before they embed it, and say meanwhile that they are done. An
    empty one is never final, however long it stays so, unless the baseline was measured with one that counts so too.
    """

    def __init__(self, expected: Expected, settle: float) -> None:
        self._expected = expected
        self._settle = settle
        self._seen: tuple[int | None, ...] | None = None
        self._since = 0.0
        self.grew = False  # whether two looks saw different numbers

    def finished(self, state: IndexState | None, now: float) -> bool:
        """Take the state of one look, None for none, at `now` seconds on any clock that only goes forward."""
        if state is None or not state.healthy or state.indexing:
            self._seen = None
            return False
        numbers = (state.documents, state.chunks, state.empty)
        if numbers != self._seen:
            self.grew |= self._seen is not None
            self._seen, self._since = numbers, now
            return False
        if self.is_empty(state):
            return False
        return (self._complete(state) and not self.grew) or now - self._since >= self._settle

    def is_empty(self, state: IndexState) -> bool:
        """Return whether an index holds no document or no chunk, though there are notes with text."""
        return self._expected.documents > 0 and (
            state.documents == 0 or (state.chunks == 0 and self._expected.chunks != 0)
        )

    def _complete(self, state: IndexState) -> bool:
        if state.documents is None and state.chunks is None:
            # an API that does not count is believed at once, unless something kept it from counting
            return not state.detail
        if state.empty or (state.documents is not None and state.documents < self._expected.documents):
            return False
        return state.chunks is None or (self._expected.chunks is not None and state.chunks >= self._expected.chunks)


class Clock:
    """The clock of this machine. All times are seconds."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def take(self, answers: queue.SimpleQueue[_T], seconds: float) -> _T:
        """Wait for the next answer that another thread gives, for `seconds` at most."""
        return answers.get(timeout=seconds)


def why_it_ended(ended: ProcessExit, log: Iterable[str] = (), *, contained: bool = False) -> str:
    """Return what to do about an API that has ended."""
    lines = (line[:_LONGEST] for line in log) if contained else ()
    tried = next((seen for line in lines if _READ_ONLY.search(line) and (seen := _PATH.search(line))), None)
    if tried is not None:
        path = quoted(tried[0], limit=200)
        return (
            f"It tried to write {path}, and its root file system is read-only. Name the directory in "
            "`api.container.writable` (it is then empty at every start), or `/` for all of it."
        )
    if ended.service is not None:
        return "Its whole output is in the log of its name in the run directory; its limits are under `api.services`."
    if ended.code == 0:
        return "Keep the command in the foreground: it must not end while the API serves."
    if ended.out_of_memory:
        return "Raise `api.container.memory`, or let the API use less memory."
    if ended.signal == "SIGKILL":
        return "Only the operating system kills a process like this. It may have used too much memory."
    return "Its whole output is in api.log of the run directory."


def check_size(documents: int | None, *, expected: int, files: int) -> None:
    """Refuse an index with more documents than the vault has files."""
    if documents is not None and documents > max(expected, files):
        raise CannotTell(
            f"the API's index has {counted(documents, 'document')}, but the vault has {counted(expected, 'note')}",
            hint="It answers from another vault, or from an index that an earlier run left behind. Give it the vault "
            "of raggate.yml ({vault.NAME}), and a fresh index or its own store ({run}) for every run.",
        )


@contextmanager
def up(
    api: Api,
    workspace: Workspace,
    *,
    index_state: Probe,
    expected: Expected,
    start: Start | None = None,
    transport: httpx.BaseTransport | None = None,
    clock: Clock | None = None,
) -> Iterator[Started]:
    """Bring the API up and wait until it can be asked; on leaving, what was started is gone.

    `start` takes the place of the backend that the settings choose, and `transport` that of a connection.
    """
    with ExitStack() as stack:
        started = stack.enter_context(_start(api, workspace, start))
        wait = _Wait(started, api, index_state, expected, workspace.say, clock or Clock())
        state = wait.until_ready(transport)
        if (state.documents or 0) > expected.documents:
            # only then, as a large vault takes long to count
            files = sum(path.is_file() for vault in workspace.vaults.values() for path in vault.rglob("*"))
            check_size(state.documents, expected=expected.documents, files=files)
        yield started


@contextmanager
def _start(api: Api, workspace: Workspace, start: Start | None) -> Iterator[Started]:
    if api.url is not None:
        check(api.url, workspace)
        workspace.say(f"waiting for the API at {api.url}")
        yield Serving(base_url=api.url)
        return
    with (start or backend(api))(api, workspace) as started:
        yield started


def spoken_to(pipes: Spoken) -> Start:
    """Return what starts an API of `api.command` or `api.container` that is asked through such pipes."""
    return lambda api, workspace: backend(api)(api, workspace, pipes)


def backend(api: Api) -> Backend:
    """Return what starts an API as its settings say."""
    # each is loaded only for those who use it
    if api.command is not None:
        from raggate.service.backends import command

        return command.start
    from raggate.service.backends import container

    return container.start


class _Look(Struct, frozen=True):
    """What one look at the API gave: a state or an error."""

    exchange: Exchange
    state: IndexState | None = None
    error: Exception | None = None


@dataclass
class _Wait:
    """The wait for one API, from its start to its readiness or the reason why that did not come."""

    _started: Started
    _api: Api
    _index_state: Probe
    _expected: Expected
    _say: Callable[[str], None]
    _clock: Clock
    _last: _Look | None = None
    _hopeless_since: float | None = None

    def __post_init__(self) -> None:
        self._ready = self._api.ready
        self._growth = Growth(self._expected, self._ready.settle)
        self._begun = self._clock.now()
        self._deadline = self._begun + self._ready.timeout

    def until_ready(self, transport: httpx.BaseTransport | None) -> IndexState:
        pipes, url = getattr(self._started, "pipes", None), self._started.base_url
        inner = transport or (pipes and pipes.transport())
        inner = inner or httpx.HTTPTransport(trust_env=False, verify=checked_by(url))
        wire = Wire(inner, deadline=self._deadline, seconds=_REQUEST, max_bytes=MAX_BODY_BYTES, now=self._clock.now)
        news = self._begun + _NEWS
        with httpx.Client(transport=wire, trust_env=False, follow_redirects=False) as client:
            while True:
                self._looked = self._clock.now()
                look = self._look(client, wire)
                now = self._clock.now()
                # one that the deadline cut short tells nothing: the look before it does
                if now < self._deadline:
                    self._last = look
                if self._growth.finished(look.state, now) and look.state is not None:
                    self._announce(look.state)
                    return look.state
                self._give_up_if_hopeless(look, now)
                if now >= news:
                    self._say(f"waiting for {fixed(now - self._begun, 0)} s: {self._situation()}")
                    news = now + _NEWS
                self._pause(now + (_KNOCK if isinstance(look.error, httpx.ConnectError) else _POLL))

    def _look(self, client: httpx.Client, wire: Wire) -> _Look:
        # in a thread of its own, because an answer whose header drips outlasts every timeout that a client can set:
        # https://github.com/encode/httpx/issues/1450
        client.base_url = self._started.base_url
        box: queue.SimpleQueue[_Look | BaseException] = queue.SimpleQueue()

        def look() -> None:
            wire.exchange = Exchange()
            try:
                box.put(_Look(wire.exchange, state=self._index_state(client, self._ready)))
            except (httpx.HTTPError, ValueError) as error:
                box.put(_Look(wire.exchange, error=error))
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                box.put(error)

        threading.Thread(target=look, name="look at the API", daemon=True).start()
        while True:
            try:
                look_or_error = self._clock.take(box, _WATCH)
            except queue.Empty:
                if self._clock.now() - self._looked > _TELLING:
                    self._last = _Look(wire.exchange, error=httpx.ReadTimeout("not yet"))
                self._check(late=2 * _WATCH)
            else:
                if isinstance(look_or_error, BaseException):
                    raise look_or_error
                return look_or_error

    def _pause(self, end: float) -> None:
        while True:
            self._check()
            left = min(end, self._deadline) - self._clock.now()
            if left <= 0:
                break
            self._clock.sleep(min(left, _WATCH))
        self._check()

    def _check(self, late: float = 0.0) -> None:
        """Raise when the process has ended or the time is over, by `late` seconds so that a look can tell why."""
        signals.check()
        if (ended := self._started.died()) is not None:
            log = self._started.log_tail()
            hint = why_it_ended(ended, log, contained=self._api.container is not None)
            raise CannotTell(f"the API {ended.message} before it was ready", hint=hint, log=log)
        if self._clock.now() >= self._deadline + late:
            raise CannotTell(
                f"the API was not ready after {setting(self._ready.timeout)} s: {self._situation()}",
                hint=self._hint(),
                log=self._started.log_tail(),
            )

    def _give_up_if_hopeless(self, look: _Look, now: float) -> None:
        # what a healthy API says to a question while it indexes is its own affair
        answered = look.exchange.hopeless and not (look.state and look.state.healthy)
        if not (answered or distrusted(look.error)):
            self._hopeless_since = None
            return
        self._hopeless_since = now if self._hopeless_since is None else self._hopeless_since
        if now - self._hopeless_since >= _PATIENCE:
            what = look.exchange.answer() if answered else self._situation()
            raise CannotTell(
                f"the API cannot become ready: {what} for {setting(_PATIENCE)} s",
                hint=self._which_path(look.exchange) if answered else TRUST,
                log=self._started.log_tail(),
            )

    def _which_path(self, exchange: Exchange) -> str:
        path = exchange.request.partition(" ")[2]
        if path != self._ready.health_path:
            return f"Is {path} a path of this API? Set the path in the section `ask`."
        return f"Is `api.ready.health_path` ({cut(path)}) a path of this API?"

    def _situation(self) -> str:
        if self._last is None:
            return "it accepts connections but has not answered"
        exchange, state, error = self._last.exchange, self._last.state, self._last.error
        if distrusted(error):
            return f"the certificate of {cut(self._started.base_url)} is not trusted ({cut(error)})"
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return f"it is not listening, no connection to {cut(self._started.base_url)} ({cut(error)})"
        if isinstance(error, httpx.TimeoutException):
            if getattr(self._started, "pipes", None) is not None:
                return "it runs but does not answer over its standard output"
            return f"it accepts connections but {exchange.request or 'a request'} is not answered in time"
        if isinstance(error, httpx.HTTPStatusError):
            return exchange.answer()
        if isinstance(error, httpx.HTTPError):
            return f"its answer to {exchange.request or 'a request'} cannot be read ({cut(error)})"
        if error is not None or state is None:
            return f"it does not follow the protocol, {cut(error)} ({exchange.answer()})"
        if not state.healthy:
            return f"it is not healthy, {cut(state.detail) or exchange.answer()}"
        if state.unseen:
            return f"its index cannot be read, {cut(state.detail, limit=_DETAIL)}"
        return f"{self._doing(state)}, {self._count(state)}" + (f" ({cut(state.detail)})" if state.detail else "")

    def _doing(self, state: IndexState) -> str:
        if state.indexing:
            return "it is still indexing"
        if self._growth.is_empty(state):
            return "its index is empty"
        if self._growth.grew:
            return "its index still changes"
        known = state.documents is not None and state.documents < self._expected.documents
        return "its index is incomplete" if known else "its index is not known to be complete"

    def _count(self, state: IndexState) -> str:
        chunks = "" if state.chunks is None else f", {counted(state.chunks, 'passage')}"
        if state.documents is None:
            return f"the API does not report how many documents it has{chunks}"
        expected = self._expected.documents
        if state.documents > expected:
            return f"{counted(state.documents, 'document')}, the vault has {counted(expected, 'note')}{chunks}"
        return f"{state.documents} of {counted(expected, 'document')}{chunks}"

    def _hint(self) -> str:
        state, error = (self._last.state, self._last.error) if self._last else (None, None)
        longer = f"If it only needs more time, raise `api.ready.timeout` ({setting(self._ready.timeout)} s now)."
        if state is not None and state.unseen:
            return f"Are the names of your index and its fields right in `ask.index` and `ask.path`? {longer}"
        if state is not None and state.healthy and not state.indexing and self._growth.is_empty(state):
            return (
                "Nothing can be found in an empty index. Does your API read the notes of this run? Does its log name "
                "an error? Does it return the number of documents and passages, and no other count?"
            )
        if distrusted(error):
            return TRUST
        if isinstance(error, ValueError):
            return (
                "It answers, so more time alone hardly helps. Correct the API, or what `ask` reads of its health and "
                "index. If `indexing` is more than true or false, list the values that mean yes: "
                "`indexing: {FIELD: [VALUE]}`."
            )
        if self._api.url is not None:
            return (
                "Start the API of `api.url` before raggate, at an address that raggate can reach. In a container, "
                f"localhost is the container itself. {longer}"
            )
        if isinstance(error, httpx.ConnectError) and self._api.container is not None:
            return f"Let it listen on port {self._api.container.port} of 0.0.0.0, not only of localhost. {longer}"
        if isinstance(error, httpx.ConnectError):
            return f"Let it listen on 127.0.0.1, at the port that replaces {{port}}. {longer}"
        return f"{longer} Its whole output is in api.log of the run directory."

    def _announce(self, state: IndexState) -> None:
        text = f"the API is up after {fixed(self._clock.now() - self._begun, 1)} s: {self._count(state)}"
        if state.documents is not None and state.documents < self._expected.documents:
            text += f", and the index is incomplete but has not changed for {setting(self._ready.settle)} s"
        self._say(f"{text}; {state.detail}" if state.detail else text)


def check(url: str, workspace: Workspace) -> None:
    """Refuse an address that is the container which raggate runs in, where nothing listens."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    address = address_of(host)
    named = host in _OWN_NAMES or host.endswith(".localhost")
    own = named if address is None else address.is_loopback or address.is_unspecified
    # some runners give the action the network of the machine
    if not workspace.in_action or not own or _listening(url):
        return
    raise UsageError(
        f"api.url: {quoted(host)} is the container that raggate runs in, not the machine around it",
        hint="If your API is a service container of the job, use the service's name, such as http://api:9000. If it "
        "runs on the machine, let it listen on all addresses and use the address of the network's gateway "
        "(`docker network inspect bridge`). Or let raggate start it: `api.container`.",
    )


def _listening(url: str) -> bool:
    parts = urlsplit(url)
    try:
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        with socket.create_connection((parts.hostname or "", port), timeout=_LISTENING):
            return True
    except (OSError, ValueError):
        return False
