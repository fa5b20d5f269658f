"""Results of a tool: which value the field paths are applied to, and what is no result."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.service.mcp.protocol import problem, root_of
from raggate.service.misses import Missed
from tables import each_row


def text(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in texts], **more}


WITH_PARTS = "File: {path}\n{rest}<m>{meta}</m>"


@each_row(
    ("result", "reading", "root"),
    [
        ({"structuredContent": {"hits": []}}, None, {"hits": []}),
        (text("[1]", structuredContent={"a": 1}), None, {"a": 1}),
        (text("[1]", structuredContent={"a": 1}), "json", [1]),
        (text('{"hits": []}', resultType="complete"), None, {"hits": []}),
        ({"content": [{"type": "image", "data": ""}, {"type": "text", "text": "{}"}]}, None, {}),
        (text(), "blocks", []),
        (text('{"a": 1}', "plain", "[1]", "{half"), "blocks", [{"a": 1}, "plain", "[1]", "{half"]),
        (
            text("2 results", 'File: a.md\nx <m>{"n": 1}</m>', "File: b.md\ny"),
            WITH_PARTS,
            [{"path": "a.md", "rest": "x ", "meta": {"n": 1}}, {"path": "b.md"}],
        ),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "file:///a.md", "text": "x"}},
                    {"type": "resource_link", "uri": "file:///b.md"},
                    {"type": "audio"},
                ]
            },
            "blocks",
            [{"uri": "file:///a.md", "text": "x"}, {"type": "resource_link", "uri": "file:///b.md"}],
        ),
    ],
)
def test_what_is_read(result: dict[str, Any], reading: str | None, root: Any) -> None:
    """Structured content, the JSON of the text, or each block as a hit, as the settings say."""
    assert root_of(result, "search", reading) == root


@each_row(
    ("result", "said"),
    [
        (text("index\ngone", isError=True), "the tool 'search' says that it failed: index gone"),
        (text("{}", isError=True, structuredContent={"hits": []}), "says that it failed: {}"),
        (
            {"resultType": "input_required"},
            "returns 'input_required' instead of a result, and raggate cannot answer that",
        ),
        ({}, "expected structuredContent, or one text block of JSON, found 0 text blocks"),
        (text("{}", "{}"), "found 2 text blocks (`ask.text: blocks` reads each as a hit)"),
        (text("Nothing."), "content[].text: expected JSON, found 'Nothing.'"),
        (text("[" * 500 + "]" * 500), "nested too deeply: at most 200 levels"),
        ({"content": {}}, "content: expected a list of at most 1000 blocks"),
        ({"content": [7]}, "content[0]: expected a mapping, found 7"),
        (text(*["{}"] * 1001), "content: expected a list of at most 1000 blocks, found 1001"),
    ],
)
def test_what_is_no_result_is_refused(result: dict[str, Any], said: str) -> None:
    """An error of the tool, a question back, and what cannot be read are never an empty answer."""
    with pytest.raises((Missed, ValueError)) as caught:
        root_of(result, "search")
    assert said in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("text"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "type", "text", "isError", "resource", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError", "resultType"]), JSON))
def test_any_result_is_read_or_refused(result: dict[str, Any]) -> None:
    """Whatever a server sends, a value comes of it, or a reason."""
    for reading in (None, "json", "blocks", WITH_PARTS):
        with suppress(Missed, ValueError):
            json.dumps(root_of(result, "search", reading))


TOOL = {"name": "search", "inputSchema": {"properties": {"query": {}, "limit": {}}, "required": ["query"]}}
OPEN = {"name": "open", "inputSchema": {**TOOL["inputSchema"], "additionalProperties": True}}  # type: ignore[dict-item]


@each_row(
    ("wanted", "arguments", "said"),
    [
        ("search", ["query"], ""),
        ("open", ["query", "anything"], ""),
        ("bare", ["anything"], ""),
        ("serch", ["query"], "the server has no tool 'serch', it has bare, open, search. Did you mean 'search'?"),
        ("search", ["query", "limits"], "has no argument 'limits', it has limit, query. Did you mean 'limit'?"),
        ("search", ["limit"], "the tool 'search' also needs query"),
    ],
)
def test_what_does_not_fit_is_said(wanted: str, arguments: list[str], said: str) -> None:
    """A tool that is not there, an argument that it does not have, and one that it needs are named."""
    found = problem([TOOL, OPEN, {"name": "bare"}, {"name": 7}], wanted, arguments)
    assert said in found
    assert bool(found) == bool(said)
