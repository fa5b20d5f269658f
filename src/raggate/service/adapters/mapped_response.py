"""Bodies of mapped APIs, read by field paths: a body in, a response or the name of what is not in its place out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from raggate.config.header_settings import names
from raggate.config.mapped_fields import ChunkFields, Condition, Duration, ReferenceFields, ResponseFields
from raggate.models.run import Chunk, Reference, Response
from raggate.service.adapters.mapped_body import entries_at, errors_path, refuse_errors, side_by_side
from raggate.service.adapters.mapped_request import filled_text
from raggate.service.adapters.unasked import generated
from raggate.service.answer_limits import MAX_ENTRIES, MAX_FOLDERS, MAX_STEP_MS
from raggate.text import anchors, jsonio
from raggate.text.field_paths import ABSENT, Entry, WrongShape, below, find, find_all, nearest_there, parse
from raggate.text.numbers import number_in

MAX_HEADINGS = 100
MAX_PIECES = 100_000  # of an answer that comes in parts
MOST_NUMBER = 1 << 53  # every reader of JSON has it, and what is counted from it fits into JSON again

_COUNTS = frozenset(("docs_processed", "docs_with_0_chunks", "chunks_attempted", "chunks_embedded", "chunks_skipped"))
_UNITS: Final = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_MARKED = re.compile(r"\s*#{1,6}(?:\s|$)")

Prefixes = tuple[tuple[str, str | None], ...]


def prefixes(written: str | None, vault_names: Sequence[str]) -> Prefixes:
    """Return what paths may begin with, longest first, and the vault that tells."""
    if not written:
        return ()
    if "vault" not in names(written):
        return ((filled_text(written, {}), None),)
    pairs = [(filled_text(written, {"vault": name}), name) for name in vault_names]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def read(root: Any, fields: ResponseFields, beginnings: Prefixes, *, retrieval_only: bool) -> Response:
    """Read a parsed body of a response with status 200. Whatever no path leads to is ignored.

    Args:
        beginnings: what is removed from paths, see `prefixes`.
        retrieval_only: whether answer and references are left unread.

    Raises:
        ValueError: when something is missing or of another kind, with where. Untrusted text.
    """
    refuse_errors(root, errors_path(fields))
    chunks = _chunks(root, fields.chunks, beginnings)
    latency = _latency(root, fields.latency)
    abstained = _abstained(root, fields.abstained, retrieval_only=retrieval_only)
    return Response(
        chunks=chunks,
        answer=None if retrieval_only or fields.answer is None else _answer(root, fields),
        references=() if retrieval_only else _references(root, fields.references, beginnings),
        abstained=abstained,
        abstain_reason=_optional_text(fields.abstain_reason, Entry("", root)) or None,
        grounded=None if fields.grounded is None else holds(fields.grounded, root),
        selected_folders=_folders(fields.selected_folders, root),
        available_folders=_folders(fields.available_folders, root),
        folder_reasoning=_optional_text(fields.folder_reasoning, Entry("", root)) or None,
        latency=latency,
        coverage=_coverage(root, fields.coverage) if fields.coverage else None,
        unasked=retrieval_only and generated(_glimpse(fields.answer, root), latency, abstained=abstained),
    )


def holds(condition: Condition, root: Any) -> bool | None:
    """Return whether a condition holds; None when it asks for true or false, and there is nothing.

    Raises:
        ValueError: when what stands there cannot be judged.
    """
    path = parse(condition.path)
    value = find(path, root)
    if condition.empty:
        return value is ABSENT or value is None or value in ([], {}) or (type(value) is str and not value.strip())
    if condition.equals is not None:
        if isinstance(value, list | dict):
            raise WrongShape(below("", path), "text, a number, true, false or null", value)
        return any(_same(None if value is ABSENT else value, option) for option in condition.equals)
    if value is ABSENT or value is None:
        return None
    if type(value) is not bool:
        raise WrongShape(below("", path), "true or false", value)
    return value


def whole(written: str | None, at: Entry) -> int | None:
    """Return a whole number; None for no path, null and nothing.

    Raises:
        ValueError: when it is something else.
    """
    value, place = _at(written, at)
    if value is None or value is ABSENT:
        return None
    if type(value) is not int:
        raise WrongShape(place, "a whole number", value)
    if abs(value) > MOST_NUMBER:
        raise WrongShape(place, f"a whole number up to {MOST_NUMBER}", value)
    return int(value)


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
    if type(value) is int:
        return str(value)
    if type(value) is not str or not value:
        beside = nearest_there(*at.start_of(parse(written)))
        raise WrongShape(place, "an id, text or a whole number", value, beside)
    return value


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


def _abstained(root: Any, condition: Condition | None, *, retrieval_only: bool) -> bool:
    # without an answer everything would count as empty
    if condition is None or (condition.empty and retrieval_only):
        return False
    return bool(holds(condition, root))


def _chunks(root: Any, fields: ChunkFields, beginnings: Prefixes) -> tuple[Chunk, ...]:
    if fields.none is not None and holds(fields.none, root):
        return ()
    if fields.list is None:
        items = side_by_side(fields.columns or {}, root, limit=MAX_ENTRIES)
    else:
        items = entries_at(fields.list, root, limit=MAX_ENTRIES)
    return tuple(_chunk(at, fields, beginnings) for at in items)


def _chunk(at: Entry, fields: ChunkFields, beginnings: Prefixes) -> Chunk:
    rel_path, vault = "", None
    if fields.rel_path is not None:
        rel_path, vault = note_at(fields.rel_path, at, beginnings)
    vault = _optional_text(fields.vault, at) or vault
    doc_id = None if fields.doc_id is None else _id(fields.doc_id, at)
    heading_path = heading_path_at(fields.heading_path, at, fields.heading_separator)
    text = "" if fields.text is None else text_at(fields.text, at)
    if fields.id is not None:
        chunk_id = _id(fields.id, at)
    else:
        named = jsonio.dumps([vault, doc_id, rel_path, heading_path, text])
        chunk_id = sha256(named).hexdigest()[:32]
    rank = whole(fields.rank, at)
    return Chunk(
        chunk_id=chunk_id,
        rel_path=rel_path,
        heading_path=heading_path,
        text=text,
        rank=None if rank is None else rank + 1 - fields.rank_from,
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
    headings = tuple(heading.strip() for heading in given if heading.strip())
    if headings and all(map(_MARKED.match, headings)):
        return " > ".join(headings)
    return anchors.written(headings)


def _references(root: Any, fields: ReferenceFields | None, beginnings: Prefixes) -> tuple[Reference, ...]:
    if fields is None:
        return ()
    references = []
    for at in find_all(parse(fields.list), root, limit=MAX_ENTRIES) or ():
        rel_path, vault = note_at(fields.rel_path, at, beginnings)
        references.append(
            Reference(
                vault=_optional_text(fields.vault, at) or vault or "",
                rel_path=rel_path,
                heading_path=heading_path_at(fields.heading_path, at, fields.heading_separator),
                chunk_index=whole(fields.chunk_index, at) or 0,
            )
        )
    return tuple(references)


def _folders(written: str | None, root: Any) -> tuple[str, ...] | None:
    folders = None if written is None else find_all(parse(written), root, limit=MAX_FOLDERS)
    if folders is None:
        return None
    for folder in folders:
        if type(folder.value) is not str:
            raise WrongShape(folder.where, "text", folder.value)
    return tuple(folder.value for folder in folders)


def _latency(root: Any, steps: dict[str, Duration]) -> dict[str, float]:
    """Keep the steps that are plausible times, in milliseconds."""
    raw = {step: (_number(duration.path, Entry("", root)), _UNITS[duration.unit]) for step, duration in steps.items()}
    times = {step: value * factor for step, (value, factor) in raw.items() if value is not None}
    return {step: value for step, value in times.items() if 0 <= value <= MAX_STEP_MS}


def _coverage(root: Any, paths: dict[str, str]) -> dict[str, Any]:
    coverage: dict[str, Any] = {}
    for name, written in paths.items():
        value, place = _at(written, Entry("", root))
        if value is None or value is ABSENT:
            continue
        if name in _COUNTS and (type(value) is not int or value < 0):
            raise WrongShape(place, "a whole number, 0 or more", value)
        if type(value) not in (int, float, str):
            raise WrongShape(place, "a number or text", value)
        coverage[name] = str(value) if name.endswith("_version") else value
    return coverage
