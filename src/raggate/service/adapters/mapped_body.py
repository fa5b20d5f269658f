"""A body of a mapped API -> one JSON value, however it comes: streams become one, columns rows, errors are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raggate.config.mapped_fields import ResponseFields, Stream
from raggate.service.adapters.json_fields import parsed
from raggate.service.server_events import UNNAMED, Events
from raggate.text.field_paths import ABSENT, Entry, WrongShape, below, find, find_all, nearest_there, parse
from raggate.text.jsonio import dumps, loads
from raggate.text.quote import quoted

MAX_DOCUMENTS = 100_000
"""Of one stream."""

ERROR = "error"
"""The name, or kind, of what a stream reports an error by."""


def body_of(body: bytes, stream: Stream | None) -> Any:
    """Read a body.

    Raises:
        ValueError: when it is not what it should be, with where.
    """
    if stream is None:
        return parsed(body, "the body: ")
    documents = _events(body) if stream.format == "sse" else _lines(body)
    if stream.by is None and stream.format == "ndjson":
        return [document for _, document in _bounded(documents)]
    by_kind: dict[str, list[Any]] = {}
    for name, document in _bounded(documents):
        # what a server calls an error is one, whatever its data says of itself
        own_name = stream.by is None or name == ERROR
        by_kind.setdefault(name if own_name else _kind(document, stream.by or ""), []).append(document)
    return by_kind


def errors_path(fields: ResponseFields) -> str | None:
    """Return the path where a body reports an error; None where only GraphQL's own way is known."""
    stream = fields.stream
    by_kind = stream is not None and (stream.format == "sse" or stream.by is not None)
    return fields.errors or (ERROR if by_kind else None)


def _bounded(documents: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for number, document in enumerate(documents):
        if number == MAX_DOCUMENTS:
            raise ValueError(f"the body: expected at most {MAX_DOCUMENTS} documents, found more")
        yield document


def _lines(body: bytes) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            yield UNNAMED, parsed(line, f"line {number}: ")


def _events(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield name and data of every event, of the last one even without its blank line."""
    for name, data in Events().feed(body + b"\n\n"):
        yield name, _json_or_text(data.decode("utf-8", "replace"))


def _json_or_text(data: str) -> Any:
    try:
        return loads(data.encode())
    except ValueError:
        return data


def _kind(document: Any, by: str) -> str:
    value = find(parse(by), document) if isinstance(document, dict | list) else ABSENT
    return value if type(value) is str else UNNAMED


def refuse_errors(root: Any, written: str | None) -> None:
    """Refuse a body that reports an error behind its status 200, so that it is never taken for an empty answer.

    Args:
        written: the path where errors stand; None for those of GraphQL.

    Raises:
        ValueError: with what it reports. Untrusted text.
    """
    reported = find(parse(written), root) if written is not None else _graphql_errors(root)
    if reported is ABSENT or reported in (None, False, 0, "", [], {}):
        return
    raise ValueError(f"the API reports an error: {quoted(_words(reported), limit=200)}")


def _graphql_errors(root: Any) -> Any:
    reported = root.get("errors") if isinstance(root, dict) else None
    if (
        isinstance(reported, list)
        and reported
        and all(isinstance(item, dict) and "message" in item for item in reported)
    ):
        return reported
    return ABSENT


def _words(reported: Any) -> str:
    first = reported[0] if isinstance(reported, list) else reported
    message = first.get("message") if isinstance(first, dict) else first
    return message if type(message) is str else dumps(first).decode()


def entries_at(written: str, root: Any, *, limit: int) -> list[Entry]:
    """Return the entries of a list.

    Raises:
        ValueError: when there is none, or a longer one.
    """
    path = parse(written)
    items = find_all(path, root, limit=limit)
    if items is None:
        raise WrongShape(path.written, "a list", ABSENT, nearest_there(path, root))
    return items


def side_by_side(columns: Mapping[str, str], root: Any, *, limit: int) -> list[Entry]:
    """Return the rows of lists that run side by side, each a mapping of their names, with a place for messages.

    Raises:
        ValueError: when one is no list, too long, or of another length than the first.
    """
    lists: dict[str, list[Any]] = {}
    for name, written in columns.items():
        path = parse(written)
        value = find(path, root)
        if type(value) is not list:
            raise WrongShape(below("", path), "a list", value, nearest_there(path, root))
        if len(value) > limit:
            raise ValueError(f"{written}: expected at most {limit} entries, found {len(value)}")
        lists[name] = value
    first, *others = columns
    for name in others:
        if len(lists[name]) != len(lists[first]):
            expected = f"as many entries as {columns[first]}, which has {len(lists[first])}"
            raise ValueError(f"{columns[name]}: expected {expected}, found {len(lists[name])}")
    rows = zip(*lists.values(), strict=True)
    return [Entry(f"row {number}", dict(zip(lists, row, strict=True))) for number, row in enumerate(rows, 1)]
