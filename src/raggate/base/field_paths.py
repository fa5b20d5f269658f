"""Field paths such as `data.hits[*].meta`: text in, checked steps out; a JSON value in, what is there out.

    path  = "$" | start { step }        "$" is the value itself
    start = key | index                 keys are set apart by dots
    step  = "." key | index
    key   = letters, digits, _ - @ : /  or anything in double quotes: "odd.key"
    index = "[" digits "]" | "[*]"      one item of a list, from 0, or all of them
          | "[" from ":" to "]"         those from one up to, not including, another; either may be left out

Nothing is evaluated: no filters, no negative indices, no wildcards for keys, no recursion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from raggate.base.quote import cut

MAX_LENGTH = 300
MAX_STEPS = 20
SHOWN_KEYS = 5
"""Keys of a mapping that a message names."""

_STEP = re.compile(
    r"(?P<dot>\.)?(?:(?P<bare>[A-Za-z0-9_@:/-]+)|\"(?P<quoted>[^\"\x00-\x1f\x7f]+)\")"
    r"|\[(?:(?P<index>[0-9]{1,4})|(?P<all>\*)|(?P<start>[0-9]{0,4}):(?P<stop>[0-9]{0,4}))\]"
)


class Absent:
    """What is not there. JSON's null is something else."""


ABSENT: Final = Absent()


class Every(Struct, frozen=True):
    """The step `[*]`: all items of a list; `[2:5]` and the like: those from `start` up to, not including, `stop`."""

    start: int = 0
    stop: int | None = None

    def __str__(self) -> str:
        if self == EVERY:
            return "[*]"
        return f"[{self.start or ''}:{'' if self.stop is None else self.stop}]"


Step = str | int | Every
EVERY: Final = Every()


class FieldPath(Struct, frozen=True):
    """A checked path: as it was written, its steps, none for `$`, and how many there are up to each `[*]`, with it."""

    written: str
    steps: tuple[Step, ...]
    ends: tuple[int, ...] = ()

    @property
    def many(self) -> bool:
        """Whether it leads to any number of values."""
        return bool(self.ends)

    @property
    def to_items(self) -> tuple[Step, ...]:
        """Its steps, with a `[*]` behind those that lead to a list."""
        return self.steps if self.many else (*self.steps, EVERY)


class Entry(Struct, frozen=True):
    """What a path leads to, its place, and the items of all lists on the way there, outermost first."""

    where: str
    value: Any
    items: tuple[Entry, ...] = ()

    def start_of(self, path: FieldPath) -> tuple[FieldPath, Any, str]:
        """Return the rest of a path, where it begins (here, or with `[*]` at an item on the way), and that place."""
        if not path.ends:
            return path, self.value, self.where
        item = self.items[len(path.ends) - 1]
        return FieldPath(path.written, path.steps[path.ends[-1] :]), item.value, item.where


class WrongShape(ValueError):
    """A value is not what the path, or its reader, expects. The message says where, what was expected and found.

    Where nothing is there, `beside` says what is; see `nearest_there`.
    """

    def __init__(self, where: str, expected: str, value: object, beside: str = "") -> None:
        more = f"; {beside}" if beside and value is ABSENT else ""
        super().__init__(f"{where}: expected {expected}, found {kind_of(value)}{more}")


@lru_cache(maxsize=1000)
def parse(written: str) -> FieldPath:
    """Read a path."""
    if written == "$":
        return FieldPath(written, ())
    steps: list[Step] = []
    position = 0
    if len(written) > MAX_LENGTH:
        raise ValueError(f"expected a path of at most {MAX_LENGTH} characters")
    while position < len(written):
        match = _STEP.match(written, position)
        key = match and (match["bare"] or match["quoted"])
        # a dot stands between two steps, and before every key but the first
        if match is None or (key is not None and (match["dot"] is not None) != bool(steps)):
            rest = written[position:]
            raise ValueError(
                f"expected a path such as data.hits[0].text or hits[*], cannot read the part from {rest!r}"
            )
        steps.append(key if key else _index(match))
        position = match.end()
    if not steps or len(steps) > MAX_STEPS:
        raise ValueError(f"expected a path of 1 to {MAX_STEPS} steps ($ is the value itself)")
    ends = tuple(position for position, step in enumerate(steps, 1) if isinstance(step, Every))
    return FieldPath(written, tuple(steps), ends)


def _index(match: re.Match[str]) -> int | Every:
    if match["index"]:
        return int(match["index"])
    return EVERY if match["all"] else Every(int(match["start"] or 0), int(match["stop"]) if match["stop"] else None)


def find(path: FieldPath, value: object, where: str = "") -> Any:
    """What a path without `[*]` leads to; ABSENT when a key or an item is not there, or something before is null."""
    for step in path.steps:
        if value is ABSENT or value is None:
            return ABSENT
        if isinstance(step, Every):
            raise TypeError(f"{path.written} leads to many values")
        value = _enter(step, value, where)
        where = joined(where, step)
    return value


def find_all(path: FieldPath, value: object, *, limit: int) -> list[Entry] | None:
    """Return all that a path leads to, in order; None when the list is not there.

    A path without `[*]` must lead to a list, whose items are given. Behind a `[*]` everything must be there. It is a
    `ValueError` if there is too much, and `WrongShape` if something on the way is of another kind, or not there.
    """
    steps = path.to_items
    first = next(position for position, step in enumerate(steps) if isinstance(step, Every))
    before = FieldPath(path.written, steps[:first])
    start = find(before, value)
    if start is ABSENT or start is None:
        return None
    entries: list[Entry] = []
    for item in _walk(steps[first:], Entry(below("", before), start)):
        if len(entries) == limit:
            raise ValueError(f"{path.written}: expected at most {limit} entries, found more")
        entries.append(item)
    return entries


def begins_as(path: FieldPath, entries: FieldPath) -> bool:
    """Return whether a path goes up to its last `[*]` as the one to some entries does, so that each of them has it."""
    common = path.steps[: path.ends[-1]] if path.many else ()
    return entries.to_items[: len(common)] == common


def _walk(steps: tuple[Step, ...], at: Entry) -> Iterator[Entry]:
    if not steps:
        yield at
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, Every):
        if not isinstance(at.value, list):
            raise WrongShape(at.where, "a list", at.value)
        for position, item in enumerate(at.value[step.start : step.stop], step.start):
            place = f"{at.where}[{position}]"
            yield from _walk(rest, Entry(place, item, (*at.items, Entry(place, item))))
        return
    inner = _enter(step, at.value, at.where)
    if inner is ABSENT:
        beside = nearest_there(FieldPath("", (step,)), at.value, at.where)
        raise WrongShape(joined(at.where, step), "something", ABSENT, beside)
    yield from _walk(rest, Entry(joined(at.where, step), inner, at.items))


def _enter(step: str | int, value: object, where: str) -> Any:
    if isinstance(step, str):
        if not isinstance(value, dict):
            raise WrongShape(where or "the body", f"a mapping with the key {step!r}", value)
        return value.get(step, ABSENT)
    if not isinstance(value, list):
        raise WrongShape(where or "the body", "a list", value)
    return value[step] if step < len(value) else ABSENT


def joined(where: str, step: Step) -> str:
    """Write a place one step further in."""
    if isinstance(step, str):
        return f"{where}.{step}" if where else step
    return f"{where}{step}" if isinstance(step, Every) else f"{where}[{step}]"


def below(where: str, path: FieldPath) -> str:
    """Write the place that a path leads to from somewhere."""
    for step in path.steps:
        where = joined(where, step)
    return where or "the body"


def nearest_there(path: FieldPath, value: object, where: str = "") -> str:
    """Describe the value at which a path breaks off, such as `doc has the keys path, headings`. One line."""
    for step in path.steps:
        if isinstance(step, Every):
            break
        try:
            inner = _enter(step, value, where)
        except WrongShape:
            break
        if inner is ABSENT:
            break
        value, where = inner, joined(where, step)
    name = cut(where, limit=100) or "the body"
    if isinstance(value, dict):
        return f"{name} has {_keys(value)}"
    if isinstance(value, list):
        return f"{name} has {len(value)} item{'' if len(value) == 1 else 's'}"
    return f"{name} is {kind_of(value)}"


def _keys(mapping: dict[str, object]) -> str:
    if not mapping:
        return "no keys"
    names = ", ".join(cut(key, limit=30) for key in islice(mapping, SHOWN_KEYS))
    more = f" and {len(mapping) - SHOWN_KEYS} more" if len(mapping) > SHOWN_KEYS else ""
    return f"the key{'' if len(mapping) == 1 else 's'} {names}{more}"


def kind_of(value: object) -> str:
    """Describe a value in a few words."""
    if value is ABSENT:
        return "nothing"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return f"a mapping with {_keys(value)}"
    return cut(json.dumps(value, ensure_ascii=False), limit=60)
