"""How to speak to an API. An adapter is one class; add its file and one line to ADAPTERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import httpx

from raggate.config.schema import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, IndexState
from raggate.service.adapters.ask import AskAdapter
from raggate.service.adapters.mapped import MappedAdapter


class Adapter(Protocol):
    """Turns cases into HTTP calls and bodies into responses. It does no I/O of its own but in `index_state`."""

    def call(self, case: Case, mode: str) -> Call:
        """Give the HTTP call that asks one case in one mode."""

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body.

        Raises:
            ValueError: when it does not follow the protocol, with what was expected and found. Untrusted text.
        """

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands.

        Raises:
            httpx.HTTPError: when it cannot be reached yet.
        """


ADAPTERS: dict[str, Callable[[Ask, Sequence[str], Mapping[str, str]], Adapter]] = {
    "ask": lambda settings, vault_names, _: AskAdapter(settings, vault_names),
    "mapped": MappedAdapter,
}
"""Each is made of the settings, the vaults' names in configuration order, and raggate's own environment."""

PROGRAM_ADAPTER = "kebab"
"""The one that runs a program for the questions and speaks no HTTP: `adapters.kebab.ask_all`."""
