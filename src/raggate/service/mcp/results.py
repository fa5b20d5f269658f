"""The result of a tool -> the JSON value that the field paths are applied to. Pure."""

from __future__ import annotations

from typing import Any

from raggate.config.mcp_settings import Between, Blocks
from raggate.service.mcp.messages import Message
from raggate.service.misses import Missed, miss
from raggate.text.field_paths import kind_of
from raggate.text.jsonio import loads
from raggate.text.quote import cut, quoted

MAX_BLOCKS = 1_000
"""Of one result."""


def root_of(result: Message, tool: str, *, text: bool = False, blocks: Blocks | None = None) -> Any:
    """Return what a result says.

    Args:
        result: of `tools/call`, untrusted.
        text: whether the text is read although there is structured content.
        blocks: how each block is an item of a list; None where all of it is one value.

    Raises:
        Missed: when the tool says that it failed, or asks for something instead.
        ValueError: when what it says cannot be read. Untrusted text.
    """
    if result.get("isError"):
        reason = next((block["text"] for block in _blocks(result) if type(block.get("text")) is str), "")
        words = f": {cut(reason, limit=200)}" if reason.strip() else ""
        raise Missed(miss("status", f"the tool {quoted(tool)} says that it failed{words}"))
    if result.get("resultType", "complete") != "complete":
        kind = quoted(result["resultType"], limit=60)
        raise Missed(
            miss(
                "schema",
                f"the tool {quoted(tool)} returns {kind} instead of a result, and there is nobody to answer it",
            )
        )
    if blocks is not None:
        return [item for block in _blocks(result) if (item := _item(block, blocks)) is not None]
    structured = result.get("structuredContent")
    if structured is not None and not text:
        return structured
    return _json(result)


def _json(result: Message) -> Any:
    texts = [block["text"] for block in _blocks(result) if _is_text(block)]
    if len(texts) != 1:
        raise ValueError(
            f"content: expected structuredContent, or one text block of JSON; found {len(texts)} text blocks"
            + (" (`ask.mcp.blocks: {}` reads each as a hit)" if texts else "")
        )
    try:
        return loads(texts[0])
    except ValueError as error:
        raise ValueError(f"content[].text: expected JSON, found {quoted(texts[0], limit=60)}: {error}") from None


def _blocks(result: Message) -> list[Message]:
    content = result.get("content", [])
    if not isinstance(content, list) or len(content) > MAX_BLOCKS:
        size = f"{len(content)} of them" if isinstance(content, list) else kind_of(content)
        raise ValueError(f"content: expected a list of at most {MAX_BLOCKS} blocks, found {size}")
    for position, block in enumerate(content):
        if not isinstance(block, dict):
            raise ValueError(f"content[{position}]: expected a mapping, found {kind_of(block)}")
    return content


def _is_text(block: Message) -> bool:
    return block.get("type") == "text" and type(block.get("text")) is str


def _item(block: Message, settings: Blocks) -> Any:
    """Return the hit that a block is; None where it is none."""
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return block["resource"]
    if block.get("type") == "resource_link":
        return block
    if not _is_text(block):
        return None
    text: str = block["text"]
    if not text.startswith(settings.starts_with or ""):
        return None
    if settings.parts:
        pieces = {name: _piece(text, part) for name, part in settings.parts.items()}
        return {name: _value(piece, (dict, list)) for name, piece in pieces.items() if piece is not None}
    return _value(text, (dict,))


def _piece(text: str, part: Between) -> str | None:
    """Return what stands between two marks; None where one of them is not there."""
    if part.after is not None:
        _, mark, text = text.partition(part.after)
        if not mark:
            return None
    if part.before is not None:
        text, mark, _ = text.partition(part.before)
        if not mark:
            return None
    return text


def _value(text: str, kinds: tuple[type, ...]) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = loads(text)
    except ValueError:
        return text
    return value if isinstance(value, kinds) else text
