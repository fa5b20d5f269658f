"""Modes and slices in which no question has a match: nothing is measured of them, whatever their means say. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache

from raggate.errors import UsageError
from raggate.models.comparison import Comparison
from raggate.models.metric_names import HIT, family
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from raggate.models.verdict import Reason
from raggate.text.quote import cut, listed, quoted

Naming = Callable[[Sequence[str]], str]

NAMED = 3
"""Modes and slices that a message names."""


def on_a_command_line(names: Sequence[str]) -> str:
    """Write the flags that allow modes and slices to have no match."""
    return " ".join(f"--allow-no-match {shlex.quote(name)}" for name in names)


def modes_without_match(scorecard: Scorecard) -> tuple[str, ...]:
    """Name the modes of a run in which questions have gold supports, and none has a match at any rank."""
    return tuple(mode for mode, name in _without_match(scorecard, 1) if name == OVERALL)


def _without_match(scorecard: Scorecard, least: int) -> Iterator[tuple[str, str]]:
    """Yield mode and slice; slices of at least so many questions with gold supports, of modes that have a match."""
    asked: Counter[tuple[str, str]] = Counter()
    matching: set[tuple[str, str]] = set()
    for case in scorecard.cases:
        if (match := _matched(case)) is not None:
            keys = [(case.mode, name) for name in case.slices]
            asked.update(keys)
            matching.update(keys if match else ())
    empty = asked.keys() - matching
    whole = {mode for mode, name in empty if name == OVERALL}
    for mode, name in sorted(empty):
        if name == OVERALL or (mode not in whole and asked[mode, name] >= least):
            yield mode, name


@lru_cache(maxsize=100)
def _hits(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the metrics that say whether a question has a match within a cut-off."""
    return tuple(name for name in metrics if family(name) == HIT)


def _matched(case: CaseScore) -> bool | None:
    """Return whether a question has a match in any of its answers; None for one without gold supports."""
    values = [value for name in _hits(tuple(case.values)) if (value := case.values.get(name)) is not None]
    return (case.rank is not None or any(values)) if values else None


def reasons(comparison: Comparison) -> Iterator[Reason]:
    """Say of each mode without a match how far its answers come, and what stops them."""
    several = comparison.scorecard.several_modes
    for reach in comparison.reach:
        if not reach.matches:
            where = f" in mode {cut(reach.mode, limit=60)}" if several else ""
            yield Reason("no-match", f"no question has a match{where}; {reach.sentence}", mode=reach.mode)


def slice_reasons(scorecard: Scorecard, least: int, modes: Collection[str]) -> Iterator[Reason]:
    """Say of each slice of some modes that it has no match, where it has so many questions with gold supports."""
    for mode, name in _without_match(scorecard, least):
        if name != OVERALL and mode in modes:
            message = f"no question has a match in {_named([(mode, name)])}; promoting this run takes its name"
            yield Reason("no-match", message, mode=mode, slice=name)


def refuse_matchless(scorecard: Scorecard, least: int, allowed: Collection[str], naming: Naming) -> tuple[Reason, ...]:
    """Refuse to make a run the baseline of modes and slices in which nothing matches; give those that are allowed.

    Args:
        allowed: the modes and slices that may have none, by name.
        naming: writes names as whoever promotes would allow them.

    Raises:
        UsageError: naming what has no match and is not allowed, or what is allowed and is no mode or slice of the run.
    """
    known = {*scorecard.slices, *(name for slices in scorecard.slices.values() for name in slices)}
    unknown = sorted({*allowed} - known)
    if unknown:
        raise UsageError(
            f"{naming([cut(unknown[0], limit=80)])}: run {cut(scorecard.run_id)} has no such mode or slice",
            hint=f"Modes: {', '.join(cut(mode, limit=80) for mode in scorecard.slices)}. "
            "`raggate baseline show --slices` names the slices of a baseline.",
        )
    empty = [(mode, mode if name == OVERALL else name) for mode, name in _without_match(scorecard, least)]
    refused = [(mode, name) for mode, name in empty if not {mode, name} & {*allowed}]
    if refused:
        names = [*dict.fromkeys(name for _, name in refused)]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        raise UsageError(
            f"run {cut(scorecard.run_id)} measures nothing of {_named(refused)}{more}: no question has a match, and a "
            "baseline of that can only stay as it is or get better",
            hint="`raggate check` says why nothing matches. If it is meant to be so: "
            f"{naming([cut(name, limit=80) for name in names])}.",
        )
    messages = (
        f"no question has a match in {_named([(mode, name)])}" + _accepted_with(scorecard, mode, name, least, allowed)
        for mode, name in empty
    )
    return tuple(
        Reason("no-match", message, mode=mode, slice=name)
        for message, (mode, name) in zip(messages, empty, strict=True)
    )


def _accepted_with(scorecard: Scorecard, mode: str, name: str, least: int, allowed: Collection[str]) -> str:
    """Say what the name of a mode accepts: it where nothing of it matches, with its slices, else one of its slices."""
    if mode != name:
        return "" if name in allowed else ", accepted by the name of its mode"
    counts = {part: _labelled(scorecard, mode, part) for part in scorecard.slices.get(mode, {}) if part != OVERALL}
    slices = [quoted(part, limit=80) for part, count in sorted(counts.items()) if count >= least]
    return f", so in none of its slices: {listed(slices)}" if slices else ""


def _labelled(scorecard: Scorecard, mode: str, name: str) -> int:
    """Count the questions of a slice that have gold supports."""
    cases = (case for case in scorecard.cases if case.mode == mode and name in case.slices)
    return sum(_matched(case) is not None for case in cases)


def _named(places: Sequence[tuple[str, str]]) -> str:
    shown = [*dict.fromkeys(places)][:NAMED]
    return ", ".join(
        f"mode {quoted(mode, limit=80)}" if mode == name else f"slice {quoted(name, limit=80)} ({cut(mode, limit=80)})"
        for mode, name in shown
    )
