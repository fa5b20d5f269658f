"""How the questions are asked: the section `ask` of raggate.yml."""

from __future__ import annotations

from operator import gt, lt
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from raggate.base import plugins
from raggate.base.quote import suggestion
from raggate.config.effects import OTHER, Looser, fewer, lower
from raggate.config.mapped_settings import (
    HEADER_PLACEHOLDERS,
    BodyTemplate,
    Index,
    ResponseFields,
    TextReading,
    ToolName,
    UrlTemplate,
    leaves,
    rule_of,
)
from raggate.config.probe_settings import Principal
from raggate.config.question_settings import NO_MODE, distinct_modes
from raggate.config.service_settings import SettingsModel, check_headers, names, passes_more
from raggate.config.values import Name, Seconds, Text

OWN_ADAPTERS = ("ask", "mapped", "mcp")
"""Those of the shelf `service/adapters`, which is not known here; a test compares them."""
ADAPTER_NAMES = (*OWN_ADAPTERS, *plugins.names(plugins.ADAPTERS))

_KEYS = {
    "mapped": ("path", "body", "headers", "index", "response"),
    "mcp": ("path", "tool", "body", "headers", "text", "index", "response"),
}
"""The keys of this section that only some adapters have."""

MCP_PATH = "/mcp"
"""The path of an MCP server whose configuration names none."""


def _known_adapter(name: str) -> str:
    if name not in ADAPTER_NAMES:
        raise ValueError(f"expected one of {', '.join(ADAPTER_NAMES)}{suggestion(name, ADAPTER_NAMES)}")
    return name


class Ask(SettingsModel):
    """How the questions are asked."""

    adapter: Annotated[Name, AfterValidator(_known_adapter), WithJsonSchema({"enum": [*ADAPTER_NAMES]}), OTHER] = "ask"
    """The protocol the API speaks."""
    modes: Annotated[list[Name], Field(min_length=1), AfterValidator(distinct_modes), OTHER, Looser(fewer)] = ["hybrid"]
    """Retrieval modes; every question is asked in each of them. If the adapter is `mapped` or `mcp`, and no `{mode}` is
    sent, the default is the one mode `no-mode`."""
    k: Annotated[int, Field(ge=1, le=1000), OTHER] = 10
    """How many chunks are asked for. An API may return more in its debug list, or cap it."""
    retrieval_only: Annotated[bool, OTHER] = True
    """Ask the API to skip generation."""
    concurrency: Annotated[int, Field(ge=1, le=256), Looser(gt)] = 8
    """Questions asked at the same time."""
    rate: Annotated[float | None, Field(gt=0, le=10_000, allow_inf_nan=False), Looser(lower)] = None
    """Questions started per second, at most; null for no limit."""
    timeout: Annotated[Seconds, Looser(lt)] = 60
    """Seconds for one question, all retries included."""
    repeat: Annotated[int, Field(ge=1, le=20), Looser(gt)] = 1
    """How many times each question is asked; its value is the mean over its answers. This multiplies the calls."""
    repeat_sample: Annotated[int, Field(ge=0, le=1000)] = 10
    """How many questions are asked twice if `repeat` is 1, to see whether the API always ranks alike."""
    principals: Annotated[dict[Name, Principal], Field(max_length=20), OTHER] = {}
    """Users and what each may see, by name: for `invariants.principals_isolated`. A few questions are asked again as
    each of them, after the suite."""
    path: Annotated[UrlTemplate | None, OTHER] = None
    """Of `mapped`: the path and its query, as in `/search?q={question}&n={k}`; values of placeholders are
    percent-encoded. A parameter that is only a placeholder is left out when the case has no value for it. Of `mcp`: the
    path of the server, `/mcp` by default. A program that is spoken to by `api.stdio` has none."""
    tool: Annotated[ToolName | None, OTHER] = None
    """Of `mcp`: the name of the tool that searches."""
    body: Annotated[BodyTemplate | None, OTHER] = None
    """The JSON body, which makes the request a POST. Of `mcp`: the arguments of the tool. `{question}`, `{k}`,
    `{mode}`, `{vaults}`, `{folders}`, `{detail}` and `{case_id}` stand for what is asked. A text that is a placeholder
    and nothing else becomes the value itself, a number or a list, and is left out when the case has no value for it.
    Inside a longer text it is text, and lists are joined by commas. `{{` and `}}` are braces."""
    headers: Annotated[dict[Text, Text], OTHER, Looser(passes_more)] = {}
    """Headers of every request. `{env.NAME}` stands for a variable of raggate's own environment, which the API sees
    and may repeat. Those of `mapped` may use `{k}` and `{mode}` too."""
    text: Annotated[TextReading | None, OTHER] = None
    """Of `mcp`: how the text of a result is read. `json`: as JSON, even when there is structured content. `blocks`:
    each text block is one hit of the list `$`, a mapping if it is one in JSON. A template such as
    `"File: {path}\\n{text}"`: each block that begins so is one hit with these parts; others, such as a headline, are
    left out. Default: read `structuredContent`, or without it the JSON in the only text block."""
    index: Annotated[Index | None, OTHER] = None
    """The state of the index. Default: complete as soon as the API is healthy, or the server lists the tool."""
    response: Annotated[ResponseFields | None, OTHER] = None
    """The fields of the answer, for `mapped` and `mcp`; docs/adapters.md and docs/mcp.md have examples."""

    @property
    def fields(self) -> ResponseFields:
        """The field paths of a response, of an adapter that needs them."""
        if self.response is None:
            raise TypeError(f"the adapter {self.adapter} reads no field paths")
        return self.response

    @property
    def reads_headings(self) -> bool:
        """Whether the heading path of a chunk is read from an answer."""
        return self.response is None or self.response.chunks.heading_path is not None

    @property
    def headings_by_text(self) -> bool:
        """Whether headings that an answer does not tell are found by the place of the text in the note."""
        return self.response is not None and self.response.chunks.headings_by_text

    @property
    def runs_program(self) -> bool:
        """Whether the adapter is one of another package, which runs `api.command` for the questions."""
        return self.adapter not in OWN_ADAPTERS

    @property
    def reads_abstention(self) -> bool:
        """Whether an answer can say that the API abstained, by itself or by being blank."""
        fields = self.response
        if fields is None or (fields.answer is not None and not self.retrieval_only):
            return True
        return fields.abstained is not None and not (self.retrieval_only and rule_of(fields.abstained).values == [])

    @model_validator(mode="before")
    @classmethod
    def _without_a_mode(cls, values: object) -> object:
        """Name the mode of an API that is sent none, unless the file names it."""
        if not isinstance(values, dict) or "modes" in values:
            return values
        sent = [values.get(key) for key in ("path", "body", "headers")]
        described = values.get("adapter") in _KEYS
        return {**values, "modes": [NO_MODE]} if described and "{mode}" not in str(sent) else values

    @model_validator(mode="after")
    def _keys_of_the_adapter(self) -> Ask:
        if self.rate is not None and self.runs_program:
            raise ValueError(f"expected no 'rate', as the adapter {self.adapter} asks in bulk: remove it")
        own = _KEYS.get(self.adapter, ())
        for key in dict.fromkeys(key for keys in _KEYS.values() for key in keys):
            if key in own or getattr(self, key) == type(self).model_fields[key].default:
                continue
            knowing = " or ".join(f"`adapter: {name}`" for name, keys in _KEYS.items() if key in keys)
            raise ValueError(f"expected {knowing} with '{key}', found `adapter: {self.adapter}`")
        if own and self.response is None:
            raise ValueError(f"expected 'response' with `adapter: {self.adapter}`, which says how an answer is read")
        return self

    @model_validator(mode="after")
    def _sendable(self) -> Ask:
        mcp = self.adapter == "mcp"
        check_headers(self.headers, () if mcp else HEADER_PLACEHOLDERS, "headers")
        for name, principal in self.principals.items():
            check_headers(principal.headers, (), f"principals.{name}.headers")
        if self.adapter in _KEYS:
            texts = ("" if mcp else self.path or "", *(leaf for leaf in leaves(self.body) if isinstance(leaf, str)))
            if not any("question" in names(text) for text in texts):
                places = "'body'" if mcp else "'path' or 'body'"
                raise ValueError(f"expected {{question}} in {places}")
        needed, other = ("tool", "path") if mcp else ("path", "tool")
        if self.index is not None and (getattr(self.index, needed) is None or getattr(self.index, other) is not None):
            raise ValueError(f"index: expected '{needed}', and no '{other}', with `adapter: {self.adapter}`")
        return self._of_mcp() if mcp else self

    def _of_mcp(self) -> Ask:
        if self.tool is None:
            raise ValueError("expected 'tool', the name of the tool that searches, with `adapter: mcp`")
        if self.path is not None and any(names(self.path)):
            raise ValueError("path: expected no placeholders, as it is the path of the server")
        own = next((name for name in self.headers if name.lower() == "accept" or name.lower().startswith("mcp-")), None)
        if own is not None:
            raise ValueError(f"headers: expected none that the protocol sets, found {own!r}")
        if self.fields.stream is not None:
            raise ValueError("response.stream: expected none, as a result of a tool is one value")
        return self
