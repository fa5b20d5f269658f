"""How far the lists of a run are from those of the baseline; what is expected of them is not looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from raggate.config.invariant_settings import Invariants
from raggate.gate.statistics.rank_overlap import rank_biased_overlap
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard
from raggate.text.numbers import counted, fixed, rounded

ALIKE = 0.8
"""Mean overlap below which the lists as a whole count as others."""

NAME = "lists_alike"
SHOWN = 4
_SCORE_DECIMALS = 6  # of a baseline's scores, by which ties are seen alike on both sides


def findings(scorecard: Scorecard, baseline: Baseline | None, levels: Invariants) -> tuple[Finding, ...]:
    """Say that lists are others than the baseline's, or empty where they were not; nothing where it keeps no lists.

    Args:
        scorecard: the run's.
        baseline: what it is compared with; None without one.
        levels: whether that is looked at, and what it does.
    """
    level = getattr(levels, NAME)
    pairs = list(_pairs(scorecard, baseline)) if baseline is not None and level != "off" else []
    if not pairs:
        return ()
    key = _key(pairs)
    overlaps = sorted((rank_biased_overlap(_ranking(a, key), _ranking(b, key)), name) for name, a, b in pairs)
    mean = sum(overlap for overlap, _ in overlaps) / len(overlaps)
    empty = [name for name, before, now in pairs if before and not now]
    if mean >= ALIKE and not empty:
        return ()
    examples = [f"{name}: nothing came back, the baseline's run had chunks" for name in empty]
    if mean < ALIKE:
        share = f"rank-biased overlap {fixed(mean, 2)} on average of {counted(len(overlaps), 'question')}"
        examples = [share, *examples, *(f"{name}: overlap {fixed(overlap, 2)}" for overlap, name in overlaps)]
    others = {name for overlap, name in overlaps if overlap < ALIKE} if mean < ALIKE else set()
    message = Invariants.model_fields[NAME].description or NAME
    return (
        Finding(
            invariant=NAME,
            level=level,
            message=message,
            count=len(others | set(empty)),
            examples=tuple(examples[: SHOWN + 1]),
        ),
    )


def _pairs(scorecard: Scorecard, baseline: Baseline) -> Iterator[tuple[str, Sequence[ListEntry], Sequence[ListEntry]]]:
    """Give the lists of the questions that are the same on both sides and were answered on both."""
    if not any(case.entries for case in baseline.scorecard.cases):
        return
    stored = {(case.mode, case.case_id): case for case in baseline.scorecard.cases}
    for case in scorecard.cases:
        before = stored.get((case.mode, case.case_id))
        if before is not None and before.hash == case.hash and _answered(before, case):
            yield f"{case.case_id} ({case.mode})", before.entries, case.entries


def _answered(*cases: CaseScore) -> bool:
    return all(case.failure is None for case in cases)


def _key(pairs: Iterable[tuple[str, Sequence[ListEntry], Sequence[ListEntry]]]) -> str:
    """Say by what places are told apart: their chunk, or their note where no id of a chunk is one of the baseline's."""
    before, now = set(), set()
    for _, first, second in pairs:
        before |= {entry.chunk for entry in first if entry.chunk}
        now |= {entry.chunk for entry in second if entry.chunk}
    return "chunk" if before & now else "note"


def _ranking(entries: Sequence[ListEntry], key: str) -> list[list[str]]:
    """Give the places as groups of equal scores; a note counts where it stands first."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for _, tied in groupby(enumerate(entries), key=_score):
        names = [name for _, entry in tied if (name := getattr(entry, key)) and name not in seen]
        groups.append(list(dict.fromkeys(names)))
        seen |= set(names)
    return [group for group in groups if group]


def _score(place: tuple[int, ListEntry]) -> object:
    position, entry = place
    # what has no score is tied with nothing
    return ("rank", position) if entry.final is None else rounded(entry.final, _SCORE_DECIMALS)
