"""What an API tells of its index, read by field paths: a JSON value in, a state out."""

from __future__ import annotations

from typing import Any

from raggate.config.mapped_settings import IndexFields
from raggate.models.service import IndexState
from raggate.service.adapters.mapped_response import holds, whole
from raggate.text.field_paths import ABSENT, Entry, WrongShape, below, find, parse


def state_of(index: IndexFields, root: Any) -> IndexState:
    """Give how the index of a healthy API stands.

    Raises:
        ValueError: when something stands not where the settings say.
    """
    return IndexState(
        healthy=True,
        indexing=index.indexing is not None and bool(holds(index.indexing, root)),
        documents=_count(index.documents, root),
        chunks=_count(index.chunks, root),
    )


def _count(written: str | None, root: Any) -> int | None:
    """Give a count; None for null and for no path."""
    value = whole(written, Entry("", root))
    if written is not None and (find(parse(written), root) is ABSENT or (value is not None and value < 0)):
        raise WrongShape(below("", parse(written)), "a whole number, 0 or more", ABSENT if value is None else value)
    return value
