"""The tools of an MCP server, as it lists them, held against the tool and the arguments that are configured. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raggate.service.mcp.messages import Message
from raggate.text.nearest import nearest
from raggate.text.quote import cut, quoted

SHOWN = 20
"""Names in a message."""


def problem(tools: Sequence[Message], wanted: str, arguments: Collection[str]) -> str:
    """Return why a tool cannot be called with arguments of these names, or nothing when it can.

    Only names are looked at: a required one that is not given, and one that is given and that the tool does not name,
    which many servers drop without a word.

    Args:
        tools: as `tools/list` gives them, untrusted.
    """
    by_name = {name: tool for tool in tools if isinstance(name := tool.get("name"), str)}
    if wanted not in by_name:
        return f"the server has no tool {quoted(wanted)}{_meant(wanted, by_name)}; it has {_listed(by_name)}"
    schema = by_name[wanted].get("inputSchema")
    if not isinstance(schema, dict):
        return ""
    properties, required = schema.get("properties"), schema.get("required")
    known = [*properties] if isinstance(properties, dict) else []
    if schema.get("additionalProperties", False) is False and isinstance(properties, dict):
        for name in (name for name in arguments if name not in known):
            there = f"it has {_listed(known)}"
            return f"the tool {quoted(wanted)} has no argument {quoted(name)}{_meant(name, known)}; {there}"
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    missing = [name for name in needed if name not in arguments]
    return f"the tool {quoted(wanted)} also needs {_listed(missing)}" if missing else ""


def _meant(wanted: str, known: Collection[str]) -> str:
    like = nearest(wanted, known)
    return f"; did you mean {quoted(like)}?" if like else ""


def _listed(names: Collection[str]) -> str:
    shown = [cut(name, limit=60) for name in sorted(names)[:SHOWN]]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(shown)}{more}" if shown else "none"
