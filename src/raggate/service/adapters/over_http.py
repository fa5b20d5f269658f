"""What every adapter has in common that makes one HTTP call for each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import httpx

from raggate.config.schema import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.service import IndexState, Started
from raggate.service import ask
from raggate.service.ask import AskResult, HttpProtocol, OnResult


class HttpAdapter(HttpProtocol, Protocol):
    """Turns cases into HTTP calls and bodies into responses. It does no I/O of its own but in `index_state`."""

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands.

        Raises:
            httpx.HTTPError: when it cannot be reached yet.
        """


class OverHttp:
    """Asks an API as `HttpAdapter` says, with the timeouts, retries and bounds of `settings`."""

    repeatable = True

    def __init__(self, adapter: HttpAdapter, settings: Ask) -> None:
        self._adapter = adapter
        self._settings = settings

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands."""
        return self._adapter.index_state(client, ready)

    def ask(self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult) -> AskResult:
        """Ask these cases, each in the mode beside it."""
        return ask.ask(questions, self._adapter, api, self._settings, on_result=on_result)
