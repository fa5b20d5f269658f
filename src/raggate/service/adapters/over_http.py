"""What every adapter has in common that makes one HTTP call for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, IndexState, Started
from raggate.service import ask
from raggate.service.ask import AskResult, OnResult
from raggate.service.http_channel import Dialogue, HttpProtocol, opened
from raggate.text.http_client import httpx


class HttpAdapter(HttpProtocol, Protocol):
    """Turns cases into HTTP calls and bodies into responses. It does no I/O of its own but in `index_state`."""

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands.

        Raises:
            httpx.HTTPError: when it cannot be reached yet.
        """


class _WithHeaders:
    """Another adapter, with further headers of every call, in place of those of the same name."""

    def __init__(self, adapter: HttpAdapter, headers: Mapping[str, str]) -> None:
        self._adapter = adapter
        self._headers = dict(headers)

    def call(self, case: Case, mode: str) -> Call:
        return self._with_headers(self._adapter.call(case, mode))

    def _with_headers(self, call: Call) -> Call:
        replaced = {name.lower() for name in self._headers}
        kept = {name: value for name, value in call.headers.items() if name.lower() not in replaced}
        return replace(call, headers={**kept, **self._headers})

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        inner = self._adapter.dialogue(case, mode)
        try:
            call = next(inner)
            while True:
                call = inner.send((yield self._with_headers(call)))
        except StopIteration as answered:
            response: Response = answered.value
            return response

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        return self._adapter.index_state(client, ready)


class OverHttp:
    """Asks an API as `HttpAdapter` says, as often and as long as `settings` allows."""

    def __init__(self, adapter: HttpAdapter, settings: Ask) -> None:
        self._adapter = adapter
        self._settings = settings

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands."""
        return self._adapter.index_state(client, ready)

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        """Ask these cases, each in the mode beside it."""
        connect = partial(opened, self._adapter, api)
        return ask.ask(questions, connect, api, self._settings, on_result=on_result, collect=collect)

    def with_headers(self, headers: Mapping[str, str]) -> OverHttp:
        """Return an adapter that sends these headers too, in place of others of the same name."""
        return OverHttp(_WithHeaders(self._adapter, headers), self._settings)
