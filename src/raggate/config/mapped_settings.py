"""What an API or a tool is sent, and the fields of its answers: keys of `ask` for the adapters `mapped` and `mcp`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, TypeAdapter, WithJsonSchema, model_validator

from raggate.base import field_paths
from raggate.base.quote import suggestion
from raggate.config.service_settings import PLACEHOLDER, SettingsModel, check_template, names
from raggate.config.values import Name, Text

_IN_CHUNK = (
    *("id", "doc_id", "rel_path", "heading_path", "text"),
    *("score", "score_vector", "score_lexical", "vault"),
)
_MOST_PATHS = 10
_SEVERAL: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": _MOST_PATHS},
        {"type": "null"},
    ]
}
_BY_TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"from": {"const": "text"}, "path": _SEVERAL},
    "required": ["from"],
    "additionalProperties": False,
}
_VALUES = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}
_CONDITION = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "additionalProperties": _VALUES, "minProperties": 1, "maxProperties": 1},
        {"type": "null"},
    ]
}
_LISTS = {
    "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}]
}
_NAMES = TypeAdapter(Name)


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
        raise ValueError(f"expected a path, a list of 1 to {_MOST_PATHS} paths, or {{from: text}}")
    return [_field_path(path) for path in paths] if paths is value else _field_path(value)


def _headings(value: Any) -> Any:
    if not isinstance(value, dict):
        return _one_or_several(value)
    if value.get("from") != "text" or not value.keys() <= {"from", "path"}:
        raise ValueError("expected `from: text`, and beside it at most `path`")
    return {**value, "path": _one_or_several(value["path"])} if "path" in value else value


def _scalar(value: Any) -> Any:
    if value is not None and type(value) not in (str, bool, int, float):
        raise ValueError("expected text, a number, true, false or null")
    return value


FieldPath = Annotated[str, AfterValidator(_field_path)]
OnePath = Annotated[str, AfterValidator(_single)]
HeadingPath = Annotated[Any, AfterValidator(_headings), WithJsonSchema({"anyOf": [*_SEVERAL["anyOf"], _BY_TEXT]})]


def _condition(written: Any) -> Any:
    if written is None or type(written) is str:
        return written and _single(written)
    if type(written) is not dict or len(written) != 1 or not all(type(path) is str for path in written):
        raise ValueError("expected a field, such as `busy`, or one field with its values, such as `{state: [busy]}`")
    ((path, values),) = written.items()
    if type(values) is not list:
        raise ValueError(
            f"expected a list of values, such as `{{{path}: [busy]}}`. Write `{{{path}: []}}` for an empty field"
        )
    return {_single(path): [_scalar(value) for value in values]}


def _list_or_lists(written: Any) -> Any:
    if type(written) is not dict:
        return _field_path(written)
    if not written or not all(type(path) is str for path in written.values()):
        raise ValueError("expected a path, or names with the paths of parallel lists")
    return {_NAMES.validate_python(name): _single(path) for name, path in written.items()}


Condition = Annotated[Any, AfterValidator(_condition), WithJsonSchema(_CONDITION)]
"""A field that must be true or false, or a field with the values that count: 1 and true are different values. No value
stands for a field that is missing, null, blank text, or an empty list or mapping."""
ChunkList = Annotated[Any, AfterValidator(_list_or_lists), WithJsonSchema(_LISTS)]


class Rule(NamedTuple):
    """A condition as it is applied: `values` is None if the field is true or false itself, and empty for emptiness."""

    path: str
    values: Sequence[object] | None


def rule_of(condition: str | Mapping[str, Sequence[object]]) -> Rule:
    """Return the rule that a condition stands for."""
    return Rule(condition, None) if isinstance(condition, str) else Rule(*next(iter(condition.items())))


class ChunkFields(SettingsModel):
    """The fields of a retrieved chunk; paths start at the chunk.

    One with `[*]` starts at the body as `list` does, and leads to what a chunk stands in: with a list
    `groups[*].hits[*]`, `groups[*].file` is the file of the chunk's group.
    """

    list: ChunkList
    """The list of chunks in the body, best first: `data.hits`, or `groups[*].hits[*]` to join several lists. For lists
    that run side by side: name -> path of the list. The names are then the keys of a chunk."""
    none: Condition = None
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
    a field of its own, a list of paths, outermost first: `[meta."Header 1", meta."Header 2"]`. With `{from: text}`, or
    `{from: text, path: meta.headings}`, headings that are missing or fewer are those of the section of the note in
    which the text stands; a text that stands in several sections has none."""
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
    vault: FieldPath | None = None
    """The vault. Missing or null means unknown."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The lists that run side by side, by name; none for a list of chunks."""
        lists: object = self.list
        return lists if isinstance(lists, dict) else {}

    @model_validator(mode="after")
    def _named(self) -> ChunkFields:
        if self.id is None and self.doc_id is None and self.rel_path is None:
            raise ValueError("expected at least one of 'id', 'doc_id' and 'rel_path'")
        check_template(self.path_prefix or "", ("vault",))
        if self.path_prefix is not None and self.rel_path is None:
            raise ValueError("expected 'rel_path' beside 'path_prefix'")
        if self.headings_by_text and (self.rel_path is None or self.text is None):
            raise ValueError("expected 'rel_path' and 'text' beside `heading_path: {from: text}`")
        for name, written in self._written():
            self._check_beginning(name, written)
        return self

    def _check_beginning(self, name: str, written: str) -> None:
        """Refuse a path that begins neither at the chunk nor as the list does."""
        path = field_paths.parse(written)
        if path.many and (self.columns or not field_paths.begins_as(path, field_paths.parse(self.list))):
            raise ValueError(f"expected {name!r} without [*], or to begin as 'list' does, found {written!r}")
        column = str(path.steps[0]) if self.columns and path.steps else ""
        if column and column not in self.columns:
            meant = suggestion(column, self.columns)
            raise ValueError(f"expected {name!r} to begin with a name in 'list', found {column!r}{meant}")

    @property
    def told_headings(self) -> Any:
        """Where the headings are: a path, a list of paths, or None."""
        return self.heading_path.get("path") if self.headings_by_text else self.heading_path

    @property
    def headings_by_text(self) -> bool:
        """Whether headings that are missing or fewer are found by the place of the text in the note."""
        return isinstance(self.heading_path, dict)

    def _written(self) -> Iterator[tuple[str, str]]:
        """Yield the paths of all parts, each with the name of its part."""
        for name in _IN_CHUNK:
            paths = self.told_headings if name == "heading_path" else getattr(self, name)
            yield from (
                (name, path) for path in ([] if paths is None else [paths] if isinstance(paths, str) else paths)
            )


class ReferenceFields(SettingsModel):
    """The fields of a reference that an answer cites; paths start at the reference."""

    list: FieldPath
    """The list of references in the body. Missing or null means an empty list."""
    rel_path: OnePath
    """The path of the note; `$` when the reference is the path itself. `path_prefix` of the chunks is removed, and
    gives the vault."""


class ResponseFields(SettingsModel):
    """The fields of a response with status 200.

    A path is keys set apart by dots, `[n]` for one item of a list from 0, `[2:5]` for some and `[*]` for all. `$` is
    the value itself, and `"odd.key"` a key with other characters than letters, digits, `_`, `-`, `@`, `:` and `/`.
    """

    stream: Literal[True] | OnePath | None = None
    """The answer is several documents, lines of JSON or server-sent events, which are collected as kind -> list of
    documents. Name the field with a document's kind; `true` for the names of events, and for lines that have no kind:
    those become one list, at `$`."""
    errors: OnePath | None = None
    """The field that reports an error: unless it is missing, null, false, 0 or empty, the call has failed.
    Default: a list `errors` whose items have a `message`, as GraphQL has it, and what a stream calls
    `error`."""
    chunks: ChunkFields
    """The retrieved chunks."""
    answer: FieldPath | None = None
    """The answer, read unless `ask.retrieval_only`; several texts are joined. It may be missing or null if the API
    abstained."""
    abstained: Condition = None
    """When the API declined to answer. An empty field is none with `ask.retrieval_only`."""
    references: ReferenceFields | None = None
    """The references of the answer, read unless `ask.retrieval_only`."""


PLACEHOLDERS = ("question", "k", "mode", "vaults", "folders", "detail", "case_id")
"""What `{...}` may name in a path, a query and a body."""

HEADER_PLACEHOLDERS = ("k", "mode")
"""What it may name in a header of a mapped API, beside `{env.NAME}`."""

MAX_TEMPLATE_DEPTH = 20

_WITH_QUERY = re.compile(r"/[^?#\s\\\x00-\x1f\x7f]*(?:\?[^#\s\x00-\x1f\x7f]*)?")


def _template(text: str) -> str:
    check_template(text, PLACEHOLDERS)
    return text


def _path_and_query(text: str) -> str:
    if not _WITH_QUERY.fullmatch(text):
        raise ValueError("expected a path that starts with / and has no # or white space")
    return text


def json_template(value: Any) -> Any:
    """Take a JSON value with placeholders of what is asked."""
    for leaf in leaves(_plain_json(value)):
        if isinstance(leaf, str):
            check_template(leaf, PLACEHOLDERS)
    return value


def _plain_json(value: Any) -> Any:
    for leaf in leaves(value):
        if leaf is not None and type(leaf) not in (str, bool, int, float):
            # YAML has dates, which JSON does not
            raise ValueError(f"expected what JSON has, found {leaf!r}. Put it in quotes")
    return value


def leaves(value: object, depth: int = 0) -> Iterator[object]:
    """Yield what a JSON template holds at its ends."""
    if depth > MAX_TEMPLATE_DEPTH:
        raise ValueError(f"expected at most {MAX_TEMPLATE_DEPTH} levels")
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item, depth + 1)
    else:
        yield value


ToolName = Annotated[Text, Field(min_length=1, max_length=200)]
READINGS = ("json", "blocks")
"""Ways to read the text of a result, beside a template."""


def cut_by(template: str) -> tuple[str, list[tuple[str, str]]]:
    """Return what a block begins with, and its parts in order: each with its name and what stands behind it."""
    pieces, owners = [""], list[str]()
    position = 0
    for match in PLACEHOLDER.finditer(template):
        pieces[-1] += template[position : match.start()]
        position = match.end()
        if match[1] is None:
            pieces[-1] += match[0][0]
        else:
            owners.append(match[1])
            pieces.append("")
    pieces[-1] += template[position:]
    return pieces[0], list(zip(owners, pieces[1:], strict=True))


def _reading(written: str) -> str:
    if written in READINGS:
        return written
    named = list(names(written))
    if not named or len(set(named)) < len(named) or not all(named):
        raise ValueError('expected `json`, `blocks`, or names of the parts of a block, such as "File: {path}\\n{text}"')
    if not all(behind for _, behind in cut_by(written)[1][:-1]):
        raise ValueError("expected something between two parts, which tells where the first one ends")
    return written


TextReading = Annotated[Text, Field(max_length=1000), AfterValidator(_reading)]
PathAndQuery = Annotated[str, AfterValidator(_path_and_query)]
UrlTemplate = Annotated[str, AfterValidator(_path_and_query), AfterValidator(_template)]
PlainBody = Annotated[dict[str, Any], AfterValidator(_plain_json)]
BodyTemplate = Annotated[dict[str, Any], AfterValidator(json_template)]


class Index(SettingsModel):
    """A request for the state of the index, and the fields of its answer. At least one field is needed."""

    path: PathAndQuery | None = None
    """The path, with its query if it has one. An MCP server has a `tool` instead."""
    tool: ToolName | None = None
    """The tool of an MCP server that tells the state of its index."""
    body: PlainBody | None = None
    """The JSON body, which makes the request a POST, or the arguments of the tool. Braces stand for themselves."""
    documents: OnePath | None = None
    """The field with the number of indexed documents."""
    chunks: OnePath | None = None
    """The field with the number of indexed chunks."""
    indexing: Condition = None
    """When the API is still indexing."""

    @model_validator(mode="after")
    def _says_something(self) -> Index:
        if self.documents is None and self.chunks is None and self.indexing is None:
            raise ValueError("expected at least one of 'documents', 'chunks' and 'indexing'")
        return self
