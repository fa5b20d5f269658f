"""The adapter `mapped` of an API over HTTP, and of a program behind its standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from raggate.config.mapped_settings import ChunkFields
from raggate.config.schema import Config, load
from tables import each_row

PAGE = Path(__file__).parents[3] / "docs" / "functions.md"
PROGRAM = {"command": {"run": ["search"]}, "stdio": True}
HTTP = {"url": "http://127.0.0.1:1"}
CHUNKS = {"list": "hits", "rel_path": "path"}


def test_the_example_of_the_page_is_a_configuration() -> None:
    """What the page shows is complete and short."""
    whole = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].partition("```")[0]
    assert len(whole.splitlines()) <= 10
    assert load(whole.encode(), "docs/functions.md").ask.path is None


@each_row(
    ("api", "more", "said"),
    [
        (HTTP, {}, "expected ask.path, such as /search"),
        (PROGRAM, {"path": "/search"}, "expected no ask.path with api.stdio"),
        (PROGRAM, {"headers": {"X-A": "b"}}, "expected no ask.headers with api.stdio"),
        (PROGRAM, {"index": {"path": "/", "chunks": "n"}}, "expected no ask.index with api.stdio"),
        (PROGRAM, {"response": {"chunks": CHUNKS, "stream": True}}, "expected no ask.response.stream"),
        (PROGRAM, {"body": {"question": "{question}", "id": 1}}, "remove 'id', which raggate sets itself"),
        (
            {"command": {"run": ["search"]}, "stdio": True},
            {"adapter": "ask", "body": None, "response": None},
            "expected ask.adapter 'mcp' or 'mapped'",
        ),
        (PROGRAM, {"body": {"q": "x"}}, "expected {question} in 'path' or 'body'"),
    ],
)
def test_what_cannot_be_asked_is_refused(api: dict[str, Any], more: dict[str, Any], said: str) -> None:
    """HTTP needs a path, and a program has no keys of HTTP."""
    ask = {"adapter": "mapped", "body": {"question": "{question}"}, "response": {"chunks": CHUNKS}, **more}
    with pytest.raises(ValidationError) as caught:
        Config.model_validate({"vault": {"a": "a"}, "api": api, "ask": ask})
    assert said in str(caught.value)


@each_row(
    ("written", "told", "by_text"),
    [
        (None, None, False),
        ("meta.section", "meta.section", False),
        (["a", "b"], ["a", "b"], False),
        ({"from": "text"}, None, True),
        ({"from": "text", "path": "meta.section"}, "meta.section", True),
        ({"from": "text", "path": ["a", "b"]}, ["a", "b"], True),
    ],
)
def test_where_headings_come_from(written: Any, told: Any, by_text: bool) -> None:
    """A path, several, or the text, which may have a path beside it."""
    fields = ChunkFields.model_validate({**CHUNKS, "text": "text", "heading_path": written})
    assert (fields.told_headings, fields.headings_by_text) == (told, by_text)


@each_row(
    ("more", "said"),
    [
        ({"heading_path": {"from": "title"}}, "expected `from: text`, and beside it at most `path`"),
        ({"heading_path": {"from": "text", "at": "a"}}, "expected `from: text`, and beside it at most `path`"),
        ({"heading_path": {"from": "text", "path": 1}}, "or {from: text}"),
        ({"heading_path": {"from": "text", "path": "other[*].a"}}, "expected 'heading_path' without [*]"),
        ({"heading_path": {"from": "text"}, "text": None}, "expected 'rel_path' and 'text' beside"),
        ({"heading_path": {"from": "text"}, "rel_path": None, "id": "id"}, "expected 'rel_path' and 'text' beside"),
    ],
)
def test_headings_that_come_from_nowhere_are_refused(more: dict[str, Any], said: str) -> None:
    """What is not a path or the text is refused, and so is a text that no field holds."""
    with pytest.raises(ValidationError) as caught:
        ChunkFields.model_validate({**CHUNKS, "text": "text", **more})
    assert said in str(caught.value)
