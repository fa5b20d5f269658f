"""The adapter `mcp`: the example of the docs is a whole configuration, and what cannot be is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from raggate.config.schema import Config, load
from tables import each_row

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
MCP = {
    "tool": "search",
    "body": {"query": "{question}"},
    "response": {"chunks": {"list": "hits", "rel_path": "path"}},
}
STDIO = {"api": {"command": {"run": ["notes-mcp"]}, "stdio": True}}
HTTP = {"api": {"url": "http://127.0.0.1:1"}}


def config(mcp: dict[str, Any] | None = None, **more: Any) -> Config:
    root: dict[str, Any] = {"vault": {"work": "notes"}, **HTTP, **more}
    root["ask"] = {"adapter": "mcp", **MCP, **(mcp or {}), **more.get("ask", {})}
    return Config.model_validate(root)


def test_the_example_of_the_page_is_a_configuration() -> None:
    """It has ten lines at most, is complete, and what else the page shows fits into it."""
    whole, *parts = [part.partition("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```yaml\n")[1:]]
    assert len(whole.splitlines()) <= 10
    assert load(whole.encode(), "docs/mcp.md").ask.adapter == "mcp"
    base = whole.partition("  response:")[0]
    for part in parts:
        document = part if "vault:" in part else base + part if "response:" in part else whole + part
        assert load(document.encode(), "docs/mcp.md").ask.adapter == "mcp"


@each_row(
    ("mcp", "more", "said"),
    [
        ({"body": {"query": "{quesion}"}}, {}, "Did you mean {question}"),
        ({"body": {"query": "key"}}, {}, "expected {question} in 'body'"),
        ({"text": "xml"}, {}, "expected `json`, `blocks`, or names of the parts of a block"),
        ({"text": "{path}{text}"}, {}, "expected something between two parts"),
        ({"headers": {"Mcp-Session-Id": "x"}}, {}, "expected none that the protocol sets"),
        ({"headers": {"X": "{k}"}}, {}, "expected placeholders among none, found {k}"),
        ({"path": "/{question}"}, {}, "path: expected no placeholders"),
        ({"tool": None}, {}, "expected 'tool', the name of the tool that searches"),
        ({"index": {"path": "/s", "tool": "s", "chunks": "n"}}, {}, "index: expected 'tool', and no 'path'"),
        ({"index": {"tool": "status"}}, {}, "at least one of 'documents', 'chunks' and 'indexing'"),
        ({"response": {**MCP["response"], "stream": True}}, {}, "response.stream: expected none"),  # type: ignore[dict-item]
        ({"path": "/other"}, STDIO, "expected no ask.path with api.stdio"),
        ({"headers": {"X-A": "b"}}, STDIO, "expected no ask.headers with api.stdio"),
        (
            {},
            {**STDIO, "ask": {"principals": {"anna": {"headers": {"X-User": "a"}, "sees": []}}}},
            "expected no ask.principals.anna.headers with api.stdio",
        ),
        ({}, {"api": {"container": {"image": "a", "port": 1}, "stdio": True}}, "container: remove 'port'"),
        ({}, {"api": {"container": {"image": "a"}}}, "expected 'port', at which the API listens, or `stdio: true`"),
        ({}, {"api": {"url": "http://a:1", "stdio": True}}, "stdio: remove it, as an API at 'url' is asked over HTTP"),
        (
            {},
            {"ask": {"adapter": "ask"}},
            "expected `adapter: mapped` or `adapter: mcp` with 'body', found `adapter: ask`",
        ),
    ],
)
def test_what_cannot_be_is_refused(mcp: dict[str, Any], more: dict[str, Any], said: str) -> None:
    """A section that could not be asked by, and what has no meaning over standard input and output, are errors."""
    with pytest.raises(ValidationError) as caught:
        config(mcp, **more)
    assert said in str(caught.value)
