"""What all lists of both sides show together, which a single answer does not: weights, thresholds, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import pairwise

from raggate.gate.by_question import by_question
from raggate.gate.index_change import IndexChange
from raggate.gate.overview import Overview
from raggate.gate.score_weights import fitted_weights
from raggate.gate.shared_chunks import largest_shift, most_overtaking, of_questions, renumbered, rescored
from raggate.models.cause import CauseEvidence, ListEvidence, Range, same_score
from raggate.models.comparison import NoteChange
from raggate.models.fingerprint import notes_of
from raggate.models.metric_names import ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard

FEWEST_ANSWERS = 20
"""Answers from which on a threshold can be seen."""

SMALLEST = 1e-3
"""Largest score below which the six decimals that a baseline keeps are too few to compare scores by."""

FEWEST_LISTS = 5
"""Lists of several chunks from which on it is no accident that all have the same scores at the same ranks."""

FEWEST_BELOW = 5
"""Chunks of the baseline that must score less than anything now, for that to be a limit of what is returned."""

FEWEST_OF_EACH = 3
"""Answers of them that must abstain, and that must not: so many are not apart by their scores by accident."""


def cause_evidence(
    run: Run, now: Scorecard, before: Scorecard, changes: Iterable[NoteChange], overview: Overview | None = None
) -> CauseEvidence:
    """Gather what causes are looked for in.

    Args:
        run: the run.
        now: its scores.
        before: those of the baseline.
        changes: how the notes differ between the two.
        overview: what the answers of the run show together; None to gather that here.
    """
    overview = Overview.of(run, by_question(before.cases)) if overview is None else overview
    modes = dict.fromkeys(case.mode for case in now.cases)
    sides = {mode: [[case for case in side.cases if case.mode == mode] for side in (before, now)] for mode in modes}
    index = IndexChange(before.fingerprint, now.fingerprint)
    return CauseEvidence(
        notes=frozenset(notes_of(run.fingerprint)),
        changes={change.note: change.kind for change in changes},
        lists={mode: list_evidence(old, new, overview.least.get(mode)) for mode, (old, new) in sides.items()},
        retrieved=overview.retrieved,
        gone=overview.gone,
        recut=index.recut,
        documents=index.documents,
        folders={mode: (_folders(before, mode), _folders(now, mode)) for mode in modes},
        beyond={
            mode: kinds if mode in overview.filled else {*kinds, "selected"} for mode, kinds in overview.beyond.items()
        },
    )


def list_evidence(before: Sequence[CaseScore], now: Sequence[CaseScore], least: float | None) -> ListEvidence:
    """Say what the lists of one mode show on both sides.

    Args:
        before: the baseline's cases of the mode.
        now: those of the run.
        least: the lowest score of any chunk of the run, those further down than lists are kept too.
    """
    anew = renumbered(_entries(before), _entries(now))
    questions = list(of_questions(before, now, by_note=anew))
    size = ListEvidence(
        longest=max((len(case.entries) for case in now), default=0),
        filled=(sum(bool(case.entries) for case in before), sum(bool(case.entries) for case in now)),
        lengths=_lengths(before, now),
        renumbered=anew,
        overtaking=most_overtaking(questions),
    )
    if not all(_scored(side) for side in (before, now)):
        return replace(size, scored=False)
    return replace(
        size,
        weights=(fitted_weights(_entries(before)), fitted_weights(_entries(now))),
        thresholds=(threshold(before), threshold(now)),
        floors=_floors(before, least),
        rescored=rescored(questions, by_note=anew),
        shift=largest_shift(questions),
        answered=min(_best_scores(now)[False], default=None),
        unordered=any(_rises(case.entries) for case in (*before, *now)),
    )


def _lengths(before: Sequence[CaseScore], now: Sequence[CaseScore]) -> tuple[float, float]:
    """Give the mean lengths of the lists of the same questions; 0 and 0 where there are none."""
    old = {(case.case_id, case.hash): len(case.entries) for case in before if case.failure is None}
    both = [
        (old[case.case_id, case.hash], len(case.entries))
        for case in now
        if (case.case_id, case.hash) in old and case.failure is None
    ]
    was, is_now = (sum(side) / len(both) for side in zip(*both, strict=True)) if both else (0.0, 0.0)
    return was, is_now


def threshold(cases: Iterable[CaseScore]) -> Range | None:
    """Give the best score of any answer that abstained and the least of those that did not, if these are all above.

    Where none abstained, or all did, one of the two is None.
    """
    best = _best_scores(cases)
    sizes = [len(scores) for scores in best.values()]
    if sum(sizes) < FEWEST_ANSWERS or any(0 < size < FEWEST_OF_EACH for size in sizes):
        return None
    abstained, answered = max(best[True], default=None), min(best[False], default=None)
    if abstained is not None and answered is not None and abstained >= answered:
        return None
    return abstained, answered


def _best_scores(cases: Iterable[CaseScore]) -> dict[bool, list[float]]:
    """Give the best score of each list that has one: of those that came with an abstention, and of the others."""
    best: dict[bool, list[float]] = {True: [], False: []}
    for case in cases:
        scores = [entry.final for entry in case.entries if entry.final is not None]
        if scores and case.failure is None:
            best[_abstained(case)].append(max(scores))
    return best


def _abstained(case: CaseScore) -> bool:
    return 1 in (case.values.get(ABSTENTION_ACCURACY), case.values.get(FALSE_ABSTENTION_RATE))


def _entries(cases: Iterable[CaseScore]) -> Iterator[ListEntry]:
    return (entry for case in cases for entry in case.entries)


def _floors(before: Iterable[CaseScore], least: float | None) -> tuple[float | None, float | None]:
    lowest = nsmallest(FEWEST_BELOW, (entry.final for entry in _entries(before) if entry.final is not None))
    enough = least is not None and len(lowest) == FEWEST_BELOW and lowest[-1] < least
    limited = enough and least is not None and not same_score(lowest[-1], least)
    return (lowest[0], least) if limited else (None, None)


def _rises(entries: Sequence[ListEntry]) -> bool:
    scores = [entry.final for entry in entries if entry.final is not None]
    return any(lower > upper and not same_score(lower, upper) for upper, lower in pairwise(scores))


def _scored(cases: Sequence[CaseScore]) -> bool:
    """Say whether final scores tell something; a side without any tells nothing that would be wrong."""
    lists = [[entry.final for entry in case.entries] for case in cases if len(case.entries) > 1]
    finals = [final for scores in lists for final in scores if final is not None]
    if finals and max(map(abs, finals)) < SMALLEST:
        return False
    ranks: dict[int, set[float | None]] = {}
    for scores in lists:
        for rank, final in enumerate(scores):
            ranks.setdefault(rank, set()).add(final)
    return len(lists) < FEWEST_LISTS or any(len(known) > 1 for known in ranks.values())


def _folders(scorecard: Scorecard, mode: str) -> dict[str, int]:
    counted = scorecard.fingerprint.get("folders")
    counts = counted.get(mode) if isinstance(counted, Mapping) else None
    return {key: n for key, n in counts.items() if type(n) is int} if isinstance(counts, Mapping) else {}
