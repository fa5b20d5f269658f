"""How far the lists of a run are from those of the baseline; what is expected of them is not looked at. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

from raggate.base.numbers import counted, fixed, rounded
from raggate.config.invariant_settings import Invariants, sentences
from raggate.gate.causes.cause_evidence import renumbered, same_questions
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.provenance import cutoffs_of
from raggate.models.scorecard import ListEntry, Scorecard
from raggate.scoring.rank_overlap import rank_biased_overlap

ALIKE = 0.8
"""Mean overlap below which the lists as a whole count as others, and share of their length below which as shorter."""

NAME = "lists_alike"
SHOWN = 4
_SCORE_DECIMALS = 6  # of a baseline's scores, by which ties are seen alike on both sides

Name = Callable[[ListEntry], str]
"""The name by which places of two lists are the same one; empty if there is none."""


def findings(scorecard: Scorecard, baseline: Baseline | None, levels: Invariants) -> tuple[Finding, ...]:
    """Say that lists are others than the baseline's, shorter, or empty where they were not.

    Nothing is said where the baseline keeps no lists. To the overlap a list that was cut is the same list, as it agrees
    as far as it goes; so lengths are told by themselves.
    """
    level = getattr(levels, NAME)
    if baseline is None or level == "off" or not any(case.entries for case in baseline.scorecard.cases):
        return ()
    depth = _depth(scorecard, baseline)
    pairs = _pairs(scorecard, baseline, depth)
    count, examples = _examples(pairs, depth) if pairs else (0, [])
    if not count:
        return ()
    message = sentences()[NAME]
    return (Finding(invariant=NAME, level=level, message=message, count=count, examples=tuple(examples)),)


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


class _Pair(NamedTuple):
    """A question by name, its lists in the baseline and now, how far they overlap, and whether by places."""

    name: str
    before: Sequence[ListEntry]
    now: Sequence[ListEntry]
    overlap: float
    by_place: bool


def _pairs(scorecard: Scorecard, baseline: Baseline, depth: int | None) -> list[_Pair]:
    lists = [
        (f"{case.case_id} ({case.mode})", old.entries[:depth], case.entries[:depth])
        for old, case in same_questions(baseline.scorecard.cases, scorecard.cases)
        if old.failure is None and case.failure is None
    ]
    anew = renumbered(
        chain.from_iterable(before for _, before, _ in lists), chain.from_iterable(now for *_, now in lists)
    )
    return [_Pair(name, before, now, *_overlap(before, now, anew=anew)) for name, before, now in lists]


def _overlap(before: Sequence[ListEntry], now: Sequence[ListEntry], *, anew: bool) -> tuple[float, bool]:
    """Return how far two lists overlap: by chunks, or by places where most ids are new or mean other chunks."""
    if before == now:
        # most lists are what they were, and overlap wholly by whichever name
        return 1.0, False
    by_place = anew or _mostly_new(before, now)
    # a side that tells no headings tells places by notes alone
    headings = all(any(entry.heading for entry in side) for side in (before, now))
    name: Name = (_section if headings else attrgetter("note")) if by_place else attrgetter("chunk")
    overlap = rank_biased_overlap(_ranking(before, name), _ranking(now, name))
    # lists without a place in common are others by whichever name
    return overlap, by_place and overlap > 0 and bool(_ids(before) and _ids(now))


def _shorter(pair: _Pair) -> bool:
    return len(pair.now) < ALIKE * len(pair.before)


def _examples(pairs: Sequence[_Pair], depth: int | None) -> tuple[int, list[str]]:
    """Count the questions whose lists differ, and say how: overall, and of some, each by the first that is true."""
    lengths = [sum(map(len, side)) for side in ((pair.before for pair in pairs), (pair.now for pair in pairs))]
    mean = sum(sorted(pair.overlap for pair in pairs)) / len(pairs)
    moved, shortened = mean < ALIKE, lengths[1] < ALIKE * lengths[0]
    emptied = [pair for pair in pairs if pair.before and not pair.now]
    others = sorted((pair for pair in pairs if moved and pair.overlap < ALIKE), key=lambda pair: pair.overlap)
    short = sorted((pair for pair in pairs if shortened and _shorter(pair)), key=lambda p: len(p.now) / len(p.before))
    words = {pair.name: f"{pair.name}: nothing came back, the baseline's run had chunks" for pair in emptied}
    for pair in others:
        words.setdefault(pair.name, f"{pair.name}: overlap {fixed(pair.overlap, 2)}")
    for pair in short:
        # lists are kept down to a rank: what is as long as that may have been longer
        more = " or more" if depth is not None and len(pair.before) >= depth else ""
        came = f"{counted(len(pair.now), 'distinct chunk')} came back, {len(pair.before)}{more} in the baseline's run"
        words.setdefault(pair.name, f"{pair.name}: {came}")
    overall = []
    if moved:
        places = sum(pair.by_place for pair in pairs)
        by_place = f", {places} of them by note and heading, as chunks have other ids" if places else ""
        overall.append(f"rank-biased overlap {fixed(mean, 2)} on average of {counted(len(pairs), 'list')}{by_place}")
    if shortened:
        full = depth is not None and any(len(side) >= depth for pair in pairs for side in (pair.before, pair.now))
        within = f", counted to rank {depth}" if full else ""
        was, now = (fixed(total / len(pairs), 1) for total in lengths)
        overall.append(f"lists of {now} distinct chunks on average, {was} in the baseline's run{within}")
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
