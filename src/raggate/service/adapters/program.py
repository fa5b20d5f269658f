"""A program behind its standard input and output: requests of `ask` as lines of JSON instead of HTTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from raggate.base.http_client import httpx
from raggate.config.ask_settings import Ask
from raggate.config.mapped_settings import Index
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import IndexState, Started
from raggate.service import ask, boot
from raggate.service.adapters.ask import fetch_state, parsed
from raggate.service.adapters.mapped import filled_json, prefixes, values_of
from raggate.service.adapters.mapped_response import read, state_of
from raggate.service.answer_limits import bounded
from raggate.service.ask import AskResult, OnResult
from raggate.service.program_pipes import ProgramPipes, hits_of

MOST_VERSIONS = 100
"""Packages whose versions are kept."""
_VERSION = re.compile(r"[\w@.:/-]{1,100} [\w.+!-]{1,60}")


start = boot.spoken_to(ProgramPipes)


class ProgramAdapter:
    """Writes a line for every question and reads its answer by `ask.response`."""

    start = staticmethod(start)

    def __init__(self, settings: Ask, vault_names: Sequence[str]) -> None:
        self._settings = settings
        self._prefixes = prefixes(settings.fields.chunks.path_prefix, vault_names)

    def index_state(self, client: httpx.Client, _ready: Readiness) -> IndexState:
        """Return what the program told of itself in its line `{"ready": true}`."""
        _, body = fetch_state(client, "GET", "/")
        return state_in(parsed(body))

    def with_headers(self, _headers: Mapping[str, str]) -> ProgramAdapter:
        raise NotImplementedError

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        channel = _Channel(getattr(api, "pipes"), self)  # noqa: B009 - not of every started API
        connect = lambda _workers: nullcontext(channel)  # noqa: E731 - there is nothing to open or close
        return ask.ask(questions, connect, api, self._settings, on_result=on_result, collect=collect)

    def line(self, case: Case, mode: str) -> dict[str, object]:
        filled: dict[str, object] = filled_json(self._settings.body, values_of(case, mode, self._settings))
        return filled

    def parse(self, answer: dict[str, object]) -> Response:
        fields, retrieval_only = self._settings.fields, self._settings.retrieval_only
        return bounded(read(hits_of(answer), fields, self._prefixes, retrieval_only=retrieval_only))


def state_in(told: dict[str, object]) -> IndexState:
    """Return the state that a program told, or the reason why it told none; a ValueError for a count that is none."""
    if "ready" not in told:
        return IndexState(healthy=False, indexing=False, detail=str(told.get("detail", "")))
    if told["ready"] is not True:
        return IndexState(healthy=True, indexing=True, detail='the program writes {"ready": false}')
    named = {name: name for name in ("documents", "chunks") if told.get(name) is not None}
    state = state_of(Index(**named), told) if named else IndexState(healthy=True, indexing=False)
    # context, which decides nothing: what can be read of it
    versions = told.get("versions")
    pairs = islice(versions.items(), MOST_VERSIONS) if isinstance(versions, dict) else ()
    texts = (f"{name} {version}" for name, version in pairs if isinstance(version, str))
    return replace(state, versions=tuple(sorted(text for text in texts if _VERSION.fullmatch(text))))


@dataclass
class _Channel(ask.Channel):
    """The way to the program, which is ready before the first question."""

    _pipes: ProgramPipes
    _adapter: ProgramAdapter

    def late(self) -> str:
        return self._pipes.wrote()

    async def attempt(self, case: Case, mode: str, _traceparent: str) -> Response:
        asked = self._pipes.ask(self._adapter.line(case, mode))
        try:
            return self._adapter.parse(await asyncio.wrap_future(asked))
        finally:
            self._pipes.leave(asked)
