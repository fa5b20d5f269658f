"""Two configurations -> the settings by which the second lets more through, by what they mean and not how they read.

What stands here, what only makes something else be measured, and what can do neither is listed key by key in
`tests/unit/config/test_every_key.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from operator import gt, lt, ne
from typing import Any

from raggate.config.gate_settings import Rule, Waiver
from raggate.config.judge_settings import JudgeBudget, Judges
from raggate.config.probe_settings import bare_tag, marking
from raggate.config.question_settings import QuestionChoice
from raggate.config.schema import Config
from raggate.config.service_settings import DEFAULT_USER
from raggate.text.headings import inside_place

_FEWER_REPLIES = ("retries", "call_timeout", "total_timeout")
_BUDGET = tuple(JudgeBudget.model_fields)
_NO_LIMIT = float("inf")


_STRICT = ("off", "warn", "error", "fail", "refuse")
_NEVER = float("inf")
_MEASURED = (
    *("suite", "golden", "questions", "vault", "baseline", "judges", "recheck.base", "recheck.image"),
    *("api.command", "api.container", "api.url", "api.program", "api.ready.health_path", "api.ready.index_path"),
    *("ask.adapter", "ask.modes", "ask.k", "ask.retrieval_only", "ask.mapped", "ask.mcp"),
    "ask.probes.principals",
)
_CONTAINER = r"api\.(?:container|(?:command|container)\.services\.[^.]+)"
# how much is granted and how long is waited makes no other answers
_LIMIT = re.compile(
    rf"{_CONTAINER}\.(?:pull|build\.timeout|ready(?:\..+)?|user|read_only|tmpfs|cap_add|memory|cpus|pids|egress)"
    r"|api\.command\.build_timeout"
)


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


def loosened(before: Config, now: Config, keys: Iterable[str]) -> tuple[str, ...]:
    """Name those of the keys by which a configuration lets more through than the one before.

    Args:
        keys: the keys whose values differ, written with dots.
    """
    looser = set(_looser_keys(before, now))
    return tuple(key for key in keys if key in looser)


def remeasured(keys: Iterable[str]) -> tuple[str, ...]:
    """Name those of the keys that differ by which something else is measured, or held against something else.

    Nobody can tell from the configuration alone whether that is easier to pass.
    """
    return tuple(key for key in keys if not _LIMIT.fullmatch(key) and any(_touches(key, part) for part in _MEASURED))


def _touches(key: str, part: str) -> bool:
    return key == part or key.startswith(f"{part}.") or part.startswith(f"{key}.")


def _looser_keys(before: Config, now: Config) -> Iterator[str]:
    for key, looser in _RULES.items():
        if looser(_at(before, key), _at(now, key)):
            yield key
    if now.ask.repeat == 1 and now.ask.repeat_sample < before.ask.repeat_sample:
        yield "ask.repeat_sample"
    for name, rule in before.gate.rules().items():
        lax = _lax(rule, now.gate.rule(name))
        # a rule that is written out on both sides differs by its own keys
        yield from (f"gate.metrics.{name}{inner}" for inner in ("", *(f".{key}" for key in lax)) if lax)
    for name in type(before.invariants).model_fields:
        if _weaker(getattr(before.invariants, name), getattr(now.invariants, name)):
            yield f"invariants.{name}"
    yield from _less_isolated(before, now)
    yield from _less_contained(before, now)
    yield from looser_judges(before, now)
    yield from _fewer_questions(before.questions, now.questions)
    if any(not any(_excuses(old, waiver) for old in before.waivers) for waiver in now.waivers):
        yield "waivers"


def _less_isolated(before: Config, now: Config) -> Iterator[str]:
    """Name what lets private notes pass, or lets a principal see more."""
    principals = now.ask.probes.principals
    for name, principal in before.ask.probes.principals.items():
        kept = principals.get(name)
        key = f"ask.probes.principals.{name}"
        if kept is None:
            yield from (f"{key}{inner}" for inner in ("", ".headers", ".sees", ".vaults"))
        elif _wider(principal.sees, kept.sees):
            yield f"{key}.sees"
    marks = {name.casefold(): values for name, values in now.private.front_matter.items()}
    for name, values in before.private.front_matter.items():
        if _marks_less(values, marks.get(name.casefold())):
            yield f"private.front_matter.{name}"


def _marks_less(before: Sequence[object], now: Sequence[object] | None) -> bool:
    """Return whether a key of front matter marks fewer notes than before: one without values marks by any."""
    if now is None or not now:
        return now is None
    return not before or _fewer(map(marking, before), map(marking, now))


def _less_contained(before: Config, now: Config) -> Iterator[str]:
    """Name what lets the API, or a container beside it, do or get more."""
    for backend in ("command", "program"):
        sides = [getattr(side.api, backend) for side in (before, now)]
        if None not in sides and _more(*(side.pass_env for side in sides)):
            yield f"api.{backend}.pass_env"
    for adapter in ("mapped", "mcp"):
        sides = [getattr(side.ask, adapter) for side in (before, now)]
        if None not in sides and _more(*(side.pass_env for side in sides)):
            yield f"ask.{adapter}.pass_env"
    containers = now.api.containers()
    for place, container in before.api.containers().items():
        kept = containers.get(place)
        for key, looser in _GRANTS.items() if kept is not None else ():
            if hasattr(container, key) and looser(getattr(container, key), getattr(kept, key)):
                yield f"{place}.{key.removesuffix('_bytes')}"


def _fewer_questions(before: QuestionChoice | None, now: QuestionChoice | None) -> Iterator[str]:
    """Name what chooses fewer questions of the same golden set than before, of which there may be more elsewhere."""
    if now is None:
        return
    if before is None:
        yield "questions"
        return
    if before.must_pass > now.must_pass:
        yield "questions.must_pass"
    if _fewer(before.tags, now.tags):
        yield "questions.tags"
    if (before.sample or 0.0) > (now.sample or 0.0):
        yield "questions.sample"


def _at(settings: Config, key: str) -> Any:
    return reduce(getattr, key.split("."), settings)


def _weaker(before: str, now: str) -> bool:
    return _STRICT.index(now) < _STRICT.index(before)


def _more(before: Collection[str], now: Collection[str]) -> bool:
    return bool(set(now) - set(before))


def _fewer(before: Iterable[object], now: Iterable[object]) -> bool:
    return bool(set(before) - set(now))


def _wider(before: Collection[str], now: Collection[str]) -> bool:
    """Return whether some of the places now lie in none of those before."""
    return not all(inside_place(place, before) for place in now)


def _fewer_places(before: Collection[str], now: Collection[str]) -> bool:
    return _wider(now, before)


def _runs_less(before: Collection[str], now: Collection[str]) -> bool:
    """Return whether there are changes that do not run the suite any more; where no path is named, all of them do."""
    return bool(now) and (not before or _fewer_places(before, now))


def _fewer_tags(before: Collection[str], now: Collection[str]) -> bool:
    """Say the same of tags, with and without their mark."""
    return _wider(*(list(map(bare_tag, tags)) for tags in (now, before)))


def _other_set(before: Collection[str], now: Collection[str]) -> bool:
    return set(before) != set(now)


def _other_policy(before: str, now: str) -> bool:
    # each lets something through that the other does not
    return before != now


def _larger_or_none(before: float | None, now: float | None) -> bool:
    return (now or _NEVER) > (before or _NEVER)


def _confirmed_easier(before: int, now: int) -> bool:
    # asked again, a noisy API can pass; the fewer times, the easier
    return 0 < now < (before or _NEVER)


def _slower(before: float | None, now: float | None) -> bool:
    # an API that is asked at no rate of its own is asked by `concurrency`, which may be more or less
    return before is not None and (now is None or now < before)


_RULES: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("gate.slices", "gate.ratchet", "gate.on_removed_cases", "gate.on_vault_change"), _weaker),
    **dict.fromkeys(("gate.tolerance", "gate.max_error_rate", "gate.flip_at"), lt),
    "gate.min_overlap": gt,
    # fewer metrics that are called small can leave some that are, where all were before; more slices have a mean
    # that an added question is held to, of which the worst counts
    **dict.fromkeys(("gate.min_cases", "gate.min_slice"), ne),
    "gate.stale_after_days": _larger_or_none,
    "gate.policy": _other_policy,
    "gate.composite": _other_set,
    "score.k": _fewer,
    "score.snippets": lambda before, now: before != now == "off",
    "ask.modes": _fewer,
    **dict.fromkeys(("ask.repeat", "ask.concurrency", "ask.probes.sample"), gt),
    "ask.rate": _slower,
    **dict.fromkeys(("ask.connect_timeout", "ask.read_timeout", "ask.total_timeout", "ask.max_body_bytes"), lt),
    "ask.retries": lt,
    "ask.probes.pass_env": _more,
    "recheck.confirm": _confirmed_easier,
    "private.places": _fewer_places,
    "when.paths": _runs_less,
    "private.tags": _fewer_tags,
}
"""By key: whether its second value lets more through than its first. What names of its own has is looked at apart."""

_GRANTS: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("pass_env", "cap_add", "tmpfs"), _more),
    "user": lambda before, now: before != now != DEFAULT_USER,
    "read_only": gt,
    "egress": lt,
    "memory_bytes": lt,
    **dict.fromkeys(("cpus", "pids"), lt),
}
"""The same of what a container has; `egress` is the API's own."""


def _lax(before: Rule, now: Rule | None) -> tuple[str, ...]:
    """Name what of a metric's rule, defaults filled in, allows more than before; a rule that is gone allows all."""
    if now is None:
        return ("tolerance", "floor", "ceiling")
    allows_more = {
        "tolerance": (now.tolerance or 0.0) > (before.tolerance or 0.0),
        "floor": before.floor is not None and (now.floor is None or now.floor < before.floor),
        "ceiling": before.ceiling is not None and (now.ceiling is None or now.ceiling > before.ceiling),
    }
    return tuple(key for key, looser in allows_more.items() if looser)


def _excuses(old: Waiver, new: Waiver) -> bool:
    """Return whether a waiver excuses all that another one does, and as long."""
    same = (old.metric, old.case) == (new.metric, new.case) and old.mode in {None, new.mode}
    return same and old.expires >= new.expires
