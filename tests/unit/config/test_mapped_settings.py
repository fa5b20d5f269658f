"""The adapters `mapped`, of an API or a program, and `mcp`, of a server: what the pages show, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from raggate.config.mapped_settings import ChunkFields
from raggate.config.schema import Config, load
from tables import each_row

DOCS = Path(__file__).parents[3] / "docs"
PROGRAM = {"command": {"run": ["search"]}, "stdio": True}
HTTP = {"url": "http://127.0.0.1:1"}
CHUNKS = {"list": "hits", "rel_path": "path"}
ASK: dict[str, dict[str, Any]] = {
    "mapped": {"body": {"question": "{question}"}, "response": {"chunks": CHUNKS}},
    "mcp": {"tool": "search", "body": {"query": "{question}"}, "response": {"chunks": CHUNKS}},
}


@each_row("page", ["functions.md", "mcp.md"])
def test_the_examples_of_a_page_are_configurations(page: str) -> None:
    """The first has ten lines at most and is complete, and what else the page shows of it fits into it."""
    whole, *parts = [part.partition("```")[0] for part in (DOCS / page).read_text("utf-8").split("```yaml\n")[1:]]
    assert len(whole.splitlines()) <= 10
    assert load(whole.encode(), page).ask.adapter in ASK
    base = whole.partition("  response:")[0]
    for part in parts if page == "mcp.md" else ():
        document = part if "vault:" in part else base + part if "response:" in part else whole + part
        assert load(document.encode(), page).ask.adapter == "mcp"


def principal() -> dict[str, Any]:
    return {"principals": {"anna": {"headers": {"X-User": "a"}, "sees": []}}}


@each_row(
    ("adapter", "api", "ask", "said"),
    [
        ("mapped", HTTP, {}, "expected ask.path, such as /search"),
        ("mapped", PROGRAM, {"path": "/search"}, "expected no ask.path with api.stdio"),
        ("mapped", PROGRAM, {"headers": {"X-A": "b"}}, "expected no ask.headers with api.stdio"),
        ("mapped", PROGRAM, {"index": {"path": "/", "chunks": "n"}}, "expected no ask.index with api.stdio"),
        ("mapped", PROGRAM, {"response": {"chunks": CHUNKS, "stream": True}}, "expected no ask.response.stream"),
        ("mapped", PROGRAM, {"body": {"question": "{question}", "id": 1}}, "remove 'id', which raggate sets itself"),
        ("mapped", PROGRAM, {"body": {"q": "x"}}, "expected {question} in 'path' or 'body'"),
        ("ask", PROGRAM, {}, "expected ask.adapter 'mcp' or 'mapped'"),
        ("ask", HTTP, {"body": {}}, "expected `adapter: mapped` or `adapter: mcp` with 'body', found `adapter: ask`"),
        ("mcp", HTTP, {"body": {"query": "{quesion}"}}, "Did you mean {question}"),
        ("mcp", HTTP, {"body": {"query": "key"}}, "expected {question} in 'body'"),
        ("mcp", HTTP, {"text": "xml"}, "expected `json`, `blocks`, or names of the parts of a block"),
        ("mcp", HTTP, {"text": "{path}{text}"}, "expected something between two parts"),
        ("mcp", HTTP, {"headers": {"Mcp-Session-Id": "x"}}, "expected none that the protocol sets"),
        ("mcp", HTTP, {"headers": {"X": "{k}"}}, "expected placeholders among none, found {k}"),
        ("mcp", HTTP, {"path": "/{question}"}, "path: expected no placeholders"),
        ("mcp", HTTP, {"tool": None}, "expected 'tool', the name of the tool that searches"),
        ("mcp", HTTP, {"index": {"path": "/s", "tool": "s", "chunks": "n"}}, "index: expected 'tool', and no 'path'"),
        ("mcp", HTTP, {"index": {"tool": "s"}}, "at least one of 'documents', 'chunks' and 'indexing'"),
        ("mcp", HTTP, {"response": {"chunks": CHUNKS, "stream": True}}, "response.stream: expected none"),
        ("mcp", PROGRAM, {"path": "/other"}, "expected no ask.path with api.stdio"),
        ("mcp", PROGRAM, principal(), "expected no ask.principals.anna.headers with api.stdio"),
        ("mcp", {"container": {"image": "a", "port": 1}, "stdio": True}, {}, "container: remove 'port'"),
        ("mcp", {"container": {"image": "a"}}, {}, "expected 'port', at which the API listens, or `stdio: true`"),
        ("mcp", {**HTTP, "stdio": True}, {}, "stdio: remove it, as an API at 'url' is asked over HTTP"),
    ],
)
def test_what_cannot_be_asked_is_refused(adapter: str, api: dict[str, Any], ask: dict[str, Any], said: str) -> None:
    """HTTP needs a path, a program has no keys of HTTP, and a server of tools has a tool and its own headers."""
    section = {"adapter": adapter, **ASK.get(adapter, {}), **ask}
    with pytest.raises(ValidationError) as caught:
        Config.model_validate({"vault": {"a": "a"}, "api": api, "ask": section})
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
