"""What an API tells of its index, read by field paths: a JSON value in, a state out."""

from __future__ import annotations

from typing import Any

from raggate.config.mapped_fields import Condition
from raggate.config.mapped_settings import IndexFields
from raggate.models.service import IndexState
from raggate.service.adapters.mapped_response import holds, whole
from raggate.text.field_paths import ABSENT, Entry, WrongShape, below, find, parse
from raggate.text.quote import cut


def state_of(index: IndexFields, root: Any) -> IndexState:
    """Return how the index of a healthy API stands.

    Raises:
        ValueError: when something stands not where the settings say.
    """
    return IndexState(
        healthy=True,
        indexing=index.indexing is not None and bool(holds(index.indexing, root)),
        documents=_count(index.documents, root),
        chunks=_count(index.chunks, root),
        detail=_untold(index.indexing, root),
    )


def _untold(condition: Condition | None, root: Any) -> str:
    """Say that the field is not there which would tell that it is indexing; nothing where that tells something too."""
    if condition is None or condition.empty or None in (condition.equals or ()):
        return ""
    missing = find(parse(condition.path), root) is ABSENT
    return f"nothing stands at {cut(condition.path)}, which would tell whether it is indexing" if missing else ""


def _count(written: str | None, root: Any) -> int | None:
    """Return a count; None for null and for no path."""
    value = whole(written, Entry("", root))
    if written is not None and (find(parse(written), root) is ABSENT or (value is not None and value < 0)):
        raise WrongShape(below("", parse(written)), "a whole number, 0 or more", ABSENT if value is None else value)
    return value
