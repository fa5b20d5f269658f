"""Who grades the answers, and within which limits: the section `judges` of raggate.yml."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import gt
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from raggate.config.effects import Looser, fewer, lower, more
from raggate.config.service_settings import SentVariable, SettingsModel
from raggate.config.values import HttpUrl, RelativePath, Text

Endpoint = Literal["local", "openai", "anthropic", "github", "other"]
"""Whose server a judge runs on: one's own (`local`), a provider's at its usual address, or anybody's else (`other`)."""

JudgedScore = Literal[
    "groundedness",
    "correctness",
    "faithfulness",
    "context_relevancy",
    "abstention",
    "recency_conflict",
    "retrieval_labels",
    "grounding_labels",
    "generation_labels",
]
IN_POINTS = ("groundedness", "correctness")
"""Scores from 0 to 5. The metrics that they become are called so too."""

JudgingMode = Literal["auto", "replay", "refresh"]

UNPINNED = "unpinned"
"""The build of a model that has no version which stays the same."""
SECONDS = 3600
"""For all requests of a run, waits included. Answers left after that are not judged."""
MAX_TOKENS = 2000
"""Token limit of a reply."""
CANARY_FLOOR = 0.4
"""The agreement with people (kappa with quadratic weights) that judges must have to decide anything."""
MIN_COVERAGE = 0.9
"""The share of the answers that must have been judged before a score can decide anything."""

PROVIDERS: tuple[str, ...] = ("openai", "anthropic", "github")
"""What stands before the colon of a model's name; a name without one is a model on a server of one's own."""

_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "github": "https://models.github.ai/inference",
}
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "github": "GITHUB_TOKEN"}

# a day (2024-08-06, 20241022) or a digest; a shorter number may be a size, and `latest` moves
_DAY = r"20[0-9]{2}(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12][0-9]|3[01])"
_IMMUTABLE = re.compile(rf"(?<![0-9]){_DAY}(?![0-9])|(?:sha256:|@)[0-9a-f]{{12,64}}(?![0-9a-f])")
_BUILD = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,199}")


def is_immutable(name: str) -> bool:
    """Return whether the name of a model says which version it is, for ever: whether a day or a digest stands in it."""
    return _IMMUTABLE.search(name) is not None


def _model_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,199}", name):
        raise ValueError("expected the name of a model such as openai:gpt-4o-2024-08-06 or qwen2.5-14b-instruct")
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS and not model:
        raise ValueError(f"expected the name of a model after {name!r}")
    return name


def _immutable(build: str) -> str:
    if build != UNPINNED and not _BUILD.fullmatch(build):
        raise ValueError("expected a name that stays one build, such as sha256:9f2c… of the weights, or `unpinned`")
    return build


ModelName = Annotated[str, AfterValidator(_model_name)]
Dollars = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]


class JudgeModelSettings(SettingsModel):
    """One model that grades answers."""

    model: ModelName
    """`openai:…`, `anthropic:…`, `github:…` (GitHub Models), or the name used by your own server."""
    base_url: HttpUrl | None = None
    """Where the server is. Needed for a name without provider; the providers' own addresses otherwise."""
    build: Annotated[Text, AfterValidator(_immutable)] | None = None
    """The immutable version or the hash of the weights, if the name does not contain one. `unpinned` for a model that
    has none: its scores may change although nobody changed anything."""
    answers_as: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """The model name in the server's replies if it is not `model`, such as a file name or an alias."""
    api_key_env: SentVariable | None = None
    """The variable that holds the key. Default: OPENAI_API_KEY, ANTHROPIC_API_KEY; none for a server of your own."""
    json_schema: bool = True
    """Ask the server for replies that follow a JSON schema; `false` for a server that refuses such requests."""
    price: Annotated[list[Dollars], Field(min_length=2, max_length=2)] | None = None
    """Its price for the budget and the report, in US dollars per million tokens read and written, as in `[2.5, 10]`;
    null if nobody pays by the token."""

    @property
    def provider(self) -> str:
        """What stands before the colon, where that is a provider; empty for a server of one's own."""
        provider, colon, _ = self.model.partition(":")
        return provider if colon and provider in PROVIDERS else ""

    @property
    def pinned(self) -> bool:
        """Whether name or build says which version it is, for ever."""
        return bool(self.version) or is_immutable(self.model)

    @property
    def version(self) -> str:
        """The build that it names; empty for none."""
        return self.build if self.build is not None and self.build != UNPINNED else ""

    @property
    def endpoint(self) -> Endpoint:
        """Whose server it runs on."""
        if self.provider == "openai":
            return "openai" if self.base_url is None else "other"
        if self.provider == "anthropic":
            return "anthropic" if self.base_url is None else "other"
        return "github" if self.provider == "github" else "local"

    @property
    def served_as(self) -> str:
        """Its name as the server knows it."""
        return self.model.removeprefix(f"{self.provider}:") if self.provider else self.model

    @property
    def address(self) -> str:
        """Where the server is."""
        return self.base_url or _ADDRESSES[self.provider]

    @property
    def key_variable(self) -> str:
        """The variable that holds the key; empty for none."""
        return self.api_key_env or _KEY_VARIABLES.get(self.provider, "")

    @property
    def identity(self) -> dict[str, str]:
        """What tells it from another judge, and must be the same for two replies to be by the same; not the address."""
        return {"model": self.model, "build": self.version, "endpoint": self.endpoint}

    @model_validator(mode="after")
    def _has_an_address(self) -> JudgeModelSettings:
        if not self.provider and self.base_url is None:
            raise ValueError(f"expected 'base_url' with {self.model!r}: a name without provider is on your own server")
        if self.provider == "github" and (self.base_url is not None or self.api_key_env is not None):
            raise ValueError("expected neither 'base_url' nor 'api_key_env': the job's token goes to GitHub alone")
        return self


def _unpins(before: Iterable[JudgeModelSettings], now: Iterable[JudgeModelSettings]) -> bool:
    """Return whether a model may now change that could not before, or was not there."""
    return more(*({judge.model for judge in judges if not judge.pinned} for judges in (before, now)))


class Judges(SettingsModel):
    """Models that grade the answers. Without this section no model is asked."""

    models: Annotated[list[JudgeModelSettings], Field(min_length=1, max_length=7), Looser(_unpins)]
    """The model that grades; several are a panel, whose points are the median, and for yes or no the majority."""
    scores: Annotated[list[JudgedScore], Field(min_length=1), Looser(fewer)] = ["groundedness", "correctness"]
    """The scores to give."""
    claims: Literal["whole", "each"] = "whole"
    """Judge groundedness and faithfulness of the whole answer (`whole`), or claim by claim (`each`)."""
    canary: Annotated[RelativePath | None, Looser(lambda before, now: before is not None and now is None)] = None
    """A file of answers that people graded, as docs/judges.md describes it; the judges grade them again in every judged
    run. A score without any such answer decides nothing."""
    spot_check: Annotated[int, Field(ge=0, le=1000)] = 0
    """How many answers are judged a second time, by `spot_model`, or by the first judge asked in other words."""
    spot_model: JudgeModelSettings | None = None
    """The model that judges the answers of `spot_check`."""
    cassette: RelativePath = "golden/judge_cassette.jsonl"
    """The file of recorded replies, to be committed: the same request, word for word, is answered from it."""
    mode: Annotated[JudgingMode, Looser(lambda before, now: before != now == "replay")] = "auto"
    """`auto` calls the model for replies that the cassette lacks, `replay` never calls, `refresh` always does."""
    max_calls: Annotated[int, Field(ge=0), Looser(gt)] = 2000
    """Requests of one run, retries included. Answers beyond this limit or the next are not judged."""
    max_usd: Annotated[float | None, Field(ge=0, allow_inf_nan=False), Looser(lower)] = None
    """US dollars of one run, by the models' `price`; null for as many as the calls cost."""
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Requests at the same time."""

    def asked(self) -> dict[str, JudgeModelSettings]:
        """Return every model that is asked anything, by the key where it stands in this section."""
        every = {f"models[{number}]": judge for number, judge in enumerate(self.models)}
        if self.spot_model is not None:
            every["spot_model"] = self.spot_model
        return every

    @model_validator(mode="after")
    def _consistent(self) -> Judges:
        asked = [tuple(judge.identity.values()) for judge in self.asked().values()]
        panel = {*asked[: len(self.models)]}
        if len(panel) < len(self.models):
            raise ValueError("expected every model once: at another address it is the same judge")
        if {*asked} == panel and len(asked) > len(self.models):
            raise ValueError("expected another model in 'spot_model' than those that judge all answers")
        if self.spot_model is not None and not self.spot_check:
            raise ValueError("expected 'spot_check: 20', or another number of answers, with 'spot_model'")
        if len(set(self.scores)) < len(self.scores):
            raise ValueError("expected every score once")
        for judge in self.asked().values():
            if judge.build is None and not judge.pinned:
                raise ValueError(
                    f"expected 'build' with {judge.model!r}, whose name has no immutable version: name the version, or "
                    "accept with `build: unpinned` that it may change"
                )
            if self.max_usd is not None and judge.price is None:
                raise ValueError(f"expected 'price' with {judge.model!r}: 'max_usd' cannot be kept without")
        return self


def in_git(path: str) -> bool:
    """Return whether a path leads into git's own directory, however a file system that ignores case spells it."""
    return any(part.casefold() == ".git" for part in PurePosixPath(path).parts)
