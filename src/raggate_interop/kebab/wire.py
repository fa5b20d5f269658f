"""kebab's wire schema, version 1: JSON of its commands in, responses and errors out; other versions are refused."""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec.structs import replace

from raggate.models.run import Chunk, Failure, FailureKind, Reference, Response
from raggate.service.adapters.json_fields import entries, mapping, optional_text, parsed, refuse, required_text
from raggate.text.anchors import written
from raggate.text.field_paths import ABSENT
from raggate.text.jsonio import loads
from raggate.text.quote import cut

MAX_HITS = 1_000
MAX_CITATIONS = 1_000
MAJOR = 1

_VERSION = re.compile(r"([a-z_]{1,60})\.v([0-9]{1,6})(?:\.[0-9]{1,6})?")
_KINDS: dict[str, FailureKind] = {"timeout": "timeout", "model_unreachable": "connection"}
_VERSIONS = ("chunker_version", "index_version")


class Refused(ValueError):
    """kebab said itself that it failed. `failure` tells how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def parse_search(data: bytes) -> Response:
    """Read a search_response.v1. `coverage` holds the versions that all hits agree on.

    Raises:
        ValueError: when it is none, with where, what was expected and what was found. Untrusted text.
    """
    return _search(_object(data), "the output")


def parse_bulk_item(line: bytes, question: str) -> Response:
    """Read one bulk_search_item.v1, which must be about the question.

    Raises:
        Refused: when the item is an error.
        ValueError: as `parse_search`.
    """
    item = _object(line)
    _check_version(item, "bulk_search_item", "the line")
    echo = item.get("query")
    if not isinstance(echo, dict) or echo.get("query") != question:
        refuse("query", "the question that was asked in this place", echo)
    error, response = item.get("error"), item.get("response")
    if error is not None:
        raise Refused(_failure(error, "error"))
    return _search(response, "response")


def parse_answer(data: bytes, retrieved: Response) -> Response:
    """Read an answer.v1, and put it together with what was retrieved. One that is not grounded abstains.

    Raises:
        ValueError: as `parse_search`.
    """
    root = _object(data)
    _check_version(root, "answer", "the output")
    grounded = root.get("grounded", ABSENT)
    if type(grounded) is not bool:
        refuse("grounded", "true or false", grounded)
    reason = optional_text(root, "refusal_reason")
    return replace(
        retrieved,
        answer=required_text(root, "answer"),
        references=tuple(
            _reference(item, f"citations[{position}]")
            for position, item in enumerate(entries(root.get("citations", ABSENT), "citations", MAX_CITATIONS))
        ),
        abstained=not grounded,
        abstain_reason=reason,
        grounded=grounded,
        model=_model(root.get("model")),
    )


def _model(stored: object) -> str | None:
    """Return the name of the model that answered, where one is told: nothing is refused for want of it."""
    name = stored.get("id") if isinstance(stored, dict) else None
    return name if isinstance(name, str) and name else None


def find_error(errors: bytes) -> Failure | None:
    """Find the last error.v1 among the lines of an error output; None without one.

    Raises:
        ValueError: for an error of another version.
    """
    for line in reversed(errors.split(b"\n")):
        if not line.strip().startswith(b"{"):
            continue
        try:
            value = loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and str(value.get("schema_version", "")).startswith("error."):
            return _failure(value, "stderr")
    return None


def _failure(raw: Any, where: str) -> Failure:
    mapping(raw, where)
    if "schema_version" in raw:  # inside an item the error may go without
        _check_version(raw, "error", where)
    code = required_text(raw, "code", where)
    message = f"kebab: {cut(code, limit=60)}: {cut(required_text(raw, 'message', where))}"
    hint = raw.get("hint")
    if isinstance(hint, str) and hint.strip():
        message += f" ({cut(hint, limit=120)})"
    return Failure(kind=_KINDS.get(code, "status"), message=message)


def _search(root: Any, where: str) -> Response:
    mapping(root, where)
    if "schema_version" in root or where == "the output":
        _check_version(root, "search_response", where)
    hits = entries(root.get("hits", ABSENT), "hits", MAX_HITS)
    chunks = tuple(_chunk(item, f"hits[{position}]") for position, item in enumerate(hits))
    versions = {}
    for name in _VERSIONS:
        stated = {optional_text(item, name, f"hits[{position}]") for position, item in enumerate(hits)}
        if len(stated) == 1 and (only := stated.pop()):
            versions[name] = only
    return Response(chunks=chunks, coverage=versions or None)


def _chunk(item: Any, where: str) -> Chunk:
    mapping(item, where)
    if "schema_version" in item:
        _check_version(item, "search_hit", where)
    rank = item.get("rank", ABSENT)
    if type(rank) is not int or rank < 1:
        refuse(f"{where}.rank", "a whole number from 1", rank)
    headings = entries(item.get("heading_path", []), f"{where}.heading_path", MAX_HITS)
    for part in headings:
        if type(part) is not str:
            refuse(f"{where}.heading_path", "a list of texts", part)
    scores = mapping(item.get("retrieval") or {}, f"{where}.retrieval")
    final = item.get("score", scores.get("fusion_score"))
    return Chunk(
        chunk_id=required_text(item, "chunk_id", where),
        rel_path=required_text(item, "doc_path", where),
        heading_path=written(tuple(headings)),
        text=required_text(item, "snippet", where),
        rank=rank,
        score_final=_number(final, f"{where}.score"),
        score_vector=_number(scores.get("vector_score"), f"{where}.retrieval.vector_score"),
        score_lexical=_number(scores.get("lexical_score"), f"{where}.retrieval.lexical_score"),
        doc_id=required_text(item, "doc_id", where),
    )


def _reference(item: Any, where: str) -> Reference:
    citation = mapping(item.get("citation") if isinstance(item, dict) else None, f"{where}.citation")
    section = citation.get("section")
    return Reference(
        vault="",
        rel_path=required_text(citation, "path", f"{where}.citation"),
        heading_path=section if isinstance(section, str) else "",
        chunk_index=0,
    )


def _check_version(root: dict[str, Any], name: str, where: str) -> None:
    stated = root.get("schema_version", ABSENT)
    version = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if version is None or version[1] != name:
        refuse(f"{where}: schema_version", f"{name}.v{MAJOR}", stated)
    if int(version[2]) != MAJOR:
        raise ValueError(f"{where}: schema_version: this adapter speaks {name}.v{MAJOR}, found {cut(stated)}")


def _object(data: bytes) -> dict[str, Any]:
    return mapping(parsed(data), "the output")


def _number(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        refuse(where, "a number", value)
    return float(value)
