"""How any JSON API is asked: the `ask.mapped` section of raggate.yml as frozen models. Its answer: `mapped_fields`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, model_validator

from raggate.config.header_settings import SentVariable, check_headers, check_template, names
from raggate.config.mapped_fields import Condition, OnePath, ResponseFields
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Text

PLACEHOLDERS = ("question", "k", "mode", "vaults", "folders", "detail", "case_id")
"""What `{...}` may name in a path, a query and a body."""

HEADER_PLACEHOLDERS = ("k", "mode")
"""What it may name in a header, beside `{env.NAME}`."""

MAX_TEMPLATE_DEPTH = 20

_PATH = re.compile(r"/[^?#\s\\\x00-\x1f\x7f]*")


def _template(text: str) -> str:
    check_template(text, PLACEHOLDERS)
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
    for leaf in leaves(value):
        if isinstance(leaf, str):
            check_template(leaf, PLACEHOLDERS)
        elif leaf is not None and type(leaf) not in (bool, int, float):
            # YAML has dates, which JSON does not
            raise ValueError(f"expected what JSON has, found {leaf!r}; put it in quotes")
    return value


def leaves(value: object, depth: int = 0) -> Iterator[object]:
    """Give what a JSON template holds at its ends.

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
    query: dict[Text, Text] = {}  # noqa: RUF012 - pydantic copies it
    """The query."""


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
    query: dict[Text, Template] = {}  # noqa: RUF012 - pydantic copies it
    """The query. An entry that is only a placeholder is left out when the case has no value for it."""
    body: Annotated[dict[str, Any] | None, AfterValidator(json_template)] = None
    """The JSON body. Entries are left out as in `query`."""

    @model_validator(mode="after")
    def _asks(self) -> AskRequest:
        if self.method == "GET" and self.body is not None:
            raise ValueError("expected no 'body' with GET")
        texts = [self.path, *self.query.values(), *(leaf for leaf in leaves(self.body) if isinstance(leaf, str))]
        if not any("question" in names(text) for text in texts):
            raise ValueError("expected {question} in 'path', 'query' or 'body'")
        return self


class Mapped(SettingsModel):
    """Any JSON API, described by the request to send and the fields to read."""

    health: HealthRequest | None = None
    """When the API is healthy. Default: `api.ready.health_path` answers 200."""
    index: IndexRequest | None = None
    """The state of its index. Default: complete as soon as the API is healthy."""
    headers: dict[Text, Text] = {}  # noqa: RUF012 - pydantic copies it
    """Headers of every request. They may use `{k}`, `{mode}` and, for variables of `pass_env`, `{env.NAME}`."""
    pass_env: list[SentVariable] = []  # noqa: RUF012 - pydantic copies it
    """Variables of raggate's own environment that headers may use. The API sees them, and may repeat them."""
    ask: AskRequest
    """The request that asks a question."""
    response: ResponseFields
    """The fields of the answer."""

    @model_validator(mode="after")
    def _sound_headers(self) -> Mapped:
        check_headers(self.headers, HEADER_PLACEHOLDERS, self.pass_env, "headers")
        return self
