"""Two configurations -> the settings by which less is judged after the second. What is not judged is not gated."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.config.judge_settings import JudgeBudget, Judges
from raggate.config.schema import Config

_FEWER_REPLIES = ("retries", "call_timeout", "total_timeout")
_BUDGET = tuple(JudgeBudget.model_fields)
_NO_LIMIT = float("inf")


def looser_judges(before: Config, now: Config) -> Iterator[str]:
    """Name the keys, written with dots. Another judge is no such thing: it measures something else."""
    if before.judges is None:
        return
    if now.judges is None:
        yield "judges"
        return
    yield from (f"judges.{key}" for key in _looser(before.judges, now.judges))


def _looser(before: Judges, now: Judges) -> Iterator[str]:
    if set(now.allow_unpinned) - set(before.allow_unpinned):
        yield "allow_unpinned"
    if set(before.scores) - set(now.scores):
        yield "scores"
    if before.mode != now.mode == "replay":
        yield "mode"
    yield from (name for name in _FEWER_REPLIES if getattr(now, name) < getattr(before, name))
    if now.min_coverage < before.min_coverage:
        yield "min_coverage"
    if before.canary is not None and (now.canary is None or now.canary.floor < before.canary.floor):
        yield from ("canary", "canary.floor")
    for name in _BUDGET:
        limits = (getattr(settings.budget, name) for settings in (before, now))
        was, is_now = (_NO_LIMIT if limit is None else limit for limit in limits)
        if is_now < was:
            yield f"budget.{name}"
