"""How the questions are asked: the section `ask` of raggate.yml."""

from __future__ import annotations

import re
from operator import gt, lt
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from raggate.base import plugins
from raggate.base.quote import suggestion
from raggate.config.effects import OTHER, Looser, fewer
from raggate.config.mapped_settings import Mapped, ResponseFields
from raggate.config.mcp_settings import Mcp
from raggate.config.probe_settings import Probes
from raggate.config.question_settings import NO_MODE, distinct_modes
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name, Seconds

OWN_ADAPTERS = ("ask", "mapped", "mcp")
"""Those of the shelf `service/adapters`, which is not known here; a test compares them."""
ADAPTER_NAMES = (*OWN_ADAPTERS, *plugins.names(plugins.ADAPTERS))


TRACE_ID = "{trace_id}"
"""Stands for the id of a trace in the address of a viewer."""
# what may stand in an address, and neither ends a Markdown link nor begins a placeholder
_OF_URL = r"[A-Za-z0-9._~:/?#@!$&*+,;=%-]*"
_TRACE_URL = re.compile(
    rf"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?[/?#]{_OF_URL}{re.escape(TRACE_ID)}{_OF_URL}"
)


def _known_adapter(name: str) -> str:
    if name not in ADAPTER_NAMES:
        raise ValueError(f"expected one of {', '.join(ADAPTER_NAMES)}{suggestion(name, ADAPTER_NAMES)}")
    return name


def _trace_url(template: str) -> str:
    if len(template) > 500 or not _TRACE_URL.fullmatch(template):
        raise ValueError(
            f"expected an address of http or https with {TRACE_ID} once, behind the host, such as "
            f"https://traces.example/trace/{TRACE_ID}; other braces, quotes and brackets are written as %7B and so on"
        )
    return template


TraceUrl = Annotated[str, AfterValidator(_trace_url)]


def _slower(before: float | None, now: float | None) -> bool:
    # an API that is asked less at once answers better
    return now is not None and (before is None or now < before)


class Ask(SettingsModel):
    """How the questions are asked."""

    adapter: Annotated[Name, AfterValidator(_known_adapter), WithJsonSchema({"enum": [*ADAPTER_NAMES]}), OTHER] = "ask"
    """The protocol the API speaks."""
    modes: Annotated[list[Name], Field(min_length=1), AfterValidator(distinct_modes), OTHER, Looser(fewer)] = ["hybrid"]
    """Retrieval modes; every question is asked in each of them. If `mapped` or `mcp` sends no `{mode}`, the default is
    the one mode `no-mode`."""
    k: Annotated[int, Field(ge=1, le=1000), OTHER] = 10
    """How many chunks are asked for. An API may return more in its debug list, or cap it."""
    retrieval_only: Annotated[bool, OTHER] = True
    """Ask the API to skip generation."""
    concurrency: Annotated[int, Field(ge=1, le=256), Looser(gt)] = 8
    """Questions asked at the same time."""
    rate: Annotated[float | None, Field(gt=0, le=10_000, allow_inf_nan=False), Looser(_slower)] = None
    """Questions started per second, at most; null for no limit."""
    timeout: Annotated[Seconds, Looser(lt)] = 60
    """Seconds for one question, all retries included."""
    repeat: Annotated[int, Field(ge=1, le=20), Looser(gt)] = 1
    """How many times each question is asked; its value is the mean over its answers. This multiplies the calls."""
    repeat_sample: Annotated[int, Field(ge=0, le=1000)] = 10
    """How many questions are asked twice when `repeat` is 1, to see whether the API always ranks alike."""
    trace_url: TraceUrl | None = None
    """Where a trace is seen, such as `https://traces.example/trace/{trace_id}`: reports link a lost question to it."""
    probes: Probes = Probes()
    """Extra questions, asked after the suite, for invariants that need them; docs/invariants.md lists what they
    cost."""
    mapped: Annotated[Mapped | None, OTHER] = None
    """Requests and responses of the adapter `mapped`; docs/adapters.md has examples."""
    mcp: Annotated[Mcp | None, OTHER] = None
    """Calls and results of the adapter `mcp`; docs/mcp.md has examples."""

    @property
    def mapping(self) -> ResponseFields | None:
        """The field paths of a response; None when the adapter has its own protocol."""
        section = self.mapped or self.mcp
        return None if section is None else section.response

    @property
    def reads_headings(self) -> bool:
        """Whether the heading path of a chunk is read from an answer."""
        return self.mapping is None or self.mapping.chunks.heading_path is not None

    @property
    def runs_program(self) -> bool:
        """Whether the adapter is one of another package, which runs `api.program`."""
        return self.adapter not in OWN_ADAPTERS

    @property
    def reads_abstention(self) -> bool:
        """Whether an answer can say that the API abstained, by itself or by being blank."""
        fields = self.mapping
        if fields is None or (fields.answer is not None and not self.retrieval_only):
            return True
        return fields.abstained is not None and not (fields.abstained.empty and self.retrieval_only)

    @model_validator(mode="before")
    @classmethod
    def _without_a_mode(cls, values: object) -> object:
        """Name the mode of an API that is sent none, unless the file names it."""
        if not isinstance(values, dict) or "modes" in values:
            return values
        section = values.get("mapped") or values.get("mcp")
        return values if section is None or "{mode}" in str(section) else {**values, "modes": [NO_MODE]}

    @model_validator(mode="after")
    def _keys_that_belong_together(self) -> Ask:
        if self.rate is not None and self.runs_program:
            raise ValueError(f"expected no 'rate', as the adapter {self.adapter} asks in bulk: remove it")
        for name in ("mapped", "mcp"):
            if (self.adapter == name) != (getattr(self, name) is not None):
                raise ValueError(
                    f"expected both `ask.adapter: {name}` and the section `ask.{name}`, or neither: add what is "
                    "missing or remove the other"
                )
        return self
