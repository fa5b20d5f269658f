"""How far the lists of a run are from those of the baseline; what is expected of them is not looked at. Pure."""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from raggate.config.invariant_settings import Invariants, sentences
from raggate.gate.causes.cause_evidence import Renumbered
from raggate.gate.statistics.rank_overlap import rank_biased_overlap
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.provenance import cutoffs_of
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard, by_question
from raggate.text.numbers import counted, fixed, rounded

ALIKE = 0.8
"""Mean overlap below which the lists as a whole count as others, and share of their length below which as shorter."""

NAME = "lists_alike"
SHOWN = 4
_SCORE_DECIMALS = 6  # of a baseline's scores, by which ties are seen alike on both sides

Name = Callable[[ListEntry], str]
"""The name by which places of two lists are the same one; empty if there is none."""

_Pair = tuple[str, Sequence[ListEntry], Sequence[ListEntry]]
"""A question by name, and its lists in the baseline and now."""


def findings(scorecard: Scorecard, baseline: Baseline | None, levels: Invariants) -> tuple[Finding, ...]:
    """Say that lists are others than the baseline's, shorter, or empty where they were not.

    Nothing is said where the baseline keeps no lists. To the overlap a list that was cut is the same list, as it agrees
    as far as it goes; so lengths are told by themselves.

    Args:
        baseline: what it is compared with; None without one.
    """
    level = getattr(levels, NAME)
    if baseline is None or level == "off" or not any(case.entries for case in baseline.scorecard.cases):
        return ()
    lists = _Lists(scorecard, baseline)
    if not lists.count or not (lists.emptied or lists.moved or lists.shortened):
        return ()
    overall = (*[lists.overlap_in_words] * bool(lists.moved), *[lists.length_in_words] * bool(lists.shortened))
    count, shown = lists.differing()
    message = sentences()[NAME]
    return (Finding(invariant=NAME, level=level, message=message, count=count, examples=(*overall, *shown)),)


def without_known_depths(
    findings: Iterable[Finding], scorecard: Scorecard, baseline: Baseline | None
) -> tuple[Finding, ...]:
    """Return the findings without a warning of cut lists that whoever promoted the baseline has seen."""
    known = _as_deep_as_before(scorecard, baseline)
    return tuple(
        finding
        for finding in findings
        if not known or (finding.invariant, finding.level) != ("list_deep_enough", "warn")
    )


def _as_deep_as_before(scorecard: Scorecard, baseline: Baseline | None) -> bool:
    """Return whether no mode's longest list is shorter than the longest that the baseline keeps of it."""
    before, now = (_deepest(side) for side in (baseline.scorecard if baseline else None, scorecard))
    return any(before.values()) and all(length >= before.get(mode, length + 1) for mode, length in now.items())


def _deepest(scorecard: Scorecard | None) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for case in scorecard.cases if scorecard is not None else ():
        lengths[case.mode] = max(lengths.get(case.mode, 0), len(case.entries))
    return lengths


class _Lists:
    """The lists of the questions that are the same on both sides, which pass by.

    Attributes:
        count: how many questions they are of.
        emptied: how many lists are empty that were not.
    """

    def __init__(self, scorecard: Scorecard, baseline: Baseline) -> None:
        self._scorecard, self._baseline = scorecard, baseline
        self._depth = _depth(scorecard, baseline)
        self.count = self.emptied = 0
        self._lengths = [0, 0]
        self._cut_off: set[int] = set()
        numbered = Renumbered()
        for _, *lists in self._pairs():
            self.count += 1
            self.emptied += bool(lists[0]) and not lists[1]
            for side, entries in enumerate(lists):
                self._lengths[side] += len(entries)
                numbered.add(side, entries)
                if self._depth is not None and len(entries) >= self._depth:
                    # lists are kept down to a rank: what is as long as that may have been longer
                    self._cut_off.add(len(entries))
        self._anew, self._by_place = numbered.anew, 0
        self._overlaps = array("d", (self._overlap(a, b) for _, a, b in self._pairs()))
        self._mean = sum(sorted(self._overlaps)) / self.count if self.count else 1.0

    def _overlap(self, before: Sequence[ListEntry], now: Sequence[ListEntry]) -> float:
        """Return how far two lists overlap: by chunks, or by places where most ids are new or mean other chunks."""
        if before == now:
            # most lists are what they were, and overlap wholly by whichever name
            return 1.0
        by_place = self._anew or _mostly_new(before, now)
        # a side that tells no headings tells places by notes alone
        headings = all(any(entry.heading for entry in side) for side in (before, now))
        name: Name = (_section if headings else attrgetter("note")) if by_place else attrgetter("chunk")
        overlap = rank_biased_overlap(_ranking(before, name), _ranking(now, name))
        # lists without a place in common are others by whichever name
        self._by_place += by_place and overlap > 0 and bool(_ids(before) and _ids(now))
        return overlap

    def _pairs(self) -> Iterator[_Pair]:
        """Yield the lists of those that were answered on both sides, equally far down."""
        stored = by_question(self._baseline.scorecard.cases)
        for case in self._scorecard.cases:
            before = stored.get((case.mode, case.case_id))
            if before is not None and before.hash == case.hash and _answered(before, case):
                yield f"{case.case_id} ({case.mode})", before.entries[: self._depth], case.entries[: self._depth]

    @property
    def moved(self) -> bool:
        """Whether lists overlap too little on average."""
        return self._mean < ALIKE and min(self._overlaps) < ALIKE

    @property
    def shortened(self) -> bool:
        """Whether lists are too short on average."""
        before, now = self._lengths
        return now < ALIKE * before

    @property
    def overlap_in_words(self) -> str:
        """Say how far lists overlap on average."""
        by_place = f", {self._by_place} of them by note and heading, as chunks have other ids" if self._by_place else ""
        return f"rank-biased overlap {fixed(self._mean, 2)} on average of {counted(self.count, 'list')}{by_place}"

    @property
    def length_in_words(self) -> str:
        """Say how long lists are on average."""
        within = f", counted to rank {self._depth}" if self._cut_off else ""
        before, now = (fixed(total / self.count, 1) for total in self._lengths)
        return f"lists of {now} distinct chunks on average, {before} in the baseline's run{within}"

    def differing(self) -> tuple[int, list[str]]:
        """Count the questions whose lists differ, and say it of some, each by the first that is true of its list."""
        moved, shortened, count = self.moved, self.shortened, 0
        emptied, others, shorter = _Fewest(), _Fewest(), _Fewest()
        for place, (name, a, b) in enumerate(self._pairs()):
            overlap = self._overlaps[place]
            if a and not b:
                emptied.add((place,), f"{name}: nothing came back, the baseline's run had chunks")
            elif moved and overlap < ALIKE:
                others.add((overlap, name), f"{name}: overlap {fixed(overlap, 2)}")
            elif shortened and len(b) < ALIKE * len(a):
                more = " or more" if len(a) in self._cut_off else ""
                words = f"{counted(len(b), 'distinct chunk')} came back, {len(a)}{more} in the baseline's run"
                shorter.add((len(b) / len(a), name, len(a), len(b)), f"{name}: {words}")
            else:
                continue
            count += 1
        return count, [*emptied.words, *others.words, *shorter.words][:SHOWN]


class _Fewest:
    """The words of those that come first by a key."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[Any, ...], str]] = []

    def add(self, key: tuple[Any, ...], words: str) -> None:
        insort(self._kept, (key, words))
        del self._kept[SHOWN:]

    @property
    def words(self) -> list[str]:
        return [words for _, words in self._kept]


def _depth(scorecard: Scorecard, baseline: Baseline) -> int | None:
    """Return the rank down to which both sides keep lists; None where that is not known."""
    depths = [max(cutoffs_of(side.fingerprint), default=None) for side in (scorecard, baseline.scorecard)]
    return min((depth for depth in depths if depth is not None), default=None)


def _answered(*cases: CaseScore) -> bool:
    return all(case.failure is None for case in cases)


def _ids(entries: Sequence[ListEntry]) -> set[str]:
    return {entry.chunk for entry in entries} - {""}


def _mostly_new(before: Sequence[ListEntry], now: Sequence[ListEntry]) -> bool:
    """Return whether most chunks of a list have ids that its past has not, or none has an id."""
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
