"""How to speak to what is asked. An adapter is one file; add it, a line to ADAPTERS and its name to ADAPTER_NAMES."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from raggate.base import plugins
from raggate.base.http_client import httpx
from raggate.config.schema import Config
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.service import IndexState, Started
from raggate.service.adapters.ask import AskAdapter
from raggate.service.adapters.mapped import MappedAdapter
from raggate.service.ask import AskResult, OnResult
from raggate.service.http_channel import OverHttp


class Adapter(Protocol):
    """Asks the questions of a run. One that makes HTTP calls is an `HttpAdapter` in `OverHttp`."""

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask how the index stands of what was brought up; not called where nothing has to be."""

    def with_headers(self, headers: Mapping[str, str]) -> Adapter:
        """Return an adapter that sends these headers too, in place of others of the same name.

        What makes no HTTP calls raises NotImplementedError: with it no configuration has principals.
        """

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        """Ask these cases, each in the mode beside it, and call `on_result` with each result from the same thread.

        Without `collect`, answers that it was called with may be missing among the results.
        """


def _mcp(config: Config, _root: Path, environment: Mapping[str, str]) -> Adapter:
    # loaded only for those who use it
    from raggate.service.adapters.mcp import McpAdapter

    return McpAdapter.of(config, environment)


def _mapped(config: Config, _root: Path, environment: Mapping[str, str]) -> Adapter:
    vaults = tuple(config.vault)
    if not config.api.stdio:
        return OverHttp(MappedAdapter(config.ask, vaults, environment), config.ask)
    from raggate.service.adapters.program import ProgramAdapter

    return ProgramAdapter(config.ask, vaults)


ADAPTERS: dict[str, Callable[[Config, Path, Mapping[str, str]], Adapter]] = {
    "ask": lambda config, _root, _environment: OverHttp(AskAdapter(config.ask, tuple(config.vault)), config.ask),
    "mapped": _mapped,
    "mcp": _mcp,
}
"""Each is made of the configuration, its directory, and raggate's own environment."""


def made_of(config: Config, root: Path, environment: Mapping[str, str]) -> Adapter:
    """Return the adapter that a configuration names: one of the shelf, or one of another package."""
    name = config.ask.adapter
    make = plugins.load(plugins.ADAPTERS, name) if config.ask.runs_program else ADAPTERS[name]
    return make(config, root, environment)
