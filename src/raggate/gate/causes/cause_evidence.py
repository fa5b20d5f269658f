"""What all lists of both sides show together, which a single answer does not: weights, thresholds, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import pairwise
from math import fsum
from operator import attrgetter, mul

from msgspec import Struct
from msgspec.structs import replace

from raggate.gate.causes.folder_causes import beyond, no_limit, told
from raggate.gate.causes.index_change import IndexChange
from raggate.gate.causes.passages import Holders, first_ranks, vaults_named
from raggate.models.comparison import CauseEvidence, FolderKind, ListEvidence, NoteChange, Range, same_score
from raggate.models.metric_names import ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE
from raggate.models.provenance import notes_of
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard, by_question, same_questions

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
MOST_LISTS = 2_000
"""Lists that weights are fitted to at most."""
APART = 1e-3
"""Share of a part's own length that must be left once the other is taken out of it; below, they go together."""
Weights = Mapping[str, float]


def cause_evidence(
    run: Run, now: Scorecard, before: Scorecard, changes: Iterable[NoteChange], overview: Overview | None = None
) -> CauseEvidence:
    """Gather what causes are looked for in."""
    overview = overview_of(run, by_question(before.cases)) if overview is None else overview
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
    """Return what the lists of one mode show; `least` is the lowest score of any chunk of the run, listed or not."""
    same = [*same_questions(before, now)]
    anew = renumbered(_entries(before), _entries(now))
    questions = [shared(old.entries, new.entries, by_note=anew) for old, new in same]
    answered = [pair for pair in same if pair[0].failure is None and pair[1].failure is None]
    was, is_now = (sum(len(pair[side].entries) for pair in answered) / max(len(answered), 1) for side in (0, 1))
    size = ListEvidence(
        longest=max((len(case.entries) for case in now), default=0),
        filled=(sum(bool(case.entries) for case in before), sum(bool(case.entries) for case in now)),
        lengths=(was, is_now),
        renumbered=anew,
        overtaking=max(map(_overtaken, questions), default=0),
    )
    if not (_scored(before) and _scored(now)):
        return replace(size, scored=False)
    pairs = [pair for question in questions for pair in question]
    return replace(
        size,
        weights=(fitted_weights(_spread(before)), fitted_weights(_spread(now))),
        thresholds=(threshold(before), threshold(now)),
        floors=_floors(nsmallest(FEWEST_BELOW, (score for case in before for score in _finals(case))), least),
        rescored=_rescored(pairs, by_note=anew),
        shift=max((abs(old - new) for old, new in _both(pairs, "final")), default=None),
        answered=min(_best_scores(now)[1], default=None),
        unordered=any(_rises(case) for case in (*before, *now)),
    )


def _entries(cases: Iterable[CaseScore]) -> Iterator[ListEntry]:
    return (entry for case in cases for entry in case.entries)


def _spread(cases: Sequence[CaseScore]) -> Iterator[ListEntry]:
    """Yield the chunks of `MOST_LISTS` lists at most, evenly spread: more would not change what the weights are."""
    return _entries(cases[:: len(cases) // MOST_LISTS + 1])


def _finals(case: CaseScore) -> list[float]:
    return [entry.final for entry in case.entries if entry.final is not None]


def _rises(case: CaseScore) -> bool:
    return any(lower > upper and not same_score(lower, upper) for upper, lower in pairwise(_finals(case)))


def _scored(cases: Iterable[CaseScore]) -> bool:
    """Whether final scores tell something; a side without any tells nothing that would be wrong."""
    lists = [case for case in cases if len(case.entries) > 1]
    largest = max((abs(score) for case in lists for score in _finals(case)), default=None)
    if largest is not None and largest < SMALLEST:
        return False
    by_rank: dict[int, float | None] = {}
    places = (place for case in lists for place in enumerate(case.entries))
    return len(lists) < FEWEST_LISTS or any(
        by_rank.setdefault(rank, entry.final) != entry.final for rank, entry in places
    )


def threshold(cases: Iterable[CaseScore]) -> Range | None:
    """Return the best score of any answer that abstained and the least of those that did not, if these are all above.

    Where none abstained, or all did, one of the two is None.
    """
    sides = _best_scores(cases)
    if sum(map(len, sides)) < FEWEST_ANSWERS or any(0 < len(side) < FEWEST_OF_EACH for side in sides):
        return None
    high, low = max(sides[0], default=None), min(sides[1], default=None)
    return None if high is not None and low is not None and high >= low else (high, low)


def _best_scores(cases: Iterable[CaseScore]) -> tuple[list[float], list[float]]:
    """Return the best score of each list: of those that came with an abstention, and of the others."""
    sides: tuple[list[float], list[float]] = [], []
    for case in cases:
        scores = _finals(case)
        if scores and case.failure is None:
            abstained = 1 in (case.values.get(ABSTENTION_ACCURACY), case.values.get(FALSE_ABSTENTION_RATE))
            sides[0 if abstained else 1].append(max(scores))
    return sides


def _floors(lowest: Sequence[float], least: float | None) -> tuple[float | None, float | None]:
    if least is None or len(lowest) < FEWEST_BELOW or lowest[-1] >= least or same_score(lowest[-1], least):
        return None, None
    return lowest[0], least


def _folders(scorecard: Scorecard, mode: str) -> dict[str, int]:
    counted = scorecard.fingerprint.get("folders")
    counts = counted.get(mode) if isinstance(counted, Mapping) else None
    return {key: n for key, n in counts.items() if type(n) is int} if isinstance(counts, Mapping) else {}


def renumbered(before: Iterable[ListEntry], now: Iterable[ListEntry]) -> bool:
    """Return whether a chunk id of the baseline stands for a chunk of another note now."""
    old, new = ({(entry.chunk, entry.note) for entry in side if entry.chunk and entry.note} for side in (before, now))
    was, is_now, kept = ({chunk for chunk, _ in places} for places in (old, new, old & new))
    return bool((was & is_now) - kept)


def shared(before: Sequence[ListEntry], now: Sequence[ListEntry], *, by_note: bool = False) -> list[Pair]:
    """The chunks on both lists of a question, in the order of the second; by their notes where ids are others."""
    if before == now and not by_note:
        # as most lists
        return [(rank, rank, entry, entry) for rank, entry in enumerate(now, 1) if entry.chunk]
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


def _overtaken(pairs: Sequence[Pair]) -> int:
    """Return how many chunks of a question rose above one that stood above them, at most."""
    if all(was == now for was, now, _, _ in pairs):
        return 0
    return max((sum(was > rank and now < place for was, now, _, _ in pairs) for rank, place, _, _ in pairs), default=0)


def _both(pairs: Iterable[Pair], score: str) -> Iterator[tuple[float, float]]:
    for _, _, old, new in pairs:
        before, after = getattr(old, score), getattr(new, score)
        if before is not None and after is not None:
            yield before, after


def _rescored(pairs: Sequence[Pair], *, by_note: bool) -> dict[str, bool]:
    """Return by score whether chunks have other ones; nothing where too few stand on both lists.

    By notes alone scores are known to be as before, but not to be others: another chunk of the note may be there.
    """
    shown = {}
    for score in ("final", *PARTS):
        moved = [not same_score(old, new) for old, new in _both(pairs, score)]
        others = sum(moved) > RESCORED * len(moved)
        if len(moved) >= FEWEST_SHARED and not (others and by_note):
            shown[score] = others
    return shown


def fitted_weights(entries: Iterable[ListEntry]) -> Weights | None:
    """Return the weight of each part of the score in the final one; None where the chunks do not agree on them exactly.

    Parts that no chunk has, or that are 0 in all, have no weight and are left out. Formula: the least-squares solution
    of final = sum of weight x part.
    """
    scored = [entry for entry in entries if entry.final is not None]
    parts = [part for part in PARTS if any(getattr(entry, part) for entry in scored)]
    table = map(attrgetter(*parts, "final"), scored) if parts else ()
    rows = [row for row in table if None not in row]
    columns = [*zip(*rows, strict=True)]
    fit = all(all(map(LARGEST.__ge__, map(abs, column))) for column in columns)
    if not parts or len(rows) < FEWEST or 2 * len(rows) < len(scored) or not fit:
        return None
    *of_parts, finals = columns
    weights = _least_squares(of_parts, finals)
    allowed = EXACT * max(map(abs, finals))
    sums = (fsum(map(mul, weights, values)) for values in zip(*of_parts, strict=True))
    exact = weights and all(abs(final - total) <= allowed for final, total in zip(finals, sums, strict=True))
    return dict(zip(parts, weights, strict=True)) if exact and allowed else None


def _least_squares(parts: Sequence[Sequence[float]], finals: Sequence[float]) -> list[float]:
    """Solve the normal equations of one part or two; nothing where two hardly differ but in length."""
    first, last = parts[0], parts[-1]
    lengths, both = (_dot(first, first), _dot(last, last)), _dot(first, last)
    to_first, to_last = _dot(first, finals), _dot(last, finals)
    if len(parts) == 1:
        return [to_first / lengths[0]] if lengths[0] else []
    apart = lengths[0] * lengths[1] - both * both
    if apart <= APART * lengths[0] * lengths[1]:
        return []
    return [(lengths[1] * to_first - both * to_last) / apart, (lengths[0] * to_last - both * to_first) / apart]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return fsum(map(mul, left, right))


class Overview(Struct, frozen=True, kw_only=True):
    """What is gathered of a run.

    Attributes:
        retrieved: path -> headings that came back under it, in answers of probes too.
        least: mode -> the lowest final score of any chunk that came back, however far down a list.
        beyond: mode -> the kinds of folders that are no limit to what comes back; see `folder_causes`.
        filled: the modes in which any chunk came back.
        labelled: mode -> questions with gold supports.
        by_heading: mode -> those of them whose supports all name a heading.
        has_heading: mode -> whether any chunk has one; modes in which no chunk came back are left out.
        gone: the notes with passages in the baseline's lists that no answer has anything of now.
    """

    retrieved: Mapping[str, set[str]]
    least: Mapping[str, float]
    beyond: Mapping[str, set[FolderKind]]
    filled: Collection[str]
    labelled: Counter[str]
    by_heading: Counter[str]
    has_heading: Mapping[str, bool]
    gone: Holders


def overview_of(run: Run, before: Mapping[tuple[str, str], CaseScore]) -> Overview:
    """Go through the answers of a run, and of its probes; `before` are the scores of the baseline, by mode and id."""
    retrieved: dict[str, set[str]] = {}
    for result in (*(item.result for item in run.answers), *(answer.result for answer in run.probes.answers)):
        for chunk in result.chunks:
            retrieved.setdefault(chunk.rel_path, set()).add(chunk.heading_path)
    outside: dict[str, tuple[Counter[FolderKind], Counter[FolderKind]]] = {}
    for item in run.answers:
        left, having = outside.setdefault(item.result.mode, (Counter(), Counter()))
        if item.result.response is not None:
            for kind in beyond(item.result.response):
                left[kind] += 1
            for kind in told(item.result.response):
                having[kind] += 1
    labelled, by_heading = Counter[str](), Counter[str]()
    least: dict[str, float] = {}
    has_heading: dict[str, bool] = {}
    listed: set[tuple[str, str | None]] = set()
    for item in run.results:
        mode, supports = item.result.mode, item.case.gold_supports
        if supports:
            labelled[mode] += 1
            by_heading[mode] += all(support.heading_path is not None for support in supports)
        for chunk in item.result.chunks:
            has_heading[mode] = has_heading.get(mode, False) or bool(chunk.heading_path.strip())
            if chunk.score_final is not None:
                least[mode] = min(least.get(mode, chunk.score_final), chunk.score_final)
        listed.update(_listed(item, before.get((mode, item.case.id))))
    return Overview(
        retrieved=retrieved,
        least=least,
        beyond={mode: no_limit(*counts) for mode, counts in outside.items()},
        filled={item.result.mode for item in run.answers if item.result.chunks},
        labelled=labelled,
        by_heading=by_heading,
        has_heading=has_heading,
        gone=vaults_named(place for place in listed if place[0] not in retrieved),
    )


def _listed(item: LabelledResult, old: CaseScore | None) -> Iterator[tuple[str, str | None]]:
    """Yield the notes, with their vaults as far as told, of the passages that the baseline's list holds."""
    case = item.case
    if item.result.response is None or old is None or old.hash != case.hash:
        return
    for index in first_ranks(old.entries):
        if index < len(case.gold_supports) and (support := case.gold_supports[index]).rel_path:
            vaults = case.vaults_of(support)
            yield support.rel_path, vaults[0] if len(vaults) == 1 else None
