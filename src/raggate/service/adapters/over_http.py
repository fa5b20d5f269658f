"""What every adapter has in common that makes one HTTP call for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.service import IndexState, Started
from raggate.service import ask
from raggate.service.ask import AskResult, OnResult
from raggate.service.http_channel import HttpProtocol, opened
from raggate.text.http_client import httpx


class HttpAdapter(HttpProtocol, Protocol):
    """Turns cases into HTTP calls and bodies into responses. It does no I/O of its own but in `index_state`."""

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands."""


class OverHttp:
    """Asks an API as `HttpAdapter` says, as often and as long as `settings` allows."""

    def __init__(self, adapter: HttpAdapter, settings: Ask, headers: Mapping[str, str] | None = None) -> None:
        self._adapter = adapter
        self._settings = settings
        self._headers = headers or {}

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands."""
        return self._adapter.index_state(client, ready)

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        """Ask these cases, each in the mode beside it."""
        connect = partial(opened, self._adapter, api, self._headers)
        return ask.ask(questions, connect, api, self._settings, on_result=on_result, collect=collect)

    def with_headers(self, headers: Mapping[str, str]) -> OverHttp:
        """Return an adapter that sends these headers too, in place of others of the same name."""
        return OverHttp(self._adapter, self._settings, headers)
