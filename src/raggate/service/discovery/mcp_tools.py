"""The tools that an MCP server lists, and what one of them answered -> how to ask and to read it. Pure.

Both are hostile input. A tool that nobody named is only called if its name says that it searches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from raggate.base import jsonio
from raggate.base.quote import cut
from raggate.service.discovery.openapi import MAX_PROPERTIES, filled, is_name, listed, mapping
from raggate.service.discovery.shapes import ENDPOINTS, WRITES, words_in
from raggate.service.mcp.protocol import Message, root_of

_WRITES = WRITES | {"build", "execute", "move", "post", "put", "set"}
NO_QUESTION = "takes no question, or needs a value that raggate does not know"
MAX_BLOCKS = 50
"""Of a result that are looked at for what stands before the path of a note."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool, and the arguments that ask it a question, as the configuration has them."""

    name: str
    arguments: Mapping[str, Any]


def searching(tools: Sequence[Message]) -> list[Tool]:
    """Return the tools that say by their names that they search, and by no word that they write; likeliest first."""
    ranked = [
        (place, number, tool)
        for number, message in enumerate(tools)
        if not _writes(message)
        and (place := _likelihood(message)) is not None
        and (tool := asking(message)) is not None
    ]
    return [tool for _, _, tool in sorted(ranked, key=lambda item: item[:2])]


def asking(message: Message) -> Tool | None:
    """Return a listed tool with the arguments of a question; None where it has no place for one."""
    name, schema = message.get("name"), message.get("inputSchema")
    arguments = filled(schema, schema, alone=True)
    if not is_name(name) or arguments is None:
        return None
    # many can answer in words or in JSON
    properties = mapping(mapping(schema).get("properties"))
    kinds = {name: mapping(kind) for name, kind in islice(properties.items(), MAX_PROPERTIES) if is_name(name)}
    formats = (name for name, kind in kinds.items() if "format" in name.lower() and "json" in listed(kind.get("enum")))
    return Tool(name=str(name), arguments={**arguments, **dict.fromkeys(islice(formats, 1), "json")})


def left_out(tools: Sequence[Message]) -> Iterator[str]:
    """Name the tools that say by their names that they search and are not called all the same, each with why."""
    for message in tools:
        if _likelihood(message) is not None and _writes(message):
            yield f"{message['name']} may write, as its name or annotations suggest"
        elif _likelihood(message) is not None and asking(message) is None:
            yield f"{message['name']} {NO_QUESTION}"


def _likelihood(message: Message) -> int | None:
    """Return how unlikely it is that a tool searches, by its name; None if its name does not say so."""
    # stricter than the name of an endpoint, as a call of a tool may do anything: `research` does not search
    places = [place for place, usual in enumerate(ENDPOINTS) if any(word.startswith(usual) for word in _words(message))]
    return min(places, default=None)


def _writes(message: Message) -> bool:
    """Return whether a tool says that it writes, by its name or by its hints."""
    hints = mapping(message.get("annotations"))
    reads = hints.get("readOnlyHint")
    hinted = reads is False or (hints.get("destructiveHint") is True and reads is not True)
    return hinted or not _WRITES.isdisjoint(_words(message))


def _words(message: Message) -> list[str]:
    name = message.get("name")
    return words_in(str(name)) if is_name(name) else []


def readings(result: Message, tool: str, notes: Collection[str]) -> Iterator[tuple[dict[str, str], Any]]:
    """Yield every way to read a result, each as the settings of `ask` that stand for it, and what is read."""
    for way in _ways(result, notes):
        try:
            yield way, root_of(result, tool, way.get("text"))
        except ValueError:
            continue


def in_words(result: Message) -> str:
    """Return the beginning of a result that cannot be read, for a message."""
    texts = [block["text"] for block in map(mapping, listed(result.get("content"))) if type(block.get("text")) is str]
    if not texts:
        return cut(result.get("structuredContent") or result.get("content"), limit=120)
    try:
        jsonio.loads(texts[0])
    except ValueError:
        return f"its text is not JSON. It begins with {cut(texts[0], limit=120)}"
    return cut(texts[0], limit=120)


def _ways(result: Message, notes: Collection[str]) -> Iterator[dict[str, str]]:
    yield {}
    if result.get("structuredContent") is not None:
        yield {"text": "json"}
    yield {"text": "blocks"}
    mark = _mark(result, notes)
    if mark is not None:
        begin = mark.replace("{", "{{").replace("}", "}}")
        yield {"text": f"{begin}{{path}}\n{{text}}"}


def _mark(result: Message, notes: Collection[str]) -> str | None:
    """Return what stands before the path of a note that ends the first line of blocks; None if nothing common does."""
    blocks = [mapping(block).get("text") for block in listed(result.get("content"))[:MAX_BLOCKS]]
    lines = [text.partition("\n")[0] for text in blocks if isinstance(text, str) and "\n" in text]
    named = [(line, [path for path in notes if line.endswith(path)]) for line in lines]
    marks = {line.removesuffix(max(paths, key=len)) for line, paths in named if paths}
    return marks.pop() if len(marks) == 1 else None
