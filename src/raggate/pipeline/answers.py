"""The answers of a run so far, and what the API told of its index on the way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.numbers import counted
from raggate.models.provenance import VERSIONS, exact_image
from raggate.models.run import ProbeAnswer, Result, Run
from raggate.models.service import IndexState, Started
from raggate.scoring.repeats import KEY, Repeated

SERVER_ERROR = 500
"""The first HTTP status that says that the API itself failed."""

_CATCH_UP = 0.1
"""Seconds, once in a run, in which what was logged before the answer arrives behind it."""

INDEX_FACTS = {
    "index_version": ("index_version",),
    "chunker_version": ("chunker_version",),
    "documents": ("docs_processed",),
    "empty_documents": ("docs_with_0_chunks",),
    "chunks": ("chunks_embedded",),
    "chunk_tokens": ("chunk_token_stats", "mean"),
}
"""What a fingerprint says of the index -> where an answer tells it."""

MOST_VALUES = 10
"""Values of one fact that are kept; an index that changes with every answer has very many."""


class AnswersSoFar(Struct):
    """The answers of a run so far, and what was learnt of the API on the way.

    `results` are in the order they came in, `images` what names the image that the API ran from. `again` are the
    second answers to a few questions and `repeated` how these came out, once they are compared. `probes` is
    what was asked for invariants. `failed` calls of the suite failed so far; `log` are the API's last lines when it
    first said that it had failed, untrusted text. `index` is how the index stood when asking began. `started`, ISO
    8601, and `seconds` say when that was and how long it took, of a run that was asked for elsewhere. `looked` says
    whether the log was.
    """

    results: list[Result] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    again: list[Result] = field(default_factory=list)
    repeated: Repeated | None = None
    probes: list[ProbeAnswer] = field(default_factory=list)
    failed: int = 0
    log: tuple[str, ...] = ()
    index: IndexState | None = None
    started: str = ""
    seconds: float = 0.0
    looked: bool = False

    def note_index(self, state: IndexState) -> None:
        """Keep the last look at the index before it is asked: what answers say of it counts more."""
        self.index = state

    def note_failure(self, result: Result, api: Started) -> None:
        """Look whether a result is a failure, as soon as it is there: later ones push others out of the last lines."""
        failure = result.failure
        self.failed += failure is not None
        if not self.looked and failure is not None and (failure.status or 0) >= SERVER_ERROR:
            self.looked = True
            time.sleep(_CATCH_UP)
            self.log = api.log_tail()

    def interrupted(self, due: int) -> str:
        """Return after how many of the planned calls a signal came."""
        left = sum(result.failure is not None and result.failure.kind == "aborted" for result in self.results)
        return f"interrupted after {len(self.results) - left} of {counted(due, 'call')}"

    def noted_in(self, run: Run) -> Run:
        """Note image, size of the index, repeats and probes in a run. None of them makes runs incomparable."""
        image = exact_image(self.images[-1]) if self.images else ""
        beside: dict[str, object] = {**index_counts(self.index)}
        if self.index is not None and self.index.versions:
            beside[VERSIONS] = list(self.index.versions)
        if self.repeated is not None:
            beside[KEY] = self.repeated.stored()
        if self.probes:
            beside |= {"probes": len(self.probes)}
        return replace(
            run,
            provenance=replace(run.provenance, api_image=image),
            fingerprint={**run.fingerprint, **beside},
            probes=replace(run.probes, answers=tuple(self.probes)),
        )


def note_index_facts(result: Result, facts: dict[str, object]) -> None:
    """Add what an answer tells of the index, where none did before."""
    if len(facts) < len(INDEX_FACTS):
        for key, value in _facts_of(result):
            facts.setdefault(key, value)


def index_values(results: Iterable[Result], state: IndexState | None) -> dict[str, tuple[str, ...]]:
    """Return every value that answers tell of each fact of the index, as texts in order.

    Args:
        state: the last look, whose counts are given where no answer tells them; None without one.
    """
    values: dict[str, set[str]] = {}
    for result in results:
        for key, value in _facts_of(result):
            values.setdefault(key, set()).add(str(value))
    for key, count in index_counts(state).items():
        values.setdefault(key, {str(count)})
    told = {key: tuple(sorted(texts)[:MOST_VALUES]) for key, texts in sorted(values.items())}
    return told | ({VERSIONS: state.versions} if state is not None and state.versions else {})


def index_counts(state: IndexState | None) -> dict[str, int]:
    """Return the documents and chunks of an index, as far as its status tells."""
    counts = {} if state is None else {"documents": state.documents, "chunks": state.chunks}
    return {key: count for key, count in counts.items() if count is not None}


def _facts_of(result: Result) -> Iterator[tuple[str, Any]]:
    coverage = (result.response.coverage if result.response else None) or {}
    for key, path in INDEX_FACTS.items():
        value: Any = coverage
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            yield key, value
