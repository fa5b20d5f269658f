"""Names of retrieval modes: which of them are one mode, and which a question is asked in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raggate.errors import UsageError
from raggate.models.golden import Golden
from raggate.text.quote import cut, quoted

ALIASES = {"fts": "bm25"}
"""Other names of a mode, as some tools write it."""

COVERED = {"hybrid_rerank": "hybrid"}
"""Modes that a question is asked in too when it names the mode on the right, as golden sets have no word for them."""


def mode_name(written: str) -> str:
    """Give the one name of a mode: `fts` is `bm25`, all others are themselves."""
    return ALIASES.get(written, written)


def asked_in(named: Collection[str] | None, mode: str) -> bool:
    """Say whether a question that names these modes is asked in a mode; one that names none is asked in every mode."""
    if named is None:
        return True
    name = mode_name(mode)
    return not {name, COVERED.get(name, name)}.isdisjoint(map(mode_name, named))


def told_apart(modes: Sequence[str]) -> list[str]:
    """Give a list of modes back when no two of them are one mode under different names.

    Raises:
        ValueError: naming the two.
    """
    seen: dict[str, str] = {}
    for mode in modes:
        first = seen.setdefault(mode_name(mode), mode)
        if first != mode:
            raise ValueError(f"expected one of {first!r} and {mode!r}, which are one mode")
    return list(modes)


def check_required(golden: Golden, modes: Sequence[str]) -> None:
    """See that what must pass is asked.

    Args:
        golden: the golden set.
        modes: the modes that are asked.

    Raises:
        UsageError: naming the first case that must pass and is for other modes only.
    """
    for case in golden.cases:
        if case.must_pass and not any(asked_in(case.modes, mode) for mode in modes):
            own = ", ".join(map(cut, case.modes or ()))
            raise UsageError(
                f"{golden.name}:{case.line}: case {quoted(case.id)} must pass and is never asked: it is for {own}, "
                f"and ask.modes has {', '.join(modes)}",
                hint="Add its mode to ask.modes, or change its `retriever_types` or `must_pass`.",
            )
