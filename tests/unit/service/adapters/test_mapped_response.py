"""Bodies of mapped APIs that are not one plain JSON answer: streams, columns, rows, and errors behind a status 200."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from mapped_api import adapter, mapped
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.service.adapters import mapped_response
from raggate.service.adapters.mapped_response import body_of
from tables import each_row
from tries import tried

CASE = Case(id="c1", question="Where?", answerable=True)
HIT = {"id": "1", "path": "a.md", "text": "x"}
CHUNKS = {"id": "id", "rel_path": "path", "text": "text"}


def read(body: object, **response: Any) -> Response:
    settings = {"chunks": {"list": "hits", **CHUNKS}, **response}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return adapter(mapped(response=settings)).parse(data, CASE)


@each_row(
    ("body", "errors", "said"),
    [
        ({"data": None, "errors": [{"message": "no field 'x'"}]}, None, "the API reports an error: \"no field 'x'\""),
        ({"hits": [HIT], "errors": [{"message": {"a": 1}}]}, None, 'reports an error: \'{"message":{"a":1}}\''),
        ({"hits": [HIT], "failed": 2}, "failed", "reports an error: '2'"),
        ({"hits": [HIT], "shards": {"failures": [{"reason": "r"}]}}, "shards.failures", '{"reason":"r"}'),
        ({"hits": [HIT], "late": True}, "late", "reports an error: 'true'"),
    ],
)
def test_an_error_behind_status_200_is_no_answer(body: object, errors: str | None, said: str) -> None:
    """What GraphQL, or a path that is named, reports as an error fails the call, whatever else the body holds."""
    with pytest.raises(ValueError, match="reports an error") as caught:
        read(body, errors=errors)
    assert said in str(caught.value)


@each_row(
    ("body", "errors"),
    [
        ({"hits": [HIT], "errors": []}, None),
        ({"hits": [HIT], "errors": ["deprecated"]}, None),
        ({"hits": [HIT], "errors": [{"message": "x"}]}, "failed"),
        ({"hits": [HIT], "failed": {}}, "failed"),
    ],
)
def test_no_error_is_none(body: object, errors: str | None) -> None:
    """Nothing, none and what is not in the shape of an error leave the answer as it is."""
    assert [chunk.chunk_id for chunk in read(body, errors=errors).chunks] == ["1"]


def test_lines_of_json_are_a_list() -> None:
    """Without a kind the lines are the chunks themselves; with one, each kind has its list."""
    lines = b'{"id":"1","path":"a.md","text":"x"}\n\n{"id":"2","path":"b.md","text":"y"}\r\n'
    plain = read(lines, stream=True, chunks={"list": "$", **CHUNKS})
    assert [chunk.rel_path for chunk in plain.chunks] == ["a.md", "b.md"]
    told = b'{"type":"docs","hits":[{"id":"1","path":"a.md","text":"x"}]}\n'
    told += b'{"type":"token","t":"A"}\n{"type":"token","t":"B"}'
    chunks = {"list": "docs[*].hits[*]", **CHUNKS}
    by = read(told, stream="type", chunks=chunks, answer="token[*].t")
    assert (by.answer, [chunk.chunk_id for chunk in by.chunks]) == ("AB", ["1"])


def test_events_have_the_name_they_are_sent_under() -> None:
    """Data of several lines is one, text that is no JSON stays text, and the last event needs no blank line."""
    sent = (
        b'\xef\xbb\xbf: hello\nevent: sources\nid: 7\ndata: [{"id":"1","path":"a.md",\ndata: "text":"x"}]\n\n'
        b"event: token\r\ndata: Under \r\n\r\nevent:token\ndata: the mat\n\nretry: 3\n\nevent: nothing\n\ndata: [DONE]"
    )
    assert body_of(sent, True) == {
        "sources": [[{"id": "1", "path": "a.md", "text": "x"}]],
        "token": ["Under ", "the mat"],
        "message": ["[DONE]"],
    }
    chunks = {"list": "sources[0]", **CHUNKS}
    response = read(sent, stream=True, chunks=chunks, answer="token[*]")
    assert (response.answer, response.chunks[0].rel_path) == ("Under the mat", "a.md")


SOURCES = json.dumps({"type": "sources", "docs": [HIT]})
GONE = '{"type": "error", "message": "the model is gone"}'


@each_row(
    ("sent", "stream"),
    [
        (f"event: sources\ndata: {SOURCES}\n\nevent: error\ndata: {GONE}\n\n", True),
        (f"data: {SOURCES}\n\nevent: error\ndata: {GONE}\n\n", "type"),
        (f"data: {SOURCES}\n\ndata: {GONE}\n\n", "type"),
        (f"{SOURCES}\n{GONE}\n", "type"),
    ],
)
def test_an_error_in_the_stream_fails_the_call(sent: str, stream: str | bool) -> None:
    """A stream that ends in an event, or a document, of the name `error` is no answer, whatever came before."""
    with pytest.raises(ValueError, match="reports an error: 'the model is gone'"):
        read(sent.encode(), stream=stream, chunks={"list": "sources[0].docs", **CHUNKS})


def test_streams_are_asked_for() -> None:
    """An API that can answer in several ways is told which, unless the configuration says so itself."""
    settings = mapped(response__stream=True)
    assert adapter(settings).call(CASE, "m").headers["Accept"].startswith("text/event-stream, ")
    own = mapped(response__stream=True, headers={"accept": "x/y"})
    assert "Accept" not in adapter(own).call(CASE, "m").headers


def test_a_stream_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small documents are refused, not collected."""
    monkeypatch.setattr(mapped_response, "MAX_DOCUMENTS", 2)
    with pytest.raises(ValueError, match="at most 2 documents"):
        body_of(b"1\n2\n3\n", True)


def test_columns_are_rows() -> None:
    """Lists that run side by side become chunks, named as the configuration names them."""
    body = {"ids": [["1", "2"]], "metas": [[{"path": "a.md"}, {"path": "b.md"}]], "texts": [["x", "y"]]}
    columns = {"id": "ids[0]", "meta": "metas[0]", "text": "texts[0]"}
    chunks = {"list": columns, "id": "id", "rel_path": "meta.path", "text": "text"}
    found = read(body, chunks=chunks).chunks
    assert [(chunk.chunk_id, chunk.rel_path, chunk.text) for chunk in found] == [("1", "a.md", "x"), ("2", "b.md", "y")]
    with pytest.raises(ValueError, match=r"texts\[0\]: expected as many entries as ids\[0\], which has 2, found 1"):
        read({**body, "texts": [["x"]]}, chunks=chunks)
    with pytest.raises(ValueError, match=r"texts\[0\]: expected a list, found nothing"):
        read({**body, "texts": []}, chunks=chunks)


def test_rows_are_read_by_position() -> None:
    """A table whose first rows are its head is a list from a place on, and its cells are known by number."""
    body = [[0, 1], [[[2], [["_id", "Int"], ["path", "Text"]], [7, "a.md"], [8, "b.md"]]]]
    chunks = {"list": "[1][0][2:]", "id": "[0]", "rel_path": "[1]"}
    found = read(body, chunks=chunks, errors="[0][2]").chunks
    assert [(chunk.chunk_id, chunk.rel_path) for chunk in found] == [("7", "a.md"), ("8", "b.md")]


SIGNS = st.sampled_from([b"data: ", b"event: x", b"\n", b"\n\n", b"\r", b"{", b'"a":1}', b"[]", b"null", b"\xff", b":"])


@tried(40)
@given(st.lists(SIGNS, max_size=20).map(b"".join) | st.binary(max_size=60))
def test_arbitrary_bytes_are_read_or_refused(body: bytes) -> None:
    """Whatever comes, it is a response or a ValueError."""
    for stream in (True, "a"):
        try:
            read(body, stream=stream, chunks={"list": "x[*]", **CHUNKS}, answer="message[*]")
        except ValueError:
            continue
