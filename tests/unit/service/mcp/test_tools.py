"""Tools as a server lists them, held against what is configured."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from raggate.service.mcp.tools import problem
from tables import each_row

TOOL = {"name": "search", "inputSchema": {"properties": {"query": {}, "limit": {}}, "required": ["query"]}}
OPEN = {"name": "open", "inputSchema": {**TOOL["inputSchema"], "additionalProperties": True}}  # type: ignore[dict-item]


@each_row(
    ("wanted", "arguments", "said"),
    [
        ("search", ["query"], ""),
        ("search", ["limit", "query"], ""),
        ("open", ["query", "anything"], ""),
        ("bare", ["anything"], ""),
        ("serch", ["query"], "the server has no tool 'serch'; did you mean 'search'?; it has bare, open, search"),
        ("xyz", ["query"], "the server has no tool 'xyz'; it has bare, open, search"),
        ("search", ["query", "limits"], "has no argument 'limits'; did you mean 'limit'?; it has limit, query"),
        ("search", ["limit"], "the tool 'search' also needs query"),
        ("open", [], "the tool 'open' also needs query"),
    ],
)
def test_what_does_not_fit_is_said(wanted: str, arguments: list[str], said: str) -> None:
    """A tool that is not there, an argument that it does not have, and one that it needs are named."""
    found = problem([TOOL, OPEN, {"name": "bare"}, {"name": 7}], wanted, arguments)
    assert said in found
    assert bool(found) == bool(said)


def test_a_server_without_tools_says_so() -> None:
    """A long list is cut, and an empty one is called that."""
    assert problem([], "search", []).endswith("it has none")
    assert problem([{"name": f"t{number}"} for number in range(30)], "search", []).endswith(" and 10 more")


ANY = st.recursive(
    st.none() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(ANY, ANY, ANY)
def test_any_schema_is_looked_at(properties: Any, required: Any, additional: Any) -> None:
    """A schema of any shape is a reason or none, and never a crash."""
    schema = {"properties": properties, "required": required, "additionalProperties": additional}
    assert isinstance(problem([{"name": "search", "inputSchema": schema}], "search", ["query"]), str)
