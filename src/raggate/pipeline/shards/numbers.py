"""Which shard a process is, by its flag or by the variables of what started it. Pure.

The flag counts from 1, as pytest and Playwright do. What starts processes in parallel counts as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from raggate.errors import UsageError
from raggate.text.quote import quoted

_FLAG = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_FROM_ONE = "Shards count from 1: 1/8 to 8/8. RAGGATE_SHARD_INDEX counts from 0, as strategy.job-index does."


_ATTEMPTS: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("RAGGATE_ATTEMPT", lambda number: number),
    ("GITHUB_RUN_ATTEMPT", lambda number: number),
    ("BUILDKITE_RETRY_COUNT", lambda number: number + 1),
    ("AWS_BATCH_JOB_ATTEMPT", lambda number: number),
    ("SLURM_RESTART_COUNT", lambda number: number + 1),
)


class Place(NamedTuple):
    """A shard, from 1, of how many (None where that is not told), and who says so."""

    shard: int
    of: int | None
    source: str


class _Variables(NamedTuple):
    number: str
    total: str | None
    first: int


_SCHEDULERS = (
    _Variables("RAGGATE_SHARD_INDEX", "RAGGATE_SHARD_TOTAL", 0),
    _Variables("JOB_COMPLETION_INDEX", None, 0),
    _Variables("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
    _Variables("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    _Variables("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    _Variables("AWS_BATCH_JOB_ARRAY_INDEX", None, 0),
    _Variables("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
)
"""Kubernetes, Buildkite, GitLab, CircleCI, AWS Batch and Bazel: which variable numbers a process, which says how many
there are, and where it begins to count."""


def shard_of(flag: str | None, environment: Mapping[str, str], shards: int, name: str = "--shard") -> int:
    """Return which shard of a plan this process is, from 1.

    Args:
        flag: what somebody wrote; None without it.

    Raises:
        UsageError: when nothing says it, two say otherwise, or it is no shard of the plan.
    """
    named = None if flag is None else _written(flag, name)
    others = [*_of_variables(environment)]
    if named is not None:
        # one that counts other things says nothing of this plan, as of an array that is run again in part
        others = [place for place in others if place.of in {None, shards}]
    places = [named, *others] if named is not None else others
    if not places:
        raise UsageError(
            "which shard is this? Nothing says so",
            hint="Give --shard i/n, counted from 1, or one of the variables that docs/shards.md lists.",
        )
    first = places[0]
    for place in places:
        if place.shard != first.shard or (None not in {place.of, first.of} and place.of != first.of):
            raise UsageError(
                f"{first.source} says {_words(first)}, {place.source} says {_words(place)}",
                hint="Let them say the same, or unset one.",
            )
        if place.of is not None and place.of != shards:
            raise UsageError(
                f"{place.source} says {_words(place)}, and the plan has {shards} shards",
                hint=f"Start {shards} processes, plan anew for {place.of}, or say which shard this is by --shard.",
            )
    if not 1 <= first.shard <= shards:
        raise UsageError(f"{first.source}: no shard {first.shard} in a plan of {shards}", hint=_FROM_ONE)
    return first.shard


def _words(place: Place) -> str:
    return f"shard {place.shard}" if place.of is None else f"shard {place.shard} of {place.of}"


def _written(text: str, source: str) -> Place:
    match = _FLAG.fullmatch(text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(
            f"{source}: expected i/n with i from 1 to n, such as 3/8; found {quoted(text)}", hint=_FROM_ONE
        )
    return Place(int(match[1]), int(match[2]), source)


def _of_variables(environment: Mapping[str, str]) -> Iterator[Place]:
    if environment.get("RAGGATE_SHARD"):
        yield _written(environment["RAGGATE_SHARD"], "RAGGATE_SHARD")
    for known in _SCHEDULERS:
        number = _number(environment, known.number)
        if number is not None:
            total = None if known.total is None else _number(environment, known.total)
            yield Place(number - known.first + 1, total, known.number)
    yield from _of_slurm(environment)


def _of_slurm(environment: Mapping[str, str]) -> Iterator[Place]:
    """Read the place of a task in an array of Slurm, whose numbers begin anywhere and may be apart."""
    number = _number(environment, "SLURM_ARRAY_TASK_ID")
    if number is None:
        return
    first = _number(environment, "SLURM_ARRAY_TASK_MIN") or 0
    step = _number(environment, "SLURM_ARRAY_TASK_STEP") or 1
    if (number - first) % step:
        raise UsageError(f"SLURM_ARRAY_TASK_ID: {number} is none of {first}, {first + step}, …")
    yield Place((number - first) // step + 1, _number(environment, "SLURM_ARRAY_TASK_COUNT"), "SLURM_ARRAY_TASK_ID")


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"{name}: expected a number, found {quoted(text)}")
    return int(text)


def attempt_of(environment: Mapping[str, str]) -> int:
    """Return which attempt this is, from 1, by the first variable that tells."""
    for name, counted in _ATTEMPTS:
        number = _number(environment, name)
        if number is not None:
            return max(1, counted(number))
    return 1
