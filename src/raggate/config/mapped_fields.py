"""Where everything stands in the answer of any JSON API: field paths as frozen models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from raggate.config.service_settings import SettingsModel, check_template
from raggate.config.values import Name, Text
from raggate.text import field_paths
from raggate.text.quote import suggestion

_IN_CHUNK = (
    *("id", "doc_id", "rel_path", "heading_path", "text"),
    *("score", "score_vector", "score_lexical", "rank", "vault"),
)
_MOST_PATHS = 10
_SEVERAL = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": _MOST_PATHS},
        {"type": "null"},
    ]
}
_STEP = re.compile(r"[A-Za-z0-9_]{1,60}_ms")


StepName = Annotated[str, Field(pattern=f"^{_STEP.pattern}$")]


def _field_path(written: str) -> str:
    field_paths.parse(written)
    return written


def _single(written: str) -> str:
    if field_paths.parse(written).many:
        raise ValueError("expected a path to one value, without [*]")
    return written


def _one_or_several(value: Any) -> Any:
    paths = [value] if isinstance(value, str) else value
    if value is None:
        return value
    if type(paths) is not list or not 1 <= len(paths) <= _MOST_PATHS or not all(type(path) is str for path in paths):
        raise ValueError(f"expected a path, or a list of 1 to {_MOST_PATHS} paths")
    return [_field_path(path) for path in paths] if paths is value else _field_path(value)


def _scalar(value: Any) -> Any:
    if value is not None and type(value) not in (str, bool, int, float):
        raise ValueError("expected text, a number, true, false or null")
    return value


FieldPath = Annotated[str, AfterValidator(_field_path)]
OnePath = Annotated[str, AfterValidator(_single)]
HeadingPath = Annotated[Any, AfterValidator(_one_or_several), WithJsonSchema(_SEVERAL)]
Scalar = Annotated[Any, AfterValidator(_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]


class Condition(SettingsModel):
    """A condition on a field of the answer. Without `equals` and `empty` the field must be true or false."""

    path: OnePath
    """The field."""
    equals: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """True when the field is one of these values. 1 and true are different values."""
    empty: bool = False
    """True when the field is missing, null, blank text, or an empty list or mapping."""

    @model_validator(mode="after")
    def _one_rule(self) -> Condition:
        if self.empty and self.equals is not None:
            raise ValueError("expected at most one of 'equals' and 'empty'")
        return self


class ChunkFields(SettingsModel):
    """The fields of a retrieved chunk; paths start at the chunk.

    One with `[*]` starts at the body as `list` does, and leads to what a chunk stands in: with a list
    `groups[*].hits[*]`, `groups[*].file` is the file of the chunk's group.
    """

    list: FieldPath | None = None
    """The list of chunks in the body, best first: `data.hits`, or `groups[*].hits[*]` to join several lists."""
    columns: dict[Name, OnePath] | None = None
    """Parallel lists, instead of `list`: name -> path of the list. The names are then the keys of a chunk."""
    none: Condition | None = None
    """When the answer has no chunks, so that the list may be missing. Otherwise one that is missing is no answer."""
    id: FieldPath | None = None
    """The id, text or a whole number. Default: a hash of the other fields that identify the chunk."""
    doc_id: FieldPath | None = None
    """The id of the document, text or a whole number."""
    rel_path: FieldPath | None = None
    """The path of the note."""
    path_prefix: Text | None = None
    """A prefix to remove from paths; with `{vault}`, as in `/vaults/{vault}/`, it gives the vault too."""
    heading_path: HeadingPath = None
    """The headings above the chunk: a text, or a list, outermost first. Missing or null means none. Where each level is
    a field of its own, a list of paths, outermost first: `[meta."Header 1", meta."Header 2"]`."""
    heading_separator: Annotated[Text, Field(min_length=1)] | None = None
    """The separator between headings in a text, if it is not ` > `."""
    text: FieldPath | None = None
    """The text."""
    score: FieldPath | None = None
    """The score the list is ordered by, higher is better. Missing or null means none, here and in the next two."""
    score_vector: FieldPath | None = None
    """The score of the vector search."""
    score_lexical: FieldPath | None = None
    """The score of the lexical search."""
    rank: FieldPath | None = None
    """The rank that the API reports. Missing or null means none."""
    rank_from: Literal[0, 1] = 1
    """The number of the first rank."""
    vault: FieldPath | None = None
    """The vault. Missing or null means unknown."""

    @model_validator(mode="after")
    def _named(self) -> ChunkFields:
        if (self.list is None) == (not self.columns):
            raise ValueError("expected exactly one of 'list' and 'columns'")
        if self.id is None and self.doc_id is None and self.rel_path is None:
            raise ValueError("expected at least one of 'id', 'doc_id' and 'rel_path'")
        check_template(self.path_prefix or "", ("vault",))
        return self

    @model_validator(mode="after")
    def _in_the_list(self) -> ChunkFields:
        for name, written in self._written():
            path = field_paths.parse(written)
            if path.many and not (self.list and field_paths.begins_as(path, field_paths.parse(self.list))):
                raise ValueError(f"expected {name!r} without [*], or to begin as 'list' does; found {written!r}")
        return self

    @model_validator(mode="after")
    def _of_columns(self) -> ChunkFields:
        for name, written in self._written() if self.columns else ():
            steps = field_paths.parse(written).steps
            column = str(steps[0]) if steps else ""
            if column and column not in (self.columns or {}):
                meant = suggestion(column, self.columns or {})
                raise ValueError(f"expected {name!r} to begin with a name of 'columns', found {column!r}{meant}")
        return self

    def _written(self) -> Iterator[tuple[str, str]]:
        """Yield the paths of all parts, each with the name of its part."""
        for name in _IN_CHUNK:
            paths = getattr(self, name)
            yield from (
                (name, path) for path in ([] if paths is None else [paths] if isinstance(paths, str) else paths)
            )


class ReferenceFields(SettingsModel):
    """The fields of a reference that an answer cites; paths start at the reference."""

    list: FieldPath
    """The list of references in the body. Missing or null means an empty list."""
    rel_path: OnePath
    """The path of the note; `$` when the reference is the path itself. `path_prefix` of the chunks is removed."""
    heading_path: OnePath | None = None
    """The headings, read like those of chunks."""
    heading_separator: Annotated[Text, Field(min_length=1)] | None = None
    """The separator between headings in a text, if it is not ` > `."""
    chunk_index: OnePath | None = None
    """The number of the chunk in its note. Missing or null means 0."""
    vault: OnePath | None = None
    """The vault. Missing or null means unknown."""


class Duration(SettingsModel):
    """A duration and its unit."""

    path: OnePath
    """The field. Missing or null means not reported."""
    unit: Literal["ns", "us", "ms", "s"]
    """The unit."""


class Stream(SettingsModel):
    """An answer sent as several documents, which are collected by kind: kind -> list of documents."""

    format: Literal["ndjson", "sse"]
    """`ndjson`: one JSON document per line. `sse`: server-sent events, whose data is JSON or text."""
    by: OnePath | None = None
    """The field with a document's kind. Default: the event's name; lines of JSON then become one list, at `$`."""


class ResponseFields(SettingsModel):
    """The fields of a response with status 200.

    A path is keys set apart by dots, `[n]` for one item of a list from 0, `[2:5]` for some and `[*]` for all. `$` is
    the value itself, and `"odd.key"` a key with other characters than letters, digits, `_`, `-`, `@`, `:` and `/`.
    """

    stream: Stream | None = None
    """How a streamed answer is read. Default: the answer is one JSON document."""
    errors: OnePath | None = None
    """The field that reports an error: unless it is missing, null, false, 0 or empty, the call has failed.
    Default: a list `errors` whose items have a `message`, as GraphQL has it, and what a stream calls
    `error`."""
    chunks: ChunkFields
    """The retrieved chunks."""
    answer: FieldPath | None = None
    """The answer, read unless `ask.retrieval_only`; several texts are joined. It may be missing or null if the API
    abstained."""
    abstained: Condition | None = None
    """When the API declined to answer. `empty` is not applied with `ask.retrieval_only`."""
    abstain_reason: OnePath | None = None
    """Why it declined. Missing or null means no reason."""
    grounded: Condition | None = None
    """When the API says that its answer rests on the chunks."""
    references: ReferenceFields | None = None
    """The references of the answer, read unless `ask.retrieval_only`."""
    latency: dict[StepName, Duration] = {}
    """Durations by step; names end in `_ms`, such as `total_ms` and `retrieval_ms`."""
    selected_folders: FieldPath | None = None
    """The folders that were searched, as `vault/path`. Missing or null means not reported."""
    available_folders: FieldPath | None = None
    """The folders that could have been."""
    folder_reasoning: OnePath | None = None
    """Why these folders were selected, which the page of a run shows."""
    coverage: dict[Name, OnePath] = {}
    """Numbers or text about the index, such as `docs_processed` and `index_version`."""
