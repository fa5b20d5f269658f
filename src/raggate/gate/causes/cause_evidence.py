"""What all lists of both sides show together, which a single answer does not: weights, thresholds, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from itertools import pairwise

from msgspec.structs import replace

from raggate.gate.causes.index_change import IndexChange
from raggate.gate.causes.score_weights import ScoreParts, fitted_weights
from raggate.gate.causes.shared_chunks import Renumbered, SharedScores, same_questions, shared
from raggate.gate.overview import Overview
from raggate.models.cause import CauseEvidence, ListEvidence, Range, same_score
from raggate.models.comparison import NoteChange
from raggate.models.fingerprint import notes_of
from raggate.models.metric_names import ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard, by_question

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
        changes: how the notes differ between the two.
        overview: what the answers of the run show together; None to gather that here.
    """
    overview = Overview.of(run, by_question(before.cases)) if overview is None else overview
    old, new = _by_mode(before.cases), _by_mode(now.cases)
    index = IndexChange(before.fingerprint, now.fingerprint)
    return CauseEvidence(
        notes=frozenset(notes_of(run.fingerprint)),
        changes={change.note: change.kind for change in changes},
        lists={mode: list_evidence(old.get(mode, ()), own, overview.least.get(mode)) for mode, own in new.items()},
        retrieved=overview.retrieved,
        gone=overview.gone,
        recut=index.recut,
        documents=index.documents,
        folders={mode: (_folders(before, mode), _folders(now, mode)) for mode in new},
        beyond={
            mode: kinds if mode in overview.filled else {*kinds, "selected"} for mode, kinds in overview.beyond.items()
        },
    )


def _by_mode(cases: Iterable[CaseScore]) -> dict[str, list[CaseScore]]:
    modes: dict[str, list[CaseScore]] = {}
    for case in cases:
        modes.setdefault(case.mode, []).append(case)
    return modes


def list_evidence(before: Sequence[CaseScore], now: Sequence[CaseScore], least: float | None) -> ListEvidence:
    """Say what the lists of one mode show on both sides.

    Args:
        least: the lowest score of any chunk of the run, those further down than lists are kept too.
    """
    numbered = Renumbered()
    old, new = (_Lists(cases, partial(numbered.add, side)) for side, cases in enumerate((before, now)))
    shared_scores, lengths = _of_both(before, now, by_note=numbered.anew)
    size = ListEvidence(
        longest=new.longest,
        filled=(old.filled, new.filled),
        lengths=lengths,
        renumbered=numbered.anew,
        overtaking=shared_scores.overtaking,
    )
    if not (old.scored and new.scored):
        return replace(size, scored=False)
    return replace(
        size,
        weights=(fitted_weights(old.parts), fitted_weights(new.parts)),
        thresholds=(old.best.threshold, new.best.threshold),
        floors=_floors(old.lowest, least),
        rescored=shared_scores.rescored,
        shift=shared_scores.shift,
        answered=new.best.answered,
        unordered=old.unordered or new.unordered,
    )


def _of_both(
    before: Sequence[CaseScore], now: Sequence[CaseScore], *, by_note: bool
) -> tuple[SharedScores, tuple[float, float]]:
    """What the chunks show that both sides list, and the mean lengths of the lists; 0 and 0 where there are none.

    Only lists of the same questions count.
    """
    scores, lengths, count = SharedScores(by_note=by_note), [0, 0], 0
    for old, new in same_questions(before, now):
        scores.add(shared(old.entries, new.entries, by_note=by_note))
        if old.failure is None and new.failure is None:
            count += 1
            for side, case in enumerate((old, new)):
                lengths[side] += len(case.entries)
    was, is_now = (length / count if count else 0.0 for length in lengths)
    return scores, (was, is_now)


class _Lists:
    """What the lists of one side show by themselves, which pass by once.

    Attributes:
        longest: places of the longest.
        filled: to how many questions anything came back.
        unordered: whether some list does not fall by its final scores.
        best: the best scores of lists.
        parts: what scores are made of.
        lowest: the least final scores, as many as floors need, the lowest first.

    Args:
        cases: the questions.
        number: takes the places of each list.
    """

    def __init__(self, cases: Iterable[CaseScore], number: Callable[[Sequence[ListEntry]], None]) -> None:
        self.longest = self.filled = 0
        self.unordered = False
        self.best = BestScores()
        self.parts = ScoreParts()
        self.lowest: list[float] = []
        self._largest: float | None = None
        self._several, self._varied = 0, False
        self._by_rank: dict[int, float | None] = {}
        for case in cases:
            self._add(case)
            number(case.entries)

    def _add(self, case: CaseScore) -> None:
        finals = [entry.final for entry in case.entries]
        self.longest = max(self.longest, len(finals))
        self.filled += bool(finals)
        self.best.add(case)
        self.parts.add(case.entries)
        scores = [final for final in finals if final is not None]
        self.unordered = self.unordered or any(
            lower > upper and not same_score(lower, upper) for upper, lower in pairwise(scores)
        )
        if scores and (len(self.lowest) < FEWEST_BELOW or min(scores) < self.lowest[-1]):
            self.lowest = nsmallest(FEWEST_BELOW, (*self.lowest, *scores))
        if len(finals) > 1:
            self._several += 1
            if scores:
                self._largest = max(self._largest or 0.0, *map(abs, scores))
            for rank, final in enumerate(finals):
                self._varied = self._varied or self._by_rank.setdefault(rank, final) != final

    @property
    def scored(self) -> bool:
        """Whether final scores tell something; a side without any tells nothing that would be wrong."""
        if self._largest is not None and self._largest < SMALLEST:
            return False
        return self._several < FEWEST_LISTS or self._varied


class BestScores:
    """The best score of each list that has one: of those that came with an abstention, and of the others.

    Attributes:
        answered: the least of the others; None where there is none.
    """

    def __init__(self) -> None:
        self.answered: float | None = None
        self._abstained: float | None = None
        self._sizes = [0, 0]

    def add(self, case: CaseScore) -> None:
        """Take a list."""
        scores = [entry.final for entry in case.entries if entry.final is not None]
        if not scores or case.failure is not None:
            return
        best, abstained = max(scores), _abstained(case)
        self._sizes[abstained] += 1
        if abstained:
            self._abstained = best if self._abstained is None else max(self._abstained, best)
        else:
            self.answered = best if self.answered is None else min(self.answered, best)

    @property
    def threshold(self) -> Range | None:
        """The best score of any answer that abstained and the least of those that did not, if these are all above.

        Where none abstained, or all did, one of the two is None.
        """
        if sum(self._sizes) < FEWEST_ANSWERS or any(0 < size < FEWEST_OF_EACH for size in self._sizes):
            return None
        if self._abstained is not None and self.answered is not None and self._abstained >= self.answered:
            return None
        return self._abstained, self.answered


def _abstained(case: CaseScore) -> bool:
    return 1 in (case.values.get(ABSTENTION_ACCURACY), case.values.get(FALSE_ABSTENTION_RATE))


def _floors(lowest: Sequence[float], least: float | None) -> tuple[float | None, float | None]:
    enough = least is not None and len(lowest) == FEWEST_BELOW and lowest[-1] < least
    limited = enough and least is not None and not same_score(lowest[-1], least)
    return (lowest[0], least) if limited else (None, None)


def _folders(scorecard: Scorecard, mode: str) -> dict[str, int]:
    counted = scorecard.fingerprint.get("folders")
    counts = counted.get(mode) if isinstance(counted, Mapping) else None
    return {key: n for key, n in counts.items() if type(n) is int} if isinstance(counts, Mapping) else {}
