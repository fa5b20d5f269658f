"""The judges of a configuration, ready to be asked: with their keys, within their limits, from the cassette first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from msgspec import Struct, field

from raggate.config.judge_settings import JudgeModelSettings, Judges
from raggate.judges.ask import Asker, CassetteFirst
from raggate.judges.budget import Budget
from raggate.judges.cassette import Cassette
from raggate.models.judging import JudgeModel, JudgeRequest, NotJudged, Reply, Spending, TokenPrice

T = TypeVar("T")

WATCH_SECONDS = 0.05
"""How often is looked whether somebody wants it to end."""

_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "github": "https://models.github.ai/inference",
}
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "github": "GITHUB_TOKEN"}
_TOKENS_OF_JOBS = ("INPUT_GITHUB-TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_KEY = re.compile(r"[\x21-\x7e]+")


class Bench(Struct, frozen=True, kw_only=True):
    """The ways to ask judges.

    Attributes:
        first: asks the cassette, and then the server.
        fresh: asks the server for whatever this run has not asked it yet, where calls are allowed.
        budget: what calls may take; None where none may be made.
        took: the milliseconds of each request that was sent in this run, by its key.
    """

    first: Asker
    fresh: Asker
    budget: Budget | None = None
    took: Mapping[str, float] = field(default_factory=dict)

    def called(self) -> bool:
        """Return whether any call was made so far."""
        return self.budget is not None and self.budget.spending().calls > 0


Work = Callable[[Bench], Awaitable[T]]
"""What is done with the ways to ask judges."""


def judge_models(settings: Judges) -> tuple[JudgeModel, ...]:
    """Return the judges of the configuration, defaults filled in."""
    return tuple(map(judge_model, settings.models))


def run(
    work: Work[T],
    settings: Judges,
    environment: Mapping[str, str],
    cassette: Cassette,
    *,
    ended: Callable[[], bool] = lambda: False,
) -> tuple[T, Spending]:
    """Do what needs judges, within the limits of the configuration.

    Args:
        settings: the section `judges`.
        cassette: the replies so far; new ones are added as they come.
        ended: says that somebody wants it to end; whatever is under way is then dropped.

    Returns:
        What the work gives, and what it took.

    Raises:
        KeyboardInterrupt: when it was ended.
    """
    outcome = asyncio.run(_run(work, settings, environment, cassette, ended))
    if outcome is None:
        raise KeyboardInterrupt
    return outcome


async def _run(
    work: Work[T],
    settings: Judges,
    environment: Mapping[str, str],
    cassette: Cassette,
    ended: Callable[[], bool],
) -> tuple[T, Spending] | None:
    if settings.mode == "replay":
        asker = CassetteFirst(cassette, None)
        replayed = await _until(work(Bench(first=asker, fresh=asker)), ended)
        return None if replayed is None else (replayed[0], Spending())
    from raggate.judges.client import Client

    budget = Budget(settings.budget)
    async with Client(settings, budget, lambda judge: api_key(judge, environment)) as client:

        async def send(request: JudgeRequest) -> Reply | NotJudged:
            missing = missing_key(request.model, environment)
            return missing or await client.send(request)

        first, fresh = (CassetteFirst(cassette, send, fresh=fresh) for fresh in (False, True))
        done = await _until(work(Bench(first=first, fresh=fresh, budget=budget, took=client.took)), ended)
        return None if done is None else (done[0], budget.spending())


async def _until(work: Awaitable[T], ended: Callable[[], bool]) -> tuple[T] | None:
    """Wait for the work; None when somebody wanted it to end before."""
    task = asyncio.ensure_future(work)
    while not task.done():
        if ended():
            task.cancel()
            return None
        await asyncio.wait([task], timeout=WATCH_SECONDS)
    return (await task,)


def api_key(judge: JudgeModel, environment: Mapping[str, str]) -> str:
    """Return the key for a model; empty where it needs none, or there is none."""
    names = _TOKENS_OF_JOBS if judge.provider == "github" else (judge.key_variable,)
    return next((value for name in names if name and (value := environment.get(name, "").strip())), "")


def missing_key(judge: JudgeModel, environment: Mapping[str, str]) -> NotJudged | None:
    """Say that a model cannot be asked for want of its key."""
    if not judge.key_variable:
        return None
    key = api_key(judge, environment)
    if not key:
        return NotJudged(reason="no_key", detail=f"{judge.key_variable} is empty")
    if not _KEY.fullmatch(key):
        return NotJudged(reason="no_key", detail=f"{judge.key_variable} contains characters that no key can have")
    return None


def judge_model(judge: JudgeModelSettings) -> JudgeModel:
    """Return one judge, defaults filled in."""
    provider = judge.provider
    price = judge.price
    return JudgeModel(
        name=judge.model,
        provider=provider or "openai",
        model=judge.model.removeprefix(f"{provider}:") if provider else judge.model,
        build=judge.build or "",
        endpoint=judge.endpoint,
        answers_as=judge.answers_as or "",
        base_url=judge.base_url or _ADDRESSES[provider],
        key_variable=judge.api_key_env or _KEY_VARIABLES.get(provider, ""),
        price=None if price is None else TokenPrice(input=price.input, output=price.output),
        json_schema=judge.json_schema,
    )
