"""How a baseline file stands: sorted, a case a line, so that it can be read in a diff and line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from raggate.gate.baseline_integrity import RunningDigest
from raggate.models.scorecard import CaseScore
from raggate.text.jsonio import dumps


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


def in_order(cases: Iterable[CaseScore]) -> list[CaseScore]:
    """Return cases as they stand in a file: by mode and id."""
    return sorted(cases, key=lambda case: (case.mode, case.case_id))


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
