"""Requests to judges over HTTP: bounded in number, in time and by the budget, and sent again where that may help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.certificates import checked_by
from raggate.base.dates import retry_after
from raggate.base.errors import UsageError
from raggate.base.http_client import httpx
from raggate.base.jsonio import dumps
from raggate.base.numbers import rounded, setting
from raggate.base.quote import cut
from raggate.base.redact import Scrubber, redact_cut
from raggate.config.judge_settings import SECONDS, JudgeModelSettings, Judges
from raggate.judges.budget import Budget
from raggate.judges.providers import PROVIDERS
from raggate.judges.replies import unescaped
from raggate.models.judging import JudgeRequest, NotJudged, Reply, Usage

RETRIES = 2
"""After 408, 429, 5xx or a lost connection. Each counts as a call of the budget."""
CALL_SECONDS = 600.0
"""For one request and its answer: a small machine takes long to read a long prompt."""
BACK_OFF_SECONDS = 0.5
"""Pause before the first retry where the server names none; it doubles with every further one."""
LONGEST_WAIT_S = 60.0
"""A server that asks to wait for longer is not asked again in this run's time: its limit is one of the hour or day."""
MOST_BYTES = 4 << 20
"""The largest answer that is read."""
MOST_BYTES_OF_ERROR = 64 << 10
"""Bytes of an error that are read. Messages show their beginning."""
_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504, 529))
_REFUSED = frozenset((503, 529))
"""Of the states of a server that fails, those of one that has not begun: after any other a reply may have been made."""
_NO_PROXY = (
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or NO_PROXY cannot be used: expected an address with http or https, such as "
    "http://proxy:3128"
)
_UNTOLD = Usage(untold=1, usd=None)


class KeyScrubber:
    """Hides one key; an empty one, of a server that needs none, is nowhere."""

    def __init__(self, key: str = "") -> None:
        self._keys = [key] if key else []
        self._scrub = Scrubber(self._keys)

    def text(self, text: str) -> str:
        """Return a foreign text without the key. It must be whole: of a key that was cut, the beginning is not seen."""
        shown = self._scrub(text)
        decoded = unescaped(shown)
        clean = self._scrub(decoded)
        return shown if clean == decoded else clean

    def outcome(self, outcome: Reply | NotJudged) -> Reply | NotJudged:
        """Return what came of a request without the key.

        A reply that spells it with escapes is none: whoever reads its JSON would have the key.
        """
        if not self._keys:
            return outcome
        if isinstance(outcome, NotJudged):
            return replace(outcome, detail=redact_cut(outcome.detail, self._keys))
        clean = self._scrub(outcome)
        decoded = unescaped(clean.text)
        if self._scrub(decoded) != decoded:
            return NotJudged(
                reason="invalid_reply", detail="the reply contains the judge's own key, spelt with escapes"
            )
        return clean


class _Lost(Struct, frozen=True):
    """An attempt without a reply: why, whether another one may help, and how long the server asks to wait."""

    why: NotJudged
    again: bool = False
    wait_s: float | None = None
    charged: bool = False


class _Line(Struct):
    """The connections to one model's server, and until when it wants to be left alone, on the clock of the loop."""

    http: httpx.AsyncClient
    free_at: float = 0.0
    scrub: KeyScrubber = field(default_factory=KeyScrubber)


class Client:
    """Sends requests. To be used as an asynchronous context manager, within one event loop."""

    def __init__(self, settings: Judges, budget: Budget, api_key: Callable[[JudgeModelSettings], str]) -> None:
        self._budget = budget
        self._api_key = api_key
        self._lines: dict[tuple[str, str], _Line] = {}
        self._stack = AsyncExitStack()
        self._free = asyncio.Semaphore(settings.concurrency)
        self._end = 0.0
        self.took: dict[str, float] = {}
        """The milliseconds of each request by its key, retries included, without the wait for its turn."""

    async def __aenter__(self) -> Self:
        self._end = _clock() + SECONDS
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def send(self, request: JudgeRequest) -> Reply | NotJudged:
        """Send a request until there is a reply, or no further attempt may help or is allowed."""
        async with self._free:
            try:
                line = self._line(request.model)
            except UsageError as error:
                return NotJudged(reason="connection", detail=error.message)
            except (ValueError, ImportError, httpx.InvalidURL):
                # not told with its address, which may hold a password
                return NotJudged(reason="connection", detail=_NO_PROXY)
            begin = _clock()
            try:
                return line.scrub.outcome(await self._send(request, line))
            finally:
                self.took[request.key] = 1000 * (_clock() - begin)

    async def _send(self, request: JudgeRequest, line: _Line) -> Reply | NotJudged:
        lost: _Lost | None = None
        for attempt in range(RETRIES + 1):
            if not await self._wait(line, attempt, lost):
                return _late(lost)
            outcome = await self._attempt(request, line, retry=attempt > 0)
            if isinstance(outcome, Reply):
                return outcome
            lost = outcome
            if not lost.again:
                return lost.why
        return lost.why if lost else _late(lost)

    async def _wait(self, line: _Line, attempt: int, lost: _Lost | None) -> bool:
        if lost is not None:
            pause = BACK_OFF_SECONDS * 2 ** (attempt - 1) if lost.wait_s is None else lost.wait_s
            line.free_at = max(line.free_at, _clock() + pause)
        while (pause := line.free_at - _clock()) > 0:
            if line.free_at >= self._end:
                return False
            await asyncio.sleep(pause)
        return _clock() < self._end

    async def _attempt(self, request: JudgeRequest, line: _Line, *, retry: bool) -> Reply | _Lost:
        reserved = await self._budget.reserve(request, retry=retry)
        if isinstance(reserved, str):
            return _Lost(NotJudged(reason="budget", detail=reserved))
        outcome: Reply | _Lost = _Lost(NotJudged(reason="connection"), charged=True)
        try:
            outcome = await self._exchange(request, line)
        finally:
            if isinstance(outcome, Reply):
                await self._budget.settle(reserved, Usage.of(request.model, outcome))
            else:
                await self._budget.settle(reserved, _UNTOLD if outcome.charged else None)
        return outcome

    async def _exchange(self, request: JudgeRequest, line: _Line) -> Reply | _Lost:
        provider = PROVIDERS[request.model.provider]
        call = provider.call(request, self._api_key(request.model))
        seconds = min(CALL_SECONDS, self._end - _clock())
        headers = {**call.headers, "Content-Type": "application/json", "Accept-Encoding": "identity"}
        try:
            async with (
                asyncio.timeout(seconds),
                line.http.stream(
                    "POST", call.url, content=dumps(call.json, in_order=True), headers=headers
                ) as response,
            ):
                body = await _read(response)
        except TimeoutError:
            waited = setting(rounded(seconds, 1))
            return _Lost(NotJudged(reason="timeout", detail=f"no reply within {waited} s"), charged=True)
        except httpx.HTTPError as error:
            unsent = isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol)
            detail = f"{request.model.address}: {cut(error, limit=200) or type(error).__name__}"
            return _Lost(NotJudged(reason="connection", detail=detail), again=True, charged=not unsent)
        except (httpx.InvalidURL, ValueError, ExceptionGroup) as error:
            # among them a host that IDNA does not allow and, in a group of one, a port beyond all
            problem = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            detail = f"{request.model.address} is not an address that raggate can call: {cut(problem, limit=200)}"
            return _Lost(NotJudged(reason="connection", detail=detail))
        if body is None:
            return _Lost(NotJudged(reason="invalid_reply", detail=f"more than {MOST_BYTES} bytes"), charged=True)
        if response.status_code != 200:
            return self._status(response, body, line.scrub)
        read = provider.read(body)
        return read if isinstance(read, Reply) else _Lost(read, charged=True)

    def _status(self, response: httpx.Response, body: bytes, scrub: KeyScrubber) -> _Lost:
        # first hidden, then cut: the half of a key is not known for one
        excerpt = cut(scrub.text(body[:MOST_BYTES_OF_ERROR].decode("utf-8", "replace")), limit=200)
        detail = f"the server answers {response.status_code}" + (f": {excerpt}" if excerpt else "")
        charged = response.status_code == 408 or (response.status_code >= 500 and response.status_code not in _REFUSED)
        wait = retry_after(response.headers.get("retry-after", ""), time.time())
        if wait is not None and wait > LONGEST_WAIT_S:
            detail += f" and asks to wait {setting(wait)} s"
            return _Lost(NotJudged(reason="status", detail=detail), charged=charged)
        again = response.status_code in _AGAIN
        return _Lost(NotJudged(reason="status", detail=detail), again=again, wait_s=wait, charged=charged)

    def _line(self, model: JudgeModelSettings) -> _Line:
        place = (model.address, model.key_variable)
        if place not in self._lines:
            local = model.endpoint == "local"
            http = httpx.AsyncClient(
                # each attempt has its own end, which comes first
                timeout=CALL_SECONDS + 5,
                # a server of one's own is not behind the proxy that leads out
                trust_env=not local,
                verify=checked_by(model.address),
                headers={"User-Agent": "raggate"},
            )
            self._stack.push_async_callback(http.aclose)
            self._lines[place] = _Line(http, scrub=KeyScrubber(self._api_key(model)))
        return self._lines[place]


def _late(lost: _Lost | None) -> NotJudged:
    before = f". Before that: {lost.why.detail}" if lost else ""
    return NotJudged(reason="deadline", detail=f"the {setting(SECONDS)} s for all requests are over{before}")


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def _read(response: httpx.Response) -> bytes | None:
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    return body
