"""How any JSON API is asked: the `ask.mapped` section of raggate.yml as frozen models. Its answer: `mapped_fields`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from raggate.config.effects import Looser, more
from raggate.config.mapped_fields import Condition, OnePath, ResponseFields
from raggate.config.service_settings import SentVariable, SettingsModel, check_headers, check_template, names
from raggate.config.values import Text

PLACEHOLDERS = ("question", "k", "mode", "vaults", "folders", "detail", "case_id")
"""What `{...}` may name in a path, a query and a body."""

PAGE_PLACEHOLDERS = ("page", "offset", "cursor")
"""What it may name as well where answers come in pages: the number of the page, the chunks so far, and the cursor."""

CHUNK_PLACEHOLDERS = ("id", "doc_id", "rel_path", "vault")
"""What it may name in a request for one chunk."""

HEADER_PLACEHOLDERS = ("k", "mode")
"""What it may name in a header, beside `{env.NAME}`."""

MAX_TEMPLATE_DEPTH = 20

_PATH = re.compile(r"/[^?#\s\\\x00-\x1f\x7f]*")


def _template(text: str) -> str:
    check_template(text, (*PLACEHOLDERS, *PAGE_PLACEHOLDERS))
    return text


def _chunk_template(text: str) -> str:
    check_template(text, CHUNK_PLACEHOLDERS)
    return text


def _url_path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("expected a path that starts with / and has no ?, # or white space; 'query' is for the rest")
    return text


def json_template(value: Any) -> Any:
    """Take a JSON value with placeholders of what is asked.

    Raises:
        ValueError: for another placeholder, and for what JSON does not have.
    """
    return _checked_json(value, PLACEHOLDERS)


def _paged_json(value: Any) -> Any:
    return _checked_json(value, (*PLACEHOLDERS, *PAGE_PLACEHOLDERS))


def _chunk_json(value: Any) -> Any:
    return _checked_json(value, CHUNK_PLACEHOLDERS)


def _checked_json(value: Any, allowed: Sequence[str]) -> Any:
    for leaf in leaves(_plain_json(value)):
        if isinstance(leaf, str):
            check_template(leaf, allowed)
    return value


def _plain_json(value: Any) -> Any:
    for leaf in leaves(value):
        if leaf is not None and type(leaf) not in (str, bool, int, float):
            # YAML has dates, which JSON does not
            raise ValueError(f"expected what JSON has, found {leaf!r}; put it in quotes")
    return value


def leaves(value: object, depth: int = 0) -> Iterator[object]:
    """Yield what a JSON template holds at its ends.

    Raises:
        ValueError: when it is nested too deep.
    """
    if depth > MAX_TEMPLATE_DEPTH:
        raise ValueError(f"expected at most {MAX_TEMPLATE_DEPTH} levels")
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item, depth + 1)
    else:
        yield value


Template = Annotated[Text, AfterValidator(_template)]
UrlPath = Annotated[str, AfterValidator(_url_path)]
UrlTemplate = Annotated[str, AfterValidator(_url_path), AfterValidator(_template)]
ChunkTemplate = Annotated[Text, AfterValidator(_chunk_template)]
ChunkUrl = Annotated[str, AfterValidator(_url_path), AfterValidator(_chunk_template)]


class HealthRequest(SettingsModel):
    """A request that a healthy API answers with 200."""

    path: UrlPath
    """The path, asked with GET."""
    healthy: Condition | None = None
    """A condition that the body must meet as well."""


class IndexFields(SettingsModel):
    """The fields of an answer that tell the state of the index."""

    documents: OnePath | None = None
    """The field with the number of indexed documents."""
    chunks: OnePath | None = None
    """The field with the number of indexed chunks."""
    indexing: Condition | None = None
    """When the API is still indexing."""

    @model_validator(mode="after")
    def _says_something(self) -> IndexFields:
        if self.documents is None and self.chunks is None and self.indexing is None:
            raise ValueError("expected at least one of 'documents', 'chunks' and 'indexing'")
        return self


class IndexRequest(IndexFields):
    """A request for the state of the index. At least one of the first three keys is needed."""

    path: UrlPath
    """The path."""
    method: Literal["GET", "POST"] = "GET"
    """The method."""
    query: dict[Text, Text] = {}
    """The query."""
    body: Annotated[dict[str, Any] | None, AfterValidator(_plain_json)] = None
    """The JSON body, for `method: POST`. It has no placeholders, and braces stand for themselves."""

    @model_validator(mode="after")
    def _asks(self) -> IndexRequest:
        if self.method == "GET" and self.body is not None:
            raise ValueError("expected no 'body' with GET; 'method: POST' sends one")
        return self


class AskRequest(SettingsModel):
    """The request that asks a question.

    `{question}`, `{k}`, `{mode}`, `{vaults}`, `{folders}`, `{detail}` and `{case_id}` stand for what is asked. In the
    body a text that is a placeholder and nothing else becomes the value itself, a number or a list; inside a longer
    text it is text, and lists are joined by commas. `{{` and `}}` are braces.
    """

    method: Literal["GET", "POST", "PUT"] = "POST"
    """The method."""
    path: UrlTemplate
    """The path; values of placeholders are percent-encoded."""
    query: dict[Text, Template] = {}
    """The query. An entry that is only a placeholder is left out when the case has no value for it."""
    body: Annotated[dict[str, Any] | None, AfterValidator(_paged_json)] = None
    """The JSON body. Entries are left out as in `query`."""

    @model_validator(mode="after")
    def _asks(self) -> AskRequest:
        if self.method == "GET" and self.body is not None:
            raise ValueError("expected no 'body' with GET")
        if "question" not in self.placeholders():
            raise ValueError("expected {question} in 'path', 'query' or 'body'")
        return self

    def placeholders(self) -> set[str]:
        """Name the placeholders that it uses."""
        return _used(self.path, self.query, self.body)


def _used(path: str, query: dict[str, str], body: object) -> set[str]:
    texts = (path, *query.values(), *(leaf for leaf in leaves(body) if isinstance(leaf, str)))
    return {name for text in texts for name in names(text)}


class Pages(SettingsModel):
    """How an answer goes on: it is asked for page after page until there are as many chunks as were asked for.

    The request of the question says which page it wants, by `{page}`, `{offset}` (the number of chunks so far) or
    `{cursor}`, which is left out of the first request.
    """

    cursor: OnePath | None = None
    """The field of an answer that `{cursor}` of the next request repeats. Missing, null or empty: that was the last."""
    first: Literal[0, 1] = 1
    """The number of the first page."""
    most: Annotated[int, Field(ge=2, le=100)] = 10
    """The most pages of one question."""


class ChunkRequest(SettingsModel):
    """A request for what a retrieved chunk holds, or for the path of its note, where the answer itself only names them.

    `{id}`, `{doc_id}`, `{rel_path}` and `{vault}` stand for what the answer says of the chunk. Chunks of a question
    that are asked for alike, such as those of one document, are asked for once.
    """

    method: Literal["GET", "POST"] = "GET"
    """The method."""
    path: ChunkUrl
    """The path; values of placeholders are percent-encoded."""
    query: dict[Text, ChunkTemplate] = {}
    """The query."""
    body: Annotated[dict[str, Any] | None, AfterValidator(_chunk_json)] = None
    """The JSON body."""
    text: OnePath | None = None
    """The field with the text. At least one of this key and the next two is needed."""
    heading_path: OnePath | None = None
    """The field with the headings, as those of chunks."""
    rel_path: OnePath | None = None
    """The field with the path of the note. `path_prefix` of the chunks is removed."""

    @model_validator(mode="after")
    def _asks(self) -> ChunkRequest:
        if self.method == "GET" and self.body is not None:
            raise ValueError("expected no 'body' with GET")
        if not self.placeholders():
            raise ValueError("expected {id} or another placeholder in 'path', 'query' or 'body'")
        if not self.parts():
            raise ValueError("expected at least one of 'text', 'heading_path' and 'rel_path'")
        return self

    def placeholders(self) -> set[str]:
        """Name the placeholders that it uses."""
        return _used(self.path, self.query, self.body)

    def parts(self) -> list[str]:
        """Name the parts of a chunk that it asks for."""
        return [part for part in ("text", "heading_path", "rel_path") if getattr(self, part) is not None]


class Mapped(SettingsModel):
    """Any JSON API, described by the request to send and the fields to read."""

    health: HealthRequest | None = None
    """When the API is healthy. Default: `api.ready.health_path` answers 200."""
    index: IndexRequest | None = None
    """The state of its index. Default: complete as soon as the API is healthy."""
    headers: dict[Text, Text] = {}
    """Headers of every request. They may use `{k}`, `{mode}` and, for variables of `pass_env`, `{env.NAME}`."""
    pass_env: Annotated[list[SentVariable], Looser(more)] = []
    """Variables of raggate's own environment that headers may use. The API sees them, and may repeat them."""
    ask: AskRequest
    """The request that asks a question."""
    pages: Pages | None = None
    """How an answer goes on. Default: it is whole."""
    response: ResponseFields
    """The fields of the answer."""
    chunk: ChunkRequest | None = None
    """A request for the text of each chunk, or for the path of its note. Default: the answer has them."""

    @model_validator(mode="after")
    def _sound_pages(self) -> Mapped:
        used = self.ask.placeholders() & {*PAGE_PLACEHOLDERS}
        if bool(used) != (self.pages is not None):
            raise ValueError("expected 'pages' with {page}, {offset} or {cursor} in 'ask', and with nothing else")
        if ("cursor" in used) != (self.pages is not None and self.pages.cursor is not None):
            raise ValueError("expected 'pages.cursor' with {cursor} in 'ask', and with nothing else")
        return self

    @model_validator(mode="after")
    def _sound_chunks(self) -> Mapped:
        chunks, parts = self.response.chunks, self.chunk.parts() if self.chunk is not None else []
        twice = next((part for part in parts if getattr(chunks, part) is not None), None)
        if twice is not None:
            raise ValueError(f"expected {twice!r} either in 'response.chunks' or in 'chunk'")
        if chunks.path_prefix is not None and chunks.rel_path is None and "rel_path" not in parts:
            raise ValueError("expected 'rel_path' beside 'path_prefix'")
        if self.chunk is not None and chunks.id is None and ("text" in parts or "id" in self.chunk.placeholders()):
            raise ValueError("expected 'response.chunks.id' beside 'chunk'")
        return self

    @model_validator(mode="after")
    def _sound_headers(self) -> Mapped:
        check_headers(self.headers, HEADER_PLACEHOLDERS, self.pass_env, "headers")
        return self
