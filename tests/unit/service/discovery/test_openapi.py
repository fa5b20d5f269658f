"""Which requests of an OpenAPI document take a question, and how they are filled."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from raggate.config.ask_settings import Ask
from raggate.service.discovery.openapi import health_paths, requests
from tables import each_row
from tries import tried


def post(schema: Any, **components: Any) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": schema}}}
    return {"paths": {"/search": {"post": {"requestBody": body}}}, "components": {"schemas": components}}


STRING, NUMBER = {"type": "string"}, {"type": "integer"}


@each_row(
    ("document", "expected"),
    [
        (post({"properties": {"query": STRING, "top_k": NUMBER}}), {"query": "{question}", "top_k": "{k}"}),
        (
            post({"$ref": "#/components/schemas/Q"}, Q={"properties": {"topK": NUMBER, "q": {"anyOf": [STRING]}}}),
            {"q": "{question}", "topK": "{k}"},
        ),
        (
            post({"properties": {"text": STRING, "mode": {"enum": ["hybrid", "x"]}}, "required": ["text", "mode"]}),
            {"text": "{question}", "mode": "hybrid"},
        ),
        (
            post({"properties": {"text": STRING, "strict": {"default": True}}, "required": ["strict"]}),
            {"text": "{question}", "strict": True},
        ),
    ],
)
def test_a_body_is_filled(document: Any, expected: dict[str, Any]) -> None:
    """The question and the number of chunks get their placeholders, and what is required a value that is allowed."""
    (request,) = requests(document)
    assert (request.method, request.path, request.body) == ("POST", "/search", expected)


@each_row(
    "document",
    [
        {"paths": []},
        post({"properties": {"name": STRING}}),
        post({"properties": {"query": NUMBER}}),
        # a value that nobody has told
        post({"properties": {"query": STRING, "tenant": STRING}, "required": ["tenant"]}),
        post({"$ref": "#/components/schemas/Q"}, Q={"$ref": "#/components/schemas/Q"}),
        post({"$ref": "http://169.254.169.254/x"}),
        {"paths": {"/search/{id}": {"get": {"parameters": [{"in": "query", "name": "q"}]}}}},
        {"paths": {"//evil.example/search": None}},
    ],
)
def test_what_cannot_be_asked_is_left_out(document: Any) -> None:
    """A request without a question, with a value nobody knows, or described elsewhere is none."""
    assert requests(document) == []


def test_what_may_write_is_not_tried() -> None:
    """A request that takes some text is none to try out unless its path says that it searches, or somebody named it."""
    document = post({"properties": {"message": STRING}})
    document["paths"]["/comments"] = document["paths"].pop("/search")
    assert requests(document) == []
    assert len(requests(document, "/comments")) == 1
    document["paths"]["/notes/run"] = post({"properties": {"query": STRING}})["paths"]["/search"]
    assert [request.path for request in requests(document)] == ["/notes/run"]


@each_row(
    ("path", "operation", "tried"),
    [
        ("/tasks", None, False),
        ("/paragraphs", None, False),
        ("/notes/_delete_by_query", None, False),
        ("/questions", "create_question_questions_post", False),
        ("/ask", "ask_ask_post", True),
        ("/v1/rag", None, True),
        ("/postings/search", 7, True),
    ],
)
def test_what_says_that_it_writes_is_not_tried(path: str, operation: object, tried: bool) -> None:
    """A word of path or operation that writes counts more than any that asks, and no word asks by chance."""
    described = post({"properties": {"text": STRING, "query": STRING} if "query" in path else {"text": STRING}})
    described["paths"] = {path: {"post": {**described["paths"]["/search"]["post"], "operationId": operation}}}
    assert [request.path for request in requests(described)] == [path] * tried
    # somebody who names it may ask it
    assert len(requests(described, path)) == 1


def test_a_path_that_is_known_fills_its_template() -> None:
    """A request whose path has parameters is found by a path that has their values, and by no other."""
    ask = {"get": {"parameters": [{"in": "query", "name": "q"}]}}
    document = {"paths": {"/p/{id}/search/": ask, "/search": ask}}
    assert [request.path for request in requests(document, "/p/7/search/")] == ["/p/7/search/"]
    assert requests(document, "/p/7/search") == requests(document, "/p//search/") == []


def test_the_likeliest_comes_first() -> None:
    """Of several requests the one whose path says that it searches is tried first; health is told apart."""
    ask = {
        "parameters": [{"in": "query", "name": "q"}, {"in": "query", "name": "limit"}, {"in": "header", "name": "n"}]
    }
    paths = ["/users", "/chat", "/v1/search", "/api/health", "/readyz"]
    document = {"paths": {path: {"get": ask} for path in paths}}
    found = requests(document)
    assert [request.path for request in found][:2] == ["/v1/search", "/chat"]
    assert found[0].query == {"q": "{question}", "limit": "{k}"}
    assert health_paths(document) == ["/api/health", "/readyz"]


KEYS = st.sampled_from(
    "paths /search /a{b} get post parameters in query name $ref #/paths schema requestBody content application/json "
    "properties required enum default type string".split()
)
DOCUMENTS = st.recursive(
    KEYS | st.integers() | st.none() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@tried(60)
@given(DOCUMENTS, DOCUMENTS)
def test_whatever_it_says_is_a_sound_request_or_none(document: Any, schema: Any) -> None:
    """Any document gives requests that the configuration takes, and never an error."""
    for described in (document, {"paths": document}, post(schema), post({"properties": document, "required": ["q"]})):
        for request in requests(described):
            Ask.model_validate(
                {"adapter": "mapped", **request.template(), "response": {"chunks": {"list": "a", "id": "i"}}}
            )
        health_paths(described)


@each_row(
    ("base", "path"),
    [
        ({"basePath": "/v1"}, "/v1/search"),
        ({"servers": [{"url": "https://api.example/v2/"}]}, "/v2/search"),
        ({"servers": [{"url": "https://[broken"}]}, "/search"),
        ({"servers": [{"url": "/{version}"}]}, "/search"),
        ({"basePath": 7, "servers": "x"}, "/search"),
    ],
)
def test_what_stands_before_every_path(base: dict[str, Any], path: str) -> None:
    """The base path of a document's second version, or the first server of its third, belongs to each path."""
    document = {**post({"properties": {"query": STRING}}), **base}
    assert [request.path for request in requests(document)] == [path]
    assert [request.path for request in requests(document, path)] == [path]
