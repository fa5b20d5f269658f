"""One answer of an unknown API -> the section `chunks` that reads it: what somebody said, else what is recognised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from raggate.config.mapped_fields import ChunkFields
from raggate.errors import UsageError
from raggate.gate.filled_fields import prefix_of
from raggate.service.discovery import shapes
from raggate.service.discovery.given import Headers
from raggate.service.discovery.shapes import Shape
from raggate.text.anchors import Elements, fold
from raggate.text.guarded import Guarded
from raggate.text.nearest import suggestion
from raggate.text.quote import enumerated, quoted
from raggate.text.separators import separator_of, set_apart_by

_LONGEST = 500
"""Characters of the longest text that may be headings: a passage that begins with them is longer."""

Choose = Callable[[str, Sequence[str]], str]
"""Asks somebody at a terminal a question; the texts are what can be chosen, none for anything. Untrusted texts."""


class Wanted(Guarded, Struct, frozen=True, kw_only=True):
    """What is known before the API is called.

    Attributes:
        url: where it runs, with the path of the endpoint or without; empty for a server that is started.
        question: what is asked.
        notes: the notes that it may name: path -> the heading paths of each.
        fields: part of a chunk, or `list` -> its path, as somebody said it.
        headers: what every request is sent with.
        secrets: values that no message may hold.
        choose: asks at a terminal; None where nobody is there to answer.
        tool: the tool of an MCP server that searches; empty where nobody said so.
        body: the JSON body that asks the question; empty for the usual names.
        health: the path that answers 200 when it is up; empty for the usual ones.
    """

    url: str
    question: str
    notes: Mapping[str, Collection[Elements]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)
    secrets: tuple[str, ...] = ()
    choose: Choose | None = None
    tool: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    health: str = ""


def check_fields(wanted: Wanted) -> None:
    """Refuse a part that no chunk has.

    Raises:
        UsageError: naming it.
    """
    strange = next((name for name in wanted.fields if name not in ChunkFields.model_fields), None)
    if strange is not None:
        parts = ", ".join(ChunkFields.model_fields)
        near = suggestion(strange, ChunkFields.model_fields)
        raise UsageError(f"--map: expected one of {parts}; found {quoted(strange)}{near}")


def shape_of(root: Any, wanted: Wanted) -> Shape | None:
    """Recognise an answer; None when it has no list of chunks."""
    return shapes.recognise(root, wanted.notes.keys(), wanted.fields.get("list"))


def chunks_of(shape: Shape, root: Any, wanted: Wanted) -> dict[str, Any]:
    """Return the section of the chunks, with what somebody said before what was recognised.

    Raises:
        UsageError: when nothing names the note of a chunk, and nobody could be asked.
    """
    paths_by_part = {"list": shape.list, **shape.fields, **wanted.fields}
    if not paths_by_part.keys() & {"rel_path", "doc_id"}:
        paths_by_part["rel_path"] = _asked_note(shape, wanted.choose)
    chunks: dict[str, Any] = {name: paths_by_part[name] for name in ChunkFields.model_fields if name in paths_by_part}
    deepest = max((len(path) for paths in wanted.notes.values() for path in paths), default=0)
    levels = shapes.heading_levels(chunks, root, deepest)
    if levels and "heading_path" not in wanted.fields:
        chunks["heading_path"] = levels
    prefix = _prefix(chunks, root, wanted)
    if prefix and "path_prefix" not in chunks:
        # a template, in which braces are doubled
        chunks["path_prefix"] = prefix.replace("{", "{{").replace("}", "}}")
    if "heading_path" not in chunks and (known := _known_headings(chunks, root, prefix or "", wanted)) is not None:
        chunks["heading_path"] = known
    separator = _separator(chunks, root, prefix or "", wanted)
    if separator is not None:
        chunks.setdefault("heading_separator", separator)
    return chunks


def _asked_note(shape: Shape, choose: Choose | None) -> str:
    texts = enumerated(list(shape.texts[:20]))
    missing = f"no part of a chunk in {shape.list} could be recognised as the path of its note"
    if choose is not None and shape.texts:
        return choose(f"{missing}. Which is it?", shape.texts)
    raise UsageError(
        f"{missing}; its texts are {texts or 'none'}",
        hint="`--map rel_path=meta.file` names it; use `--map doc_id=id` if there is only an id. Where another call "
        "tells the path of an id, add `chunk` to the file that is written then: docs/adapters.md.",
    )


def _prefix(chunks: Mapping[str, str], root: Any, wanted: Wanted) -> str | None:
    paths = [path for path in shapes.values_of("rel_path", chunks, root) if isinstance(path, str)]
    strange = [path for path in paths if path not in wanted.notes]
    return prefix_of(strange, set(wanted.notes)) if strange and len(strange) == len(paths) else None


def _known_headings(chunks: Mapping[str, Any], root: Any, prefix: str, wanted: Wanted) -> str | None:
    """Find the headings by those of the notes, whatever their field is called."""
    notes = [
        wanted.notes.get(path.removeprefix(prefix), ()) if isinstance(path, str) else ()
        for path in shapes.values_of("rel_path", chunks, root)
    ]
    leaves = shapes.leaves_of(chunks, root)
    fitting = (leaf for leaf, values in leaves.items() if leaf not in chunks.values() and _are_headings(values, notes))
    return next(fitting, None)


def _are_headings(values: Sequence[Any], notes: Sequence[Collection[Elements]]) -> bool:
    """Return whether these are headings of these notes, of several levels somewhere: a title alone may be anything."""
    if all(isinstance(value, str) and len(value) <= _LONGEST and "\n" not in value for value in values):
        return set_apart_by(zip(values, notes, strict=False)) is not None
    trails = [tuple(map(fold, value)) if shapes.is_texts(value) else () for value in values]
    known = ([tuple(map(fold, path)) for path in paths] for paths in notes)
    return max(map(len, trails)) > 1 and all(trail in paths for trail, paths in zip(trails, known, strict=False))


def _separator(chunks: Mapping[str, str], root: Any, prefix: str, wanted: Wanted) -> str | None:
    if not isinstance(chunks.get("heading_path"), str):
        return None
    paths, headings = (shapes.values_of(part, chunks, root) for part in ("rel_path", "heading_path"))
    return separator_of(
        (text, wanted.notes.get(path.removeprefix(prefix), ()))
        for path, text in zip(paths, headings, strict=False)
        if isinstance(path, str) and isinstance(text, str)
    )
