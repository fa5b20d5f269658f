"""How far the lists of a run are from those of the baseline; what is expected of them is not looked at. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

from raggate.base.numbers import counted, fixed, rounded
from raggate.config.invariant_settings import Invariants
from raggate.gate.causes.cause_evidence import renumbered
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.provenance import cutoffs_of
from raggate.models.scorecard import ListEntry, Scorecard, same_questions
from raggate.scoring.rank_overlap import rank_biased_overlap

ALIKE = 0.8
"""Mean overlap below which the lists as a whole count as others, and share of their length below which as shorter."""

NAME = "lists_alike"
SHOWN = 4
_SCORE_DECIMALS = 6  # of a baseline's scores, by which ties are seen alike on both sides

Name = Callable[[ListEntry], str]
"""The name by which places of two lists are the same one; empty if there is none."""


def findings(scorecard: Scorecard, baseline: Baseline | None, levels: Invariants) -> tuple[Finding, ...]:
    """Return the findings on lists that differ from the baseline's, are shorter, or have become empty.

    Nothing is said where the baseline keeps no lists. The overlap of a shortened list is full, because it agrees as
    far as it goes. So lengths have their own findings.
    """
    level = getattr(levels, NAME)
    if baseline is None or level == "off" or not any(case.entries for case in baseline.scorecard.cases):
        return ()
    pairs = _pairs(scorecard, baseline, _depth(scorecard, baseline))
    count, examples = _examples(pairs) if pairs else (0, [])
    if not count:
        return ()
    message = f"{counted(count, 'result list')} changed a lot, or became shorter or empty."
    return (Finding(invariant=NAME, level=level, message=message, count=count, examples=tuple(examples)),)


def without_known_depths(
    findings: Iterable[Finding], scorecard: Scorecard, baseline: Baseline | None
) -> tuple[Finding, ...]:
    """Return the findings without a warning of cut lists that whoever promoted the baseline has seen.

    They have if no mode's longest list is shorter than the longest that the baseline keeps of it.
    """
    before, now = (_deepest(side) for side in (baseline.scorecard if baseline else None, scorecard))
    known = any(before.values()) and all(length >= before.get(mode, length + 1) for mode, length in now.items())
    cut = ("list_deep_enough", "warn")
    return tuple(finding for finding in findings if not known or (finding.invariant, finding.level) != cut)


def _deepest(scorecard: Scorecard | None) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for case in scorecard.cases if scorecard is not None else ():
        lengths[case.mode] = max(lengths.get(case.mode, 0), len(case.entries))
    return lengths


class _Pair(NamedTuple):
    """A question by name, its lists in the baseline and now, and how far they overlap."""

    name: str
    before: Sequence[ListEntry]
    now: Sequence[ListEntry]
    overlap: float


def _pairs(scorecard: Scorecard, baseline: Baseline, depth: int | None) -> list[_Pair]:
    lists = [
        (f"{case.case_id} ({case.mode})", old.entries[:depth], case.entries[:depth])
        for old, case in same_questions(baseline.scorecard.cases, scorecard.cases)
        if old.failure is None and case.failure is None
    ]
    sides = [before for _, before, _ in lists], [now for *_, now in lists]
    anew = renumbered(*map(chain.from_iterable, sides))
    return [_Pair(name, before, now, _overlap(before, now, anew=anew)) for name, before, now in lists]


def _overlap(before: Sequence[ListEntry], now: Sequence[ListEntry], *, anew: bool) -> float:
    """Return how far two lists overlap: by chunks, or by places where most ids are new or mean other chunks."""
    if before == now:
        # most lists are what they were, and overlap wholly by whichever name
        return 1.0
    # a side that tells no headings tells places by notes alone
    headings = all(any(entry.heading for entry in side) for side in (before, now))
    by_place = anew or _mostly_new(before, now)
    name: Name = (_section if headings else attrgetter("note")) if by_place else attrgetter("chunk")
    return rank_biased_overlap(_ranking(before, name), _ranking(now, name))


def _examples(pairs: Sequence[_Pair]) -> tuple[int, list[str]]:
    """Count the questions whose lists differ, and say how: overall, and of some, each by the first that is true."""
    was, now = (sum(map(len, side)) / len(pairs) for side in ([p.before for p in pairs], [p.now for p in pairs]))
    mean = sum(sorted(pair.overlap for pair in pairs)) / len(pairs)
    overall, words = [], {}
    for pair in pairs:
        if pair.before and not pair.now:
            words[pair.name] = f"{pair.name}: nothing came back, the baseline's run had passages"
    if mean < ALIKE:
        overall.append(f"rank-biased overlap {fixed(mean, 2)} on average of {counted(len(pairs), 'list')}")
        for pair in sorted(pairs, key=lambda pair: pair.overlap):
            if pair.overlap < ALIKE:
                words.setdefault(pair.name, f"{pair.name}: overlap {fixed(pair.overlap, 2)}")
    if now < ALIKE * was:
        # a baseline keeps lists down to a rank: they may have been longer
        overall.append(f"lists have {fixed(now, 1)} distinct passages on average, the baseline keeps {fixed(was, 1)}")
        short = [pair for pair in pairs if len(pair.now) < ALIKE * len(pair.before)]
        for pair in sorted(short, key=lambda pair: len(pair.now) / len(pair.before)):
            came = f"{counted(len(pair.now), 'distinct passage')} came back, the baseline keeps {len(pair.before)}"
            words.setdefault(pair.name, f"{pair.name}: {came}")
    return len(words), [*overall, *[*words.values()][:SHOWN]]


def _depth(scorecard: Scorecard, baseline: Baseline) -> int | None:
    depths = [max(cutoffs_of(side.fingerprint), default=None) for side in (scorecard, baseline.scorecard)]
    return min((depth for depth in depths if depth is not None), default=None)


def _ids(entries: Sequence[ListEntry]) -> set[str]:
    return {entry.chunk for entry in entries} - {""}


def _mostly_new(before: Sequence[ListEntry], now: Sequence[ListEntry]) -> bool:
    ids = _ids(now)
    return 2 * len(ids - _ids(before)) > len(ids) or not ids


def _section(entry: ListEntry) -> str:
    return f"{entry.note}/{entry.heading}" if entry.note else ""


def _ranking(entries: Sequence[ListEntry], named: Name) -> list[list[str]]:
    """Return the places as groups of equal scores; a name counts where it stands first."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for _, tied in groupby(enumerate(entries), key=_score):
        names = [name for _, entry in tied if (name := named(entry)) and name not in seen]
        groups.append(list(dict.fromkeys(names)))
        seen |= set(names)
    return [group for group in groups if group]


def _score(place: tuple[int, ListEntry]) -> object:
    position, entry = place
    # what has no score is tied with nothing
    return ("rank", position) if entry.final is None else rounded(entry.final, _SCORE_DECIMALS)
