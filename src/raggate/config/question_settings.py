"""Which questions of its golden set a suite asks: the `questions` section of raggate.yml."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import Field

from raggate.config.effects import fewer

NO_MODE = "no-mode"
"""The mode of an API that is sent none: questions of all modes are asked in it."""
ALIASES = {"fts": "bm25"}
"""Other names of a mode, as some tools write it."""
COVERED = {"hybrid_rerank": "hybrid"}
"""Modes that a question is asked in too when it names the mode on the right, as golden sets have no word for them."""


MUST_PASS = "must_pass"  # noqa: S105
TAG = "tag="
Chosen = Annotated[str, Field(pattern=rf"^(?:{MUST_PASS}|{TAG}[^\x00]+)$")]
"""Questions of a suite: those that must pass, or those with a tag."""


def asks_fewer(before: Sequence[str], now: Sequence[str]) -> bool:
    """Return whether a suite asks fewer questions than before; without a choice it asks all."""
    return bool(now) and (not before or fewer(before, now))


def mode_name(written: str) -> str:
    """Return the one name of a mode: `fts` is `bm25`, all others are themselves."""
    return ALIASES.get(written, written)


def asked_in(named: Collection[str] | None, mode: str) -> bool:
    """Whether a question that names these modes is asked in a mode; one that names none is asked in every mode."""
    if named is None:
        return True
    if mode == NO_MODE:
        return bool(named)
    name = mode_name(mode)
    return not {name, COVERED.get(name, name)}.isdisjoint(map(mode_name, named))


def distinct_modes(modes: Sequence[str]) -> list[str]:
    """Return a list of modes back when no two of them are one mode under different names."""
    seen: dict[str, str] = {}
    for mode in modes:
        first = seen.setdefault(mode_name(mode), mode)
        if first != mode:
            raise ValueError(f"expected one of {first!r} and {mode!r}, which are one mode")
    return list(modes)
