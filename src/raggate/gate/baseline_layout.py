"""How a baseline file stands: sorted, a case a line, so that it can be read in a diff and line by line. Pure."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from raggate.gate.baseline_integrity import RunningDigest
from raggate.models.scorecard import CaseScore
from raggate.text import long_sorting
from raggate.text.jsonio import dumps
from raggate.text.long_sequence import Packing

_NAMES: Packing[tuple[str, ...]] = Packing(marshal.dumps, marshal.loads)  # which never leave the process


def pieces(stored: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Lay a file out: keys sorted, a line for each case, slice and accepted metric, and the digest of all the rest.

    Args:
        stored: what stands in it beside its cases and the digest.
        cases: the cases, in their order.
    """
    digest = RunningDigest()
    before, after = (sorted(key for key in stored if (key < "cases") is early) for early in (True, False))
    yield b"{\n"
    for key in before:
        digest.add(key, stored[key])
        yield _entry(key, stored[key]) + b",\n"
    yield b'  "cases": ['
    between = b"\n    "
    for line in digest.add_cases(map(dumps, cases)):
        yield between + line
        between = b",\n    "
    yield b"\n  ]" if between.startswith(b",") else b"]"
    for key in after:
        digest.add(key, stored[key])
    for key, value in sorted({"digest": digest.of_all(), **{key: stored[key] for key in after}}.items()):
        yield b",\n" + _entry(key, value)
    yield b"\n}\n"


def _entry(key: str, value: object) -> bytes:
    return f"  {dumps(key).decode()}: {_lines(value, 1, spread=3)}".encode()


def in_order(cases: Sequence[CaseScore]) -> Iterator[CaseScore]:
    """Give cases as they stand in a file: by mode and id."""
    keys = ((case.mode, case.case_id) for case in cases)
    if all(one <= other for one, other in pairwise(keys)):
        yield from cases
        return
    # a number of so many digits sorts as text does
    named = ((case.mode, case.case_id, f"{place:012}") for place, case in enumerate(cases))
    for _, _, place in long_sorting.in_order(named, _NAMES):
        yield cases[int(place)]


def _lines(value: Any, depth: int, *, spread: int) -> str:
    """Lay JSON out with sorted keys: containers above `spread` levels one entry a line, those below on one line."""
    if depth >= spread or not value or not isinstance(value, dict | list):
        return dumps(value).decode()
    inner = "  " * (depth + 1)
    if isinstance(value, list):
        # items of a list are the smallest thing a diff should show
        entries = [f"{inner}{dumps(item).decode()}" for item in value]
        opening, closing = "[", "]"
    else:
        entries = [
            f"{inner}{dumps(key).decode()}: {_lines(value[key], depth + 1, spread=spread)}" for key in sorted(value)
        ]
        opening, closing = "{", "}"
    return f"{opening}\n" + ",\n".join(entries) + f"\n{'  ' * depth}{closing}"
