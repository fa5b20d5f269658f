"""What a change of a key does to the gate, as marks beside the key: `Annotated[float, Looser(operator.lt)]`.

A section or key with the mark `OTHER` measures something else by another value, and so do all keys below it, unless
they have the mark `SAME`. A key without a mark changes neither answers nor what they are held against.
`loosening.py` reads the marks, and `tests/unit/config/test_every_key.py` asks for one, or a reason, for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

_STRICT = ("off", "warn", "error", "fail", "refuse")


class Looser(NamedTuple):
    """Marks a key by whether its second value lets more through than its first."""

    by: Callable[[Any, Any], bool]


class Effect(NamedTuple):
    """Marks a section or a key by whether another value measures something else."""

    measures: bool


OTHER: Final = Effect(measures=True)
SAME: Final = Effect(measures=False)


def weaker(before: str, now: str) -> bool:
    """Return whether a level or a reaction is less strict than before."""
    return _STRICT.index(now) < _STRICT.index(before)


def more(before: Iterable[object], now: Iterable[object]) -> bool:
    """Return whether something was added."""
    return bool(set(now) - set(before))


def fewer(before: Iterable[object], now: Iterable[object]) -> bool:
    """Return whether something was taken away."""
    return more(now, before)


def lower(before: float | None, now: float | None) -> bool:
    """Return whether a limit is lower than before; None is no limit."""
    return now is not None and (before is None or now < before)


def other(before: Collection[object], now: Collection[object]) -> bool:
    """Return whether something was added or taken away, whatever the order."""
    return set(before) != set(now)
