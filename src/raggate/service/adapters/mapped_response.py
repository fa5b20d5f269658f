"""Answers of mapped APIs: one JSON value from a body or stream, and the response that field paths find in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from raggate.base import headings, jsonio
from raggate.base.field_paths import ABSENT, Entry, WrongShape, below, find, find_all, nearest_there, parse
from raggate.base.jsonio import dumps, loads
from raggate.base.numbers import number_in
from raggate.base.quote import cut, quoted
from raggate.config.mapped_settings import ChunkFields, Condition, Index, ResponseFields, rule_of
from raggate.models.run import Chunk, Reference, Response
from raggate.models.service import IndexState
from raggate.service.adapters.ask import generated, parsed
from raggate.service.answer_limits import MAX_ENTRIES
from raggate.service.transport import UNNAMED, Events

MAX_HEADINGS = 100
MAX_PIECES = 100_000  # of an answer that comes in parts
MOST_NUMBER = 1 << 53  # every reader of JSON has it, and what is counted from it fits into JSON again

_EVENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")
_MARKED = re.compile(r"\s*#{1,6}(?:\s|$)")

Prefixes = tuple[tuple[str, str | None], ...]
StreamBy = str | bool | None
"""How an answer of several documents is read, as `ResponseFields.stream` has it."""

MAX_DOCUMENTS = 100_000
"""Of one stream."""
ERROR = "error"
"""The name, or kind, of what a stream reports an error by."""


def read(root: Any, fields: ResponseFields, beginnings: Prefixes, *, retrieval_only: bool) -> Response:
    """Read a parsed body of a response with status 200. Whatever no path leads to is ignored."""
    by_kind = fields.stream is not None and isinstance(root, dict)
    refuse_errors(root, fields.errors or (ERROR if by_kind else None))
    chunks = _chunks(root, fields.chunks, beginnings)
    rule = fields.abstained
    # without an answer everything would count as empty
    judged = rule is not None and not (retrieval_only and rule_of(rule).values == [])
    abstained = judged and bool(holds(rule, root))
    return Response(
        chunks=chunks,
        answer=None if retrieval_only or fields.answer is None else _answer(root, fields),
        references=() if retrieval_only else _references(root, fields, beginnings),
        abstained=abstained,
        unasked=retrieval_only and generated(_glimpse(fields.answer, root), {}, abstained=abstained),
    )


def holds(condition: Condition, root: Any) -> bool | None:
    """Return whether a condition holds; None when it asks for true or false, and there is nothing."""
    written, values = rule_of(condition)
    path = parse(written)
    value = find(path, root)
    if values is None:
        if value is ABSENT or value is None:
            return None
        if type(value) is not bool:
            raise WrongShape(below("", path), "true or false", value)
        return value
    if not values:
        return value is ABSENT or value is None or value in ([], {}) or (type(value) is str and not value.strip())
    if isinstance(value, list | dict):
        raise WrongShape(below("", path), "text, a number, true, false or null", value)
    return any(_same(None if value is ABSENT else value, option) for option in values)


def _same(value: Any, other: Any) -> bool:
    numbers = all(type(side) in (int, float) for side in (value, other))
    return bool(value == other) and (numbers or type(value) is type(other))


def _at(written: str | None, at: Entry) -> tuple[Any, str]:
    """Return what a path leads to and the name of the place."""
    if written is None:
        return None, at.where
    path, start, where = at.start_of(parse(written))
    return find(path, start, where), below(where, path)


def text_at(written: str, at: Entry) -> str:
    """Return a text; a ValueError when there is none."""
    value, place = _at(written, at)
    if type(value) is not str:
        raise WrongShape(place, "text", value, nearest_there(*at.start_of(parse(written))))
    return value


def _optional_text(written: str | None, at: Entry) -> str | None:
    value, place = _at(written, at)
    if value is None or value is ABSENT:
        return None
    if type(value) is not str:
        raise WrongShape(place, "text", value)
    return value


def _id(written: str, at: Entry) -> str:
    value, place = _at(written, at)
    if type(value) is int or (type(value) is str and value):
        return str(value)
    raise WrongShape(place, "an id, text or a whole number", value, nearest_there(*at.start_of(parse(written))))


def _number(written: str | None, at: Entry) -> float | None:
    value, place = _at(written, at)
    if value is None or value is ABSENT:
        return None
    number = number_in(value)
    if number is None:
        raise WrongShape(place, "a number", value)
    return number


def _joined(written: str | None, root: Any) -> str | None:
    """Return a text, or the texts that a path with `[*]` leads to as one; None for null and nothing."""
    if written is None or not parse(written).many:
        return _optional_text(written, Entry("", root))
    pieces = find_all(parse(written), root, limit=MAX_PIECES)
    for piece in pieces or ():
        if type(piece.value) is not str:
            raise WrongShape(piece.where, "text", piece.value)
    return "".join(piece.value for piece in pieces) if pieces else None


def _answer(root: Any, fields: ResponseFields) -> str:
    answer = _joined(fields.answer, root)
    if answer is None and not (fields.abstained is not None and holds(fields.abstained, root)):
        path = parse(fields.answer or "$")
        value = ABSENT if path.many else find(path, root)
        raise WrongShape(below("", path), "text", value, nearest_there(path, root))
    return answer or ""


def _glimpse(written: str | None, root: Any) -> object:
    """Return what stands where answers stand, for a question that asked for none: whatever it is, it is no error."""
    try:
        return _joined(written, root)
    except ValueError:
        return ABSENT


def _chunks(root: Any, fields: ChunkFields, beginnings: Prefixes) -> tuple[Chunk, ...]:
    if fields.none is not None and holds(fields.none, root):
        return ()
    items = _side_by_side(fields.columns, root) if fields.columns else _entries_at(fields.list, root)
    return tuple(_chunk(at, fields, beginnings) for at in items)


def _chunk(at: Entry, fields: ChunkFields, beginnings: Prefixes) -> Chunk:
    rel_path, vault = "", None
    if fields.rel_path is not None:
        rel_path, vault = note_at(fields.rel_path, at, beginnings)
    vault = _optional_text(fields.vault, at) or vault
    doc_id = None if fields.doc_id is None else _id(fields.doc_id, at)
    heading_path = heading_path_at(fields.told_headings, at, fields.heading_separator)
    text = "" if fields.text is None else text_at(fields.text, at)
    named = jsonio.dumps([vault, doc_id, rel_path, heading_path, text]) if fields.id is None else b""
    return Chunk(
        chunk_id=sha256(named).hexdigest()[:32] if fields.id is None else _id(fields.id, at),
        rel_path=rel_path,
        heading_path=heading_path,
        text=text,
        score_final=_number(fields.score, at),
        score_vector=_number(fields.score_vector, at),
        score_lexical=_number(fields.score_lexical, at),
        vault=vault,
        doc_id=doc_id,
    )


def note_at(written: str, at: Entry, beginnings: Prefixes) -> tuple[str, str | None]:
    """Return the path of a note, and the vault that what it begins with tells; a ValueError when there is none."""
    rel_path = text_at(written, at)
    for beginning, vault in beginnings:
        if rel_path.startswith(beginning):
            return rel_path[len(beginning) :], vault
    return rel_path, None


def heading_path_at(written: str | Sequence[str] | None, at: Entry, separator: str | None = None) -> str:
    """Return headings as a path; empty for no path, null and nothing, a ValueError for what is something else.

    Of several paths each leads to the headings of a level, or of some.
    """
    if isinstance(written, str) or written is None:
        headings = _headings(written, at, separator)
        # a text is taken as it is
        return headings if isinstance(headings, str) else _heading_path(headings)
    levels = [_headings(path, at, separator) for path in written]
    return _heading_path([heading for level in levels for heading in ([level] if isinstance(level, str) else level)])


def _headings(written: str | None, at: Entry, separator: str | None) -> str | list[str]:
    value, place = _at(written, at)
    if value is None or value is ABSENT:
        return []
    if type(value) is str:
        return value if separator is None else value.split(separator)
    if type(value) is not list:
        raise WrongShape(place, "text or a list of headings", value)
    if len(value) > MAX_HEADINGS:
        raise ValueError(f"{place}: expected at most {MAX_HEADINGS} headings, found {len(value)}")
    for position, heading in enumerate(value):
        if type(heading) is not str:
            raise WrongShape(f"{place}[{position}]", "text", heading)
    return value


def _heading_path(given: Sequence[str]) -> str:
    titles = tuple(heading.strip() for heading in given if heading.strip())
    if titles and all(map(_MARKED.match, titles)):
        return " > ".join(titles)
    return headings.written(titles)


def _references(root: Any, response: ResponseFields, beginnings: Prefixes) -> tuple[Reference, ...]:
    fields = response.references
    if fields is None:
        return ()
    entries = find_all(parse(fields.list), root, limit=MAX_ENTRIES) or ()
    notes = [note_at(fields.rel_path, at, beginnings) for at in entries]
    return tuple(Reference(vault=vault or "", rel_path=path, heading_path="", chunk_index=0) for path, vault in notes)


def state_of(index: Index, root: Any) -> IndexState:
    """Return how the index of a healthy API stands."""
    chunks = _count(index.chunks, root)
    # some engines leave the number of documents out while there is nothing to count
    empty = chunks == 0 and index.documents is not None and find(parse(index.documents), root) is ABSENT
    return IndexState(
        healthy=True,
        indexing=index.indexing is not None and bool(holds(index.indexing, root)),
        documents=0 if empty else _count(index.documents, root),
        chunks=chunks,
        detail=_untold(index.indexing, root),
    )


def _untold(condition: Condition | None, root: Any) -> str:
    """The hint for a missing indexing field; empty if its absence has a meaning."""
    path, values = ("", ()) if condition is None else rule_of(condition)
    if values is not None and (not values or None in values):
        return ""
    missing = find(parse(path), root) is ABSENT
    return f"{cut(path)} is missing, so raggate cannot tell whether it is indexing" if missing else ""


def _count(written: str | None, root: Any) -> int | None:
    """Return a count; None for null and for no path."""
    value, place = _at(written, Entry("", root))
    if value is None or (type(value) is int and 0 <= value <= MOST_NUMBER):
        return value
    raise WrongShape(place, "a whole number, 0 or more", value)


def body_of(body: bytes, stream: StreamBy) -> Any:
    """Read a body: one value of JSON, or with `stream` the documents of each kind."""
    if stream is None:
        return parsed(body, "the body: ")
    # no line of server-sent events is JSON
    events = _EVENT.match(body) is not None
    documents = _events(body) if events else _lines(body)
    if stream is True and not events:
        return [document for _, document in _bounded(documents)]
    by_kind: dict[str, list[Any]] = {}
    for name, document in _bounded(documents):
        # what a server calls an error is one, whatever its data says of itself
        own_name = stream is True or name == ERROR
        by_kind.setdefault(name if own_name else _kind(document, str(stream)), []).append(document)
    return by_kind


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

    Without a path, only GraphQL's own way to report one is known.
    """
    reported = find(parse(written), root) if written is not None else _graphql_errors(root)
    if reported is ABSENT or reported in (None, False, 0, "", [], {}):
        return
    raise ValueError(f"the API reports an error: {quoted(_words(reported), limit=200)}")


def _graphql_errors(root: Any) -> Any:
    reported = root.get("errors") if isinstance(root, dict) else None
    items = reported if isinstance(reported, list) else []
    return items if items and all(isinstance(item, dict) and "message" in item for item in items) else ABSENT


def _words(reported: Any) -> str:
    first = reported[0] if isinstance(reported, list) else reported
    message = first.get("message") if isinstance(first, dict) else first
    return message if type(message) is str else dumps(first).decode()


def _entries_at(written: str, root: Any) -> list[Entry]:
    path = parse(written)
    items = find_all(path, root, limit=MAX_ENTRIES)
    if items is None:
        raise WrongShape(path.written, "a list", ABSENT, nearest_there(path, root))
    return items


def _side_by_side(columns: Mapping[str, str], root: Any) -> list[Entry]:
    """Return the rows of lists that run side by side, each a mapping of their names, with a place for messages."""
    lists: dict[str, list[Any]] = {}
    for name, written in columns.items():
        path = parse(written)
        value = find(path, root)
        if type(value) is not list:
            raise WrongShape(below("", path), "a list", value, nearest_there(path, root))
        if len(value) > MAX_ENTRIES:
            raise ValueError(f"{written}: expected at most {MAX_ENTRIES} entries, found {len(value)}")
        lists[name] = value
    first, *others = columns
    for name in others:
        if len(lists[name]) != len(lists[first]):
            expected = f"as many entries as {columns[first]}, which has {len(lists[first])}"
            raise ValueError(f"{columns[name]}: expected {expected}, found {len(lists[name])}")
    rows = zip(*lists.values(), strict=True)
    return [Entry(f"row {number}", dict(zip(lists, row, strict=True))) for number, row in enumerate(rows, 1)]
