"""What all lists of both sides show together, which a single answer does not: weights, thresholds, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from itertools import pairwise
from math import fsum, inf, isnan, nan, sqrt
from operator import attrgetter

from msgspec.structs import replace

from raggate.gate.causes.index_change import IndexChange
from raggate.gate.overview import Overview
from raggate.models.comparison import CauseEvidence, ListEvidence, NoteChange, Range, same_score
from raggate.models.metric_names import ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE
from raggate.models.provenance import notes_of
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


FEWEST_SHARED = 20
"""Chunks on both sides' lists from which on it can be said whether they are scored as before."""
RESCORED = 0.01
"""Share of these that may score otherwise while the scores as a whole count as they were."""
Pair = tuple[int, int, ListEntry, ListEntry]
"""The ranks of a chunk in the baseline's list and in this one, and its places there."""
PARTS = ("vector", "lexical")
"""The parts of a score that entries hold."""
FEWEST = 12
"""Chunks from which on that all agree is no accident."""
EXACT = 1e-3
"""Share of the largest final score by which the sum of the parts may miss one: APIs round, and some add in 32 bits."""
LARGEST = 1e6
"""Scores beyond it, either way, are none that weights can be told of exactly."""
APART = 1e-3
"""Share of a part's own length that must be left once the others are taken out of it; below, they go together."""
Weights = Mapping[str, float]
_Row = tuple[float, ...]
_SCORES = attrgetter(*PARTS, "final")


def cause_evidence(
    run: Run, now: Scorecard, before: Scorecard, changes: Iterable[NoteChange], overview: Overview | None = None
) -> CauseEvidence:
    """Gather what causes are looked for in."""
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
    """Say what the lists of one mode show on both sides."""
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


class Renumbered:
    """The notes that the chunks of both sides are of, by their ids."""

    def __init__(self) -> None:
        self._notes: tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]] = ({}, {})
        # most chunks are of one note, and have that in common with the others of it
        self._alone: dict[str, frozenset[str]] = {}

    def add(self, side: int, entries: Iterable[ListEntry]) -> None:
        """Take places of lists of the baseline, side 0, or of the run, side 1."""
        known = self._notes[side]
        for entry in entries:
            if not entry.chunk or not entry.note:
                continue
            notes = known.get(entry.chunk)
            if notes is None:
                known[entry.chunk] = self._alone.setdefault(entry.note, frozenset((entry.note,)))
            elif entry.note not in notes:
                known[entry.chunk] = notes | {entry.note}

    @property
    def anew(self) -> bool:
        """Whether a chunk that the baseline has stands for one of another note now."""
        old, new = self._notes
        return any(not old[chunk] & new[chunk] for chunk in old.keys() & new.keys())


def shared(before: Sequence[ListEntry], now: Sequence[ListEntry], *, by_note: bool = False) -> list[Pair]:
    """The chunks on both lists of a question, in the order of the second; by their notes where ids are others."""
    known = {name: (rank, entry) for rank, name, entry in _named(before, by_note=by_note)}
    pairs = ((known[name], rank, entry) for rank, name, entry in _named(now, by_note=by_note) if name in known)
    return [(was, rank, old, entry) for (was, old), rank, entry in pairs]


def _named(entries: Sequence[ListEntry], *, by_note: bool) -> Iterator[tuple[int, object, ListEntry]]:
    """Name the places of a list, by rank: by their chunk, or by the how manieth of its note each is."""
    times = Counter[str]()
    for rank, entry in enumerate(entries, 1):
        times[entry.note] += 1
        if by_note and entry.note:
            yield rank, (entry.note, times[entry.note]), entry
        elif not by_note and entry.chunk:
            yield rank, entry.chunk, entry


def same_questions(before: Sequence[CaseScore], now: Iterable[CaseScore]) -> Iterator[tuple[CaseScore, CaseScore]]:
    """Yield the questions that are the same on both sides, of any modes, each with its past."""
    known = by_question(before)
    for case in now:
        old = known.get((case.mode, case.case_id))
        if old is not None and old.hash == case.hash:
            yield old, case


class SharedScores:
    """How chunks on both lists of a question are scored and ranked, over questions that pass by.

    Attributes:
        shift: by how much the final score of any of them moved at most; None where none has one on both sides.
        overtaking: how many of a question rose above one that stood above them, at most.
    """

    def __init__(self, *, by_note: bool = False) -> None:
        self.shift: float | None = None
        self.overtaking = 0
        self._by_note = by_note
        self._counts, self._moved = Counter[str](), Counter[str]()

    def add(self, pairs: Sequence[Pair]) -> None:
        """Take the shared chunks of a question."""
        if any(was != now for was, now, _, _ in pairs):
            risen = (sum(was > rank and now < place for was, now, _, _ in pairs) for rank, place, _, _ in pairs)
            self.overtaking = max(self.overtaking, *risen)
        for _, _, old, new in pairs:
            for score in ("final", *PARTS):
                before, after = getattr(old, score), getattr(new, score)
                if before is not None and after is not None:
                    self._counts[score] += 1
                    self._moved[score] += not same_score(before, after)
            if old.final is not None and new.final is not None:
                self.shift = max(abs(old.final - new.final), self.shift or 0.0)

    @property
    def rescored(self) -> Mapping[str, bool]:
        """By score whether chunks have other ones; nothing where too few stand on both lists.

        By notes alone scores are known to be as before, but not to be others: another chunk of the note may be there.
        """
        shown = {
            score: self._moved[score] > RESCORED * count
            for score, count in self._counts.items()
            if count >= FEWEST_SHARED
        }
        return {score: others for score, others in shown.items() if not (others and self._by_note)}


class ScoreParts:
    """The parts and the final score of all places of lists that have one, which pass by.

    Attributes:
        table: a row for each place: its parts, and the final score.
        scored: how many places that are.
        known: which parts are not 0 in all.
    """

    def __init__(self) -> None:
        self.table: list[_Row] = []
        self.scored = 0
        self.known = [False] * len(PARTS)

    def add(self, entries: Iterable[ListEntry]) -> None:
        """Take the places of a list."""
        rows = [row for row in map(_SCORES, entries) if row[-1] is not None]
        self.table += [tuple(map(_number, row)) for row in rows]
        self.known = [has or any(row[at] for row in rows) for at, has in enumerate(self.known)]
        self.scored += len(rows)


def _number(score: float | None) -> float:
    # what is no number agrees with nothing, as infinity does; what is not told has no say
    return nan if score is None else inf if isnan(score) else score


def fitted_weights(scores: ScoreParts) -> Weights | None:
    """Return the weight of each part of the score in the final one; None where the chunks do not agree on them exactly.

    Parts that no chunk has, or that are 0 in all, have no weight and are left out. Formula: the least-squares solution
    of final = sum of weight x part, by the normal equations of the parts scaled to length 1.
    """
    parts = tuple(part for part, any_of_it in zip(PARTS, scores.known, strict=True) if any_of_it)
    rows = _whole_rows(scores.table, [*map(PARTS.index, parts), len(PARTS)])
    fit = all(abs(value) <= LARGEST for row in rows for value in row)
    if not parts or len(rows) < FEWEST or 2 * len(rows) < scores.scored or not fit:
        return None
    places, finals = range(len(parts)), len(parts)
    lengths = [sqrt(fsum(row[at] * row[at] for row in rows)) for at in places]
    if not all(lengths):
        return None
    scales = [*lengths, 1.0]
    solution = _solve(
        [
            [fsum((row[at] / scales[at]) * (row[other] / scales[other]) for row in rows) for other in (*places, finals)]
            for at in places
        ]
    )
    if solution is None:
        return None
    weights = [weight / length for weight, length in zip(solution, lengths, strict=True)]
    allowed = EXACT * max(abs(row[-1]) for row in rows)
    exact = all(abs(_dot(weights, row[:-1]) - row[-1]) <= allowed for row in rows)
    return dict(zip(parts, weights, strict=True)) if exact and allowed else None


def _whole_rows(table: Iterable[_Row], columns: Sequence[int]) -> list[_Row]:
    chosen = (tuple(row[at] for at in columns) for row in table)
    return [row for row in chosen if not any(map(isnan, row))]


def _solve(rows: list[list[float]]) -> list[float] | None:
    """Solve symmetric equations of unit diagonal, right-hand side last; None where they hardly tell the parts apart."""
    size = len(rows)
    for pivot in range(size):
        if rows[pivot][pivot] < APART:
            return None
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot] / rows[pivot][pivot]
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[pivot], strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(rows)]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return fsum(a * b for a, b in zip(left, right, strict=True))
