"""Where everything stands in the answer of any JSON API: field paths as frozen models."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from raggate.config.header_settings import check_template
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name, Text
from raggate.text import field_paths
from raggate.text.nearest import nearest

_IN_CHUNK = (
    *("id", "doc_id", "rel_path", "heading_path", "text"),
    *("score", "score_vector", "score_lexical", "rank", "vault"),
)
_STEP = re.compile(r"[A-Za-z0-9_]{1,60}_ms")


def _field_path(written: str) -> str:
    field_paths.parse(written)
    return written


def _single(written: str) -> str:
    if field_paths.parse(written).many:
        raise ValueError("expected a path to one value, without [*]")
    return written


def _scalar(value: Any) -> Any:
    if value is not None and type(value) not in (str, bool, int, float):
        raise ValueError("expected text, a number, true, false or null")
    return value


FieldPath = Annotated[str, AfterValidator(_field_path)]
OnePath = Annotated[str, AfterValidator(_single)]
Scalar = Annotated[Any, AfterValidator(_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
StepName = Annotated[str, Field(pattern=f"^{_STEP.pattern}$")]


class Condition(SettingsModel):
    """When something in an answer means yes. Without `equals` and `empty` it must be true or false itself."""

    path: OnePath
    """Where it stands."""
    equals: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """It means yes when it is one of these. 1 and true are not the same."""
    empty: bool = False
    """It means yes when it is missing, null, blank text or an empty list or mapping."""

    @model_validator(mode="after")
    def _one_rule(self) -> Condition:
        if self.empty and self.equals is not None:
            raise ValueError("expected at most one of 'equals' and 'empty'")
        return self


class ChunkFields(SettingsModel):
    """Where the parts of a retrieved chunk stand, each path from the chunk."""

    list: FieldPath | None = None
    """Where the chunks stand in the body, best first: `data.hits`, or `groups[*].hits[*]` for all of several lists."""
    columns: dict[Name, OnePath] | None = None
    """Lists that run side by side, in place of `list`: name -> where it stands. The names are then a chunk's keys."""
    none: Condition | None = None
    """When the answer has no chunks, so that the list may be missing. Otherwise one that is missing is no answer."""
    id: OnePath | None = None
    """The id, text or a whole number. Default: a hash of everything else that names the chunk."""
    doc_id: OnePath | None = None
    """The id of the document, text or a whole number."""
    rel_path: OnePath | None = None
    """The path of the note."""
    path_prefix: Text | None = None
    """What is removed from the start of paths; with `{vault}`, as in `/vaults/{vault}/`, it tells the vault too."""
    heading_path: OnePath | None = None
    """The headings that enclose it: a text as it is, or a list, outermost first. Missing or null is none."""
    heading_separator: Annotated[Text, Field(min_length=1)] | None = None
    """What sets headings apart in a text, where it is not ` > `."""
    text: OnePath | None = None
    """The text."""
    score: OnePath | None = None
    """The score the list is ordered by, higher is better. Missing or null is none, here and in the next two."""
    score_vector: OnePath | None = None
    """The score of the vector search."""
    score_lexical: OnePath | None = None
    """The score of the lexical search."""
    rank: OnePath | None = None
    """The rank that the API reports. Missing or null is none."""
    rank_from: Literal[0, 1] = 1
    """What the first rank is called."""
    vault: OnePath | None = None
    """The vault. Missing or null is unknown."""

    @model_validator(mode="after")
    def _named(self) -> ChunkFields:
        if (self.list is None) == (not self.columns):
            raise ValueError("expected exactly one of 'list' and 'columns'")
        if self.id is None and self.doc_id is None and self.rel_path is None:
            raise ValueError("expected at least one of 'id', 'doc_id' and 'rel_path'")
        if self.path_prefix is not None and self.rel_path is None:
            raise ValueError("expected 'rel_path' beside 'path_prefix'")
        check_template(self.path_prefix or "", ("vault",))
        return self

    @model_validator(mode="after")
    def _of_columns(self) -> ChunkFields:
        for name in _IN_CHUNK if self.columns else ():
            written: str | None = getattr(self, name)
            steps = field_paths.parse(written).steps if written is not None else ()
            column = str(steps[0]) if steps else ""
            if column and column not in (self.columns or {}):
                like = nearest(column, self.columns or {})
                meant = f"; did you mean {like!r}?" if like else ""
                raise ValueError(f"expected {name!r} to begin with a name of 'columns', found {column!r}{meant}")
        return self


class ReferenceFields(SettingsModel):
    """Where the places that an answer cites stand, each path from the reference."""

    list: FieldPath
    """Where the references stand in the body. A list that is missing or null is empty."""
    rel_path: OnePath
    """The path of the note; `$` when the reference is the path itself. `path_prefix` of the chunks is removed."""
    heading_path: OnePath | None = None
    """The headings, as those of chunks."""
    heading_separator: Annotated[Text, Field(min_length=1)] | None = None
    """What sets headings apart in a text, where it is not ` > `."""
    chunk_index: OnePath | None = None
    """The number of the chunk in its note. Missing or null is 0."""
    vault: OnePath | None = None
    """The vault. Missing or null is unknown."""


class Duration(SettingsModel):
    """Where a time stands, and in what unit."""

    path: OnePath
    """Where it stands. Missing or null is not told."""
    unit: Literal["ns", "us", "ms", "s"]
    """The unit."""


class Stream(SettingsModel):
    """An answer of many documents, one after the other, which become one: the name of a kind -> a list of them."""

    format: Literal["ndjson", "sse"]
    """A JSON document a line, or server-sent events, whose data is JSON or else text."""
    by: OnePath | None = None
    """Where a document names its kind. Default: the event's name; lines of JSON are a plain list then, at `$`."""


class ResponseFields(SettingsModel):
    """Where the parts of an answer stand in the body of a response with status 200.

    A path is keys set apart by dots, `[n]` for one item of a list from 0, `[2:5]` for some and `[*]` for all. `$` is
    the value itself, and `"odd.key"` a key with other characters than letters, digits, `_`, `-`, `@`, `:` and `/`.
    """

    stream: Stream | None = None
    """How the answer comes in parts. Default: it is one JSON document."""
    errors: OnePath | None = None
    """Where the API reports what went wrong: unless it is missing, null, false, 0 or empty, the call is failed.
    Default: a list `errors` whose items have a `message`, as GraphQL has it, and events of the name `error`."""
    chunks: ChunkFields
    """The retrieved chunks."""
    answer: FieldPath | None = None
    """The answer, read unless `ask.retrieval_only`; several texts are joined. It may be missing or null where the API
    abstained."""
    abstained: Condition | None = None
    """When the API declined to answer. `empty` is not applied with `ask.retrieval_only`."""
    abstain_reason: OnePath | None = None
    """Why. Missing or null is none."""
    model: OnePath | None = None
    """The name of the model that generated the answer, by which `raggate judge --bias` knows a judge's own kind."""
    grounded: Condition | None = None
    """When the API says that its answer rests on the chunks."""
    references: ReferenceFields | None = None
    """What the answer cites, read unless `ask.retrieval_only`."""
    latency: dict[StepName, Duration] = {}  # noqa: RUF012 - pydantic copies it
    """Steps and what they took; names end in `_ms`, such as `total_ms` and `retrieval_ms`."""
    selected_folders: FieldPath | None = None
    """The folders that were searched, as `vault/path`. Missing or null is not told."""
    available_folders: FieldPath | None = None
    """The folders that could have been."""
    coverage: dict[Name, OnePath] = {}  # noqa: RUF012 - pydantic copies it
    """What the API tells of its index, such as `docs_processed` and `index_version`: numbers or text."""
