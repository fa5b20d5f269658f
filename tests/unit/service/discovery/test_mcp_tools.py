"""The tools of an MCP server -> those that search; a result -> the ways to read it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from raggate.service.discovery.mcp_tools import asking, readings, searching
from tables import each_row

TEXT = {"type": "string"}
NOTES = ("Keys.md", "work/Keys.md")


def tool(name: str, required: tuple[str, ...] = (), hints: dict[str, Any] | None = None, **properties: Any) -> Any:
    schema = {"type": "object", "properties": properties or {"query": TEXT}, "required": list(required)}
    return {"name": name, "inputSchema": schema, "annotations": hints or {}}


@each_row(
    ("name", "searches"),
    [
        ("search_notes", True),
        ("notes-retrieve", True),
        ("SearchURLs", True),
        ("search_and_replace", False),
        ("delete_by_query", False),
        ("research_plan", False),
    ],
)
def test_a_tool_is_called_by_its_name_alone(name: str, searches: bool) -> None:
    """One that says that it searches, and by no word that it writes."""
    assert bool(searching([tool(name)])) == searches


def test_a_tool_that_says_that_it_writes_is_not_called() -> None:
    """Its own hint counts more than its name."""
    assert searching([tool("search", hints={"readOnlyHint": False})]) == []
    assert searching([tool("search", hints={"readOnlyHint": True})]) != []
    assert searching([tool("search", hints={"destructiveHint": True})]) == []
    # of a tool that only reads the other hint says nothing
    assert searching([tool("search", hints={"readOnlyHint": True, "destructiveHint": True})]) != []


@each_row(
    ("listed", "arguments"),
    [
        (tool("s", query=TEXT, limit={"type": "integer"}), {"query": "{question}", "limit": "{k}"}),
        (tool("s", ("phrase",), phrase=TEXT, lang=TEXT), {"phrase": "{question}"}),
        (tool("s", ("query", "kind"), query=TEXT, kind={"enum": ["note"]}), {"query": "{question}", "kind": "note"}),
        (tool("s", ("query", "user"), query=TEXT, user=TEXT), None),
        (tool("s", ("one", "two"), one=TEXT, two=TEXT), None),
        (
            tool("s", query=TEXT, output_format={"enum": ["text", "json"]}),
            {"query": "{question}", "output_format": "json"},
        ),
        ({"name": "s"}, None),
        ({"name": 7, "inputSchema": {"properties": {"query": TEXT}}}, None),
    ],
)
def test_the_arguments_of_a_question(listed: Any, arguments: Any) -> None:
    """Question and count by their names, or the only text that is required; what else is required has a value."""
    made = asking(listed)
    assert (made.arguments if made else None) == arguments


def blocks(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts]}


def test_every_way_to_read_a_result() -> None:
    """Structured content comes first, then JSON in the text, then the blocks."""
    result = {**blocks('{"b": 2}'), "structuredContent": {"a": 1}}
    assert list(readings(result, "s", ())) == [
        ({}, {"a": 1}),
        ({"text": "json"}, {"b": 2}),
        ({"text": "blocks"}, [{"b": 2}]),
    ]


@each_row(
    ("mark", "template"), [("File: ", "File: {path}\n{text}"), ("", "{path}\n{text}"), ("{a} ", "{{a}} {path}\n{text}")]
)
def test_texts_that_begin_with_a_note_are_split(mark: str, template: str) -> None:
    """What stands before the paths of the notes sets them apart; the longest path counts."""
    *_, (way, root) = readings(blocks(f"{mark}Keys.md\nunder the mat", f"{mark}work/Keys.md\nlost"), "s", NOTES)
    assert way == {"text": template}
    assert root == [{"path": "Keys.md", "text": "under the mat"}, {"path": "work/Keys.md", "text": "lost"}]


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.just("query"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "inputSchema", "properties", "required", "type", "text", "query", "$ref", "anyOf"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["name", "inputSchema", "annotations"]), JSON))
def test_whatever_a_server_lists(listed: Any) -> None:
    """Any tool is one that can be asked, or none."""
    assert len(searching([listed])) <= 1


@given(st.dictionaries(st.sampled_from(["content", "structuredContent"]), JSON))
def test_whatever_a_tool_answers(result: Any) -> None:
    """Any result is read in some ways, or in none."""
    assert all("text" in way or not way for way, _ in readings(result, "s", NOTES))
