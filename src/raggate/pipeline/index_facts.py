"""What an API tells of its index: by its answers, else by the last look at its status. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from raggate.models.run import Result
from raggate.models.service import IndexState

FACTS = {
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


def note(result: Result, facts: dict[str, object]) -> None:
    """Add what an answer tells to the facts, where none did before."""
    if len(facts) < len(FACTS):
        for key, value in _facts_of(result):
            facts.setdefault(key, value)


def values_of(results: Iterable[Result], state: IndexState | None) -> dict[str, tuple[str, ...]]:
    """Return every value that answers tell of each fact, as texts in order.

    Args:
        state: the last look, whose counts are given where no answer tells them; None without one.
    """
    values: dict[str, set[str]] = {}
    for result in results:
        for key, value in _facts_of(result):
            values.setdefault(key, set()).add(str(value))
    for key, count in counts_of(state).items():
        values.setdefault(key, {str(count)})
    return {key: tuple(sorted(texts)[:MOST_VALUES]) for key, texts in sorted(values.items())}


def counts_of(state: IndexState | None) -> dict[str, int]:
    """Return the documents and chunks of an index, as far as its status tells."""
    counts = {} if state is None else {"documents": state.documents, "chunks": state.chunks}
    return {key: count for key, count in counts.items() if count is not None}


def _facts_of(result: Result) -> Iterator[tuple[str, Any]]:
    coverage = (result.response.coverage if result.response else None) or {}
    for key, path in FACTS.items():
        value: Any = coverage
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            yield key, value
