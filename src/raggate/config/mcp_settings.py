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
from raggate.config.service_settings import PLACEHOLDER, SentVariable, SettingsModel, check_headers, names
from raggate.config.values import Text

ToolName = Annotated[Text, Field(min_length=1, max_length=200)]
READINGS = ("json", "blocks")
"""Ways to read the text of a result, beside a template."""


def _no_placeholders(arguments: dict[str, Any]) -> dict[str, Any]:
    if any(list(names(leaf)) for leaf in leaves(arguments) if isinstance(leaf, str)):
        raise ValueError("expected no placeholders, as no question is asked")
    return arguments


def cut_by(template: str) -> tuple[str, list[tuple[str, str]]]:
    """Return what a block begins with, and its parts in order: each with its name and what stands behind it."""
    pieces, owners = [""], list[str]()
    position = 0
    for match in PLACEHOLDER.finditer(template):
        pieces[-1] += template[position : match.start()]
        position = match.end()
        if match[1] is None:
            pieces[-1] += match[0][0]
        else:
            owners.append(match[1])
            pieces.append("")
    pieces[-1] += template[position:]
    return pieces[0], list(zip(owners, pieces[1:], strict=True))


def _reading(written: str) -> str:
    if written in READINGS:
        return written
    named = list(names(written))
    if not named or len(set(named)) < len(named) or not all(named):
        raise ValueError('expected `json`, `blocks`, or names of the parts of a block, such as "File: {path}\\n{text}"')
    if not all(behind for _, behind in cut_by(written)[1][:-1]):
        raise ValueError("expected something between two parts, which tells where the first one ends")
    return written


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
    text: Annotated[Text, Field(max_length=1000), AfterValidator(_reading)] | None = None
    """How the text of a result is read. `json`: as JSON, even when there is structured content. `blocks`: each text
    block is one hit of the list `$`, a mapping if it is one in JSON. A template such as `"File: {path}\\n{text}"`: each
    block that begins so is one hit with these parts; others, such as a headline, are left out. Default: read
    `structuredContent`, or without it the JSON in the only text block."""
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
        if not any("question" in names(leaf) for leaf in leaves(self.arguments) if isinstance(leaf, str)):
            raise ValueError("expected {question} in 'arguments'")
        return self
