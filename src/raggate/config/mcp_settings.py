"""How a tool of an MCP server is asked and read: the `ask.mcp` section of raggate.yml as frozen models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from raggate.config.effects import Looser, more
from raggate.config.mapped_settings import (
    IndexFields,
    ResponseFields,
    UrlPath,
    json_template,
    leaves,
)
from raggate.config.service_settings import SentVariable, SettingsModel, check_headers, names
from raggate.config.values import Text

ToolName = Annotated[Text, Field(min_length=1, max_length=200)]
Mark = Annotated[Text, Field(min_length=1, max_length=1000)]


def _no_placeholders(arguments: dict[str, Any]) -> dict[str, Any]:
    if any(list(names(leaf)) for leaf in leaves(arguments) if isinstance(leaf, str)):
        raise ValueError("expected no placeholders, as no question is asked")
    return arguments


class Between(SettingsModel):
    """The part of a text block between two marks."""

    after: Mark | None = None
    """The mark before it. Default: the start of the block."""
    before: Mark | None = None
    """The mark after it. Default: the end of the block."""

    @model_validator(mode="after")
    def _marked(self) -> Between:
        if self.after is None and self.before is None:
            raise ValueError("expected at least one of 'after' and 'before'")
        return self


class Blocks(SettingsModel):
    """Read each text block as one hit, in the list `$`: as a mapping if it is one in JSON, otherwise as text."""

    starts_with: Mark | None = None
    """The start of a block that is a hit. Other blocks, such as a headline, are left out. Default: all are hits."""
    parts: dict[Text, Between] = {}
    """Cut each block into a mapping with these keys. A part that is a mapping or a list in JSON is read as that."""


class IndexTool(IndexFields):
    """A tool for the state of the index. At least one of the first three keys is needed."""

    tool: ToolName
    """Its name."""
    arguments: Annotated[dict[str, Any], AfterValidator(_no_placeholders)] = {}
    """Its arguments."""


class Mcp(SettingsModel):
    """A search tool of an MCP server: how to call it and how to read its result.

    raggate talks to the server over HTTP, or with `api.command.stdio` over its standard input and output.
    """

    tool: ToolName
    """The name of the tool."""
    arguments: Annotated[dict[str, Any], AfterValidator(json_template)]
    """Its arguments, with placeholders as in `ask.mapped.ask.body`."""
    path: UrlPath = "/mcp"
    """The path of the server over HTTP."""
    headers: dict[Text, Text] = {}
    """Headers of every request over HTTP. For variables of `pass_env` they may use `{env.NAME}`."""
    pass_env: Annotated[list[SentVariable], Looser(more)] = []
    """Variables of raggate's own environment that headers may use. The server sees them, and may repeat them."""
    text: bool = False
    """Read the JSON in the text of the result even when there is structured content."""
    blocks: Blocks | None = None
    """Read each text block of the result as one hit. Default: read `structuredContent`, or without it the JSON in the
    only text block."""
    index: IndexTool | None = None
    """The state of its index. Default: complete as soon as the server lists the tool."""
    response: ResponseFields
    """The fields of the result."""

    @model_validator(mode="after")
    def _sound(self) -> Mcp:
        check_headers(self.headers, (), self.pass_env, "headers")
        own = next((name for name in self.headers if name.lower() == "accept" or name.lower().startswith("mcp-")), None)
        if own is not None:
            raise ValueError(f"headers: expected none that the protocol sets, found {own!r}")
        if self.response.stream is not None:
            raise ValueError("response.stream: expected none, as a result of a tool is one value")
        if self.text and self.blocks is not None:
            raise ValueError("expected at most one of 'text' and 'blocks'")
        if not any("question" in names(leaf) for leaf in leaves(self.arguments) if isinstance(leaf, str)):
            raise ValueError("expected {question} in 'arguments'")
        return self
