"""A request for what each chunk of a mapped API holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from mapped_api import adapter, mapped
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call
from raggate.service.adapters.mapped import MAX_CHUNKS
from tables import each_row
from tries import tried

CASE = Case(id="c1", question="Where?", answerable=True, k=5)
Answer = Callable[[Call], Any]


def asked(answer: Answer, **sections: Any) -> tuple[Response, list[Call]]:
    """Ask one question of an API that answers calls so; give the response and the calls."""
    request = {"method": "GET", "path": "/s", "query": {"q": "{question}"}}
    chunks = {"list": "hits", "id": "id", **sections.pop("chunks", {})}
    settings = mapped(ask=request, response={"chunks": chunks}, headers={"X-Key": "k"}, pass_env=[], **sections)
    dialogue = adapter(settings).dialogue(CASE, "hybrid")
    calls = [next(dialogue)]
    while True:
        try:
            calls.append(dialogue.send(json.dumps(answer(calls[-1])).encode()))
        except StopIteration as answered:
            return answered.value, calls


def hits(*ids: int) -> list[dict[str, Any]]:
    """Return chunks of these ids."""
    return [{"id": str(number)} for number in ids]


def test_each_chunk_is_asked_for_its_text() -> None:
    """The text, and the headings, come from a request of its own, in the list's order and with the same headers."""

    def answer(call: Call) -> Any:
        name = call.path.removeprefix("/chunks/")
        return {"hits": hits(1, 2)} if call.path == "/s" else {"data": {"text": f"text {name}", "in": ["A", name]}}

    chunk = {"path": "/chunks/{id}", "text": "data.text", "heading_path": "data.in"}
    response, calls = asked(answer, chunk=chunk)
    assert [(found.text, found.heading_path) for found in response.chunks] == [
        ("text 1", "# A > ## 1"),
        ("text 2", "# A > ## 2"),
    ]
    assert [(call.path, call.headers["X-Key"]) for call in calls] == [
        ("/s", "k"),
        ("/chunks/1", "k"),
        ("/chunks/2", "k"),
    ]


def test_each_document_is_asked_once_for_its_path() -> None:
    """Where an answer names documents by ids alone, each is looked up, once for all of its chunks."""

    def answer(call: Call) -> Any:
        if call.path == "/s":
            return {"hits": [{"doc": 7, "text": "x"}, {"doc": "b", "text": "y"}, {"doc": 7, "text": "z"}]}
        return {"path": f"/v/work/{call.path[-1]}.md"}

    chunks = {"id": None, "doc_id": "doc", "text": "text", "path_prefix": "/v/{vault}/"}
    response, calls = asked(answer, chunks=chunks, chunk={"path": "/docs/{doc_id}", "rel_path": "path"})
    assert [call.path for call in calls] == ["/s", "/docs/7", "/docs/b"]
    rows = [(chunk.rel_path, chunk.vault, chunk.doc_id, chunk.text) for chunk in response.chunks]
    assert rows == [("7.md", "work", "7", "x"), ("b.md", "work", "b", "y"), ("7.md", "work", "7", "z")]
    assert len({chunk.chunk_id for chunk in response.chunks}) == 3


def test_an_id_cannot_lead_to_another_path() -> None:
    """What stands for a placeholder is one step of the path, whatever the API calls its chunk."""
    hostile = {"hits": [{"id": "../../admin?x=1#"}]}
    _, calls = asked(lambda call: hostile if call.path == "/s" else {"t": ""}, chunk={"path": "/c/{id}", "text": "t"})
    assert calls[1].path == "/c/..%2F..%2Fadmin%3Fx%3D1%23"


def test_a_text_that_is_not_there_fails_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk whose text cannot be read is no chunk without text; and only so many are asked for."""
    chunk = {"path": "/c/{id}", "text": "data.text"}
    with pytest.raises(ValueError, match=r"data\.text: expected text, found nothing"):
        asked(lambda call: {"hits": hits(1)} if call.path == "/s" else {"data": {}}, chunk=chunk)
    monkeypatch.setattr("raggate.service.adapters.mapped.MAX_CHUNKS", 1)
    with pytest.raises(ValueError, match="at most 1 chunks where each is asked for, found 2"):
        asked(lambda _: {"hits": hits(1, 2)}, chunk=chunk)
    assert MAX_CHUNKS >= 100


@each_row(
    ("body", "errors"),
    [({"t": "", "errors": [{"message": "no shard"}]}, None), ({"t": "", "failed": "no shard"}, "failed")],
)
def test_an_error_beside_a_text_fails_the_question(body: object, errors: str | None) -> None:
    """What the body of a chunk reports as an error behind a status 200 is one, as in the answer itself."""
    settings = mapped(
        response={"chunks": {"list": "hits", "id": "id"}, "errors": errors}, chunk={"path": "/c/{id}", "text": "t"}
    )
    dialogue = adapter(settings).dialogue(CASE, "hybrid")
    next(dialogue)
    dialogue.send(b'{"hits": [{"id": "1"}]}')
    with pytest.raises(ValueError, match="the API reports an error: 'no shard'"):
        dialogue.send(json.dumps(body).encode())


@each_row(
    ("sections", "said"),
    [
        ({"chunk": {"path": "/c", "text": "t"}}, "expected {id} or another placeholder"),
        ({"chunk": {"path": "/c/{question}", "text": "t"}}, "found {question}"),
        ({"chunk": {"path": "/c/{id}"}}, "expected at least one of 'text', 'heading_path' and 'rel_path'"),
        ({"chunk": {"path": "/c/{id}", "text": "t"}, "chunks": {"text": "x"}}, "'text' either in"),
        ({"chunk": {"path": "/c/{id}", "rel_path": "t"}, "chunks": {"rel_path": "x"}}, "'rel_path' either in"),
        (
            {"chunk": {"path": "/c/{id}", "text": "t"}, "chunks": {"path_prefix": "/"}},
            "'rel_path' beside 'path_prefix'",
        ),
        ({"chunk": {"path": "/c/{id}", "rel_path": "p"}, "chunks": {"id": None, "doc_id": "d"}}, "chunks.id' beside"),
        (
            {"chunk": {"path": "/c/{id}", "text": "t"}, "chunks": {"id": None, "doc_id": "d"}},
            "'response.chunks.id' beside",
        ),
        ({"chunk": {"path": "/c/{id}", "text": "t", "body": {"a": 1}}}, "no 'body' with GET"),
    ],
)
def test_settings_that_make_no_sense_are_refused(sections: dict[str, Any], said: str) -> None:
    """A request for a chunk that could not be made, or says nothing, is an error when the configuration is read."""
    with pytest.raises(ValidationError) as caught:
        asked(lambda _: {"hits": []}, **sections)
    assert said in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["hits", "id", "t"]), inner),
    max_leaves=8,
)


@tried(40)
@given(st.lists(JSON | st.just({"hits": [{"id": "1"}]}), min_size=1, max_size=6))
def test_whatever_comes_it_ends(answers: list[Any]) -> None:
    """Any answers give a response or a ValueError, after a bounded number of calls."""
    left = iter([*answers, *[{"hits": []}] * 300])
    chunk = {"path": "/c/{id}", "text": "t"}
    try:
        _, calls = asked(lambda _: next(left), chunk=chunk)
        assert len(calls) < 300
    except ValueError:
        pass
