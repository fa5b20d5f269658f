"""What all lists of both sides show together, which a single answer does not: weights, thresholds, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from raggate.gate.score_weights import PARTS, fitted_weights
from raggate.models.cause import CauseEvidence, ListEvidence, Range
from raggate.models.comparison import NoteChange
from raggate.models.fingerprint import Fingerprint, notes_of
from raggate.models.metric_names import ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard

SAME_SCORE = 1e-5
"""Scores that differ by no more are the same: baselines round them, and some APIs add in 32 bits."""

FEWEST_SHARED = 20
"""Chunks on both sides' lists from which on it can be said whether they are scored as before."""

RESCORED = 0.01
"""Share of these that may score otherwise while the scores as a whole count as they were."""

FEWEST_ANSWERS = 20
"""Answers from which on a threshold can be seen."""

FEWEST_OF_EACH = 3
"""Answers of them that must abstain, and that must not: so many are not apart by their scores by accident."""


def cause_evidence(run: Run, now: Scorecard, before: Scorecard, changes: Iterable[NoteChange]) -> CauseEvidence:
    """Gather what causes are looked for in.

    Args:
        run: the run.
        now: its scores.
        before: those of the baseline.
        changes: how the notes differ between the two.
    """
    modes = dict.fromkeys(case.mode for case in now.cases)
    sides = {mode: [[case for case in side.cases if case.mode == mode] for side in (before, now)] for mode in modes}
    retrieved: dict[str, dict[str, set[str]]] = {mode: {} for mode in modes}
    for item in run.results:
        for chunk in item.result.response.chunks if item.result.response else ():
            retrieved[item.result.mode].setdefault(chunk.rel_path, set()).add(chunk.heading_path)
    return CauseEvidence(
        notes=notes_of(run.fingerprint),
        changes={change.note: change.kind for change in changes},
        lists={mode: list_evidence(*cases) for mode, cases in sides.items()},
        retrieved=retrieved,
        recut=_recut(before.fingerprint, now.fingerprint),
        documents=_documents(before.fingerprint, now.fingerprint),
        folders={mode: (_folders(before, mode), _folders(now, mode)) for mode in modes},
    )


def list_evidence(before: Sequence[CaseScore], now: Sequence[CaseScore]) -> ListEvidence:
    """Say what the lists of one mode show on both sides."""
    return ListEvidence(
        weights=(fitted_weights(_entries(before)), fitted_weights(_entries(now))),
        thresholds=(threshold(before), threshold(now)),
        floors=(_floor(before), _floor(now)),
        longest=max((len(case.entries) for case in now), default=0),
        rescored=_rescored({case.case_id: case for case in before}, now),
    )


def threshold(cases: Iterable[CaseScore]) -> Range | None:
    """Give the best score of any answer that abstained and the least of those that did not, if these are all above.

    Where none abstained, or all did, one of the two is None.
    """
    best: dict[bool, list[float]] = {True: [], False: []}
    for case in cases:
        scores = [entry.final for entry in case.entries if entry.final is not None]
        if scores and case.failure is None:
            best[_abstained(case)].append(max(scores))
    sizes = [len(scores) for scores in best.values()]
    if sum(sizes) < FEWEST_ANSWERS or any(0 < size < FEWEST_OF_EACH for size in sizes):
        return None
    abstained, answered = max(best[True], default=None), min(best[False], default=None)
    if abstained is not None and answered is not None and abstained >= answered:
        return None
    return abstained, answered


def _abstained(case: CaseScore) -> bool:
    return 1 in (case.values.get(ABSTENTION_ACCURACY), case.values.get(FALSE_ABSTENTION_RATE))


def _entries(cases: Iterable[CaseScore]) -> Iterator[ListEntry]:
    return (entry for case in cases for entry in case.entries)


def _floor(cases: Iterable[CaseScore]) -> float | None:
    return min((entry.final for entry in _entries(cases) if entry.final is not None), default=None)


def _rescored(before: Mapping[str, CaseScore], now: Iterable[CaseScore]) -> dict[str, bool]:
    """Say by score whether chunks have other ones for the same questions; nothing where too few stand on both lists."""
    shared, moved = Counter[str](), Counter[str]()
    for case in now:
        old = before.get(case.case_id)
        known = {entry.chunk: entry for entry in old.entries} if old is not None and old.hash == case.hash else {}
        for entry in case.entries:
            same = known.get(entry.chunk) if entry.chunk else None
            for score in ("final", *PARTS) if same is not None else ():
                values = getattr(same, score), getattr(entry, score)
                if None not in values:
                    shared[score] += 1
                    moved[score] += abs(values[0] - values[1]) > SAME_SCORE
    return {score: moved[score] > RESCORED * count for score, count in shared.items() if count >= FEWEST_SHARED}


def _recut(before: Fingerprint, now: Fingerprint) -> bool:
    known = before.get("vault") is not None and before.get("vault") == now.get("vault")
    keys = ("chunks", "chunk_tokens", "index_version", "chunker_version")
    return known and any(None is not before.get(key) != now.get(key) is not None for key in keys)


def _documents(before: Fingerprint, now: Fingerprint) -> tuple[int, int] | None:
    """Give how many documents the index held and holds, of the same notes; None where that is not known."""
    was, is_now = before.get("documents"), now.get("documents")
    same = before.get("vault") is not None and before.get("vault") == now.get("vault")
    return (was, is_now) if same and type(was) is int and type(is_now) is int else None


def _folders(scorecard: Scorecard, mode: str) -> dict[str, int]:
    counted = scorecard.fingerprint.get("folders")
    counts = counted.get(mode) if isinstance(counted, Mapping) else None
    return {key: n for key, n in counts.items() if type(n) is int} if isinstance(counts, Mapping) else {}
