"""Why the questions got worse, one level up: what changed as a whole, and whether that explains most of them. Pure.

A change is named as the most likely cause if it was seen and most questions fit it. Where only what became of them is
seen, that is said, and no cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from raggate.gate.cause_wording import GROUPS, between, number, threshold_change
from raggate.gate.folder_causes import first_is_skipped
from raggate.gate.score_weights import PARTS
from raggate.models.cause import Cause, CauseCode, CauseEvidence, Diagnosis, ListEvidence
from raggate.models.comparison import Comparison, Flip
from raggate.models.fingerprint import Fingerprint
from raggate.models.verdict import Verdict
from raggate.text.numbers import fixed
from raggate.text.quote import cut

OTHER_WEIGHT = 0.005
"""Difference of a weight from which on it is another one."""

FEWER_FOLDERS = 0.2
"""Share by which the mean number of selected folders must be smaller."""

_LARGEST = 1e9
_SIZES = ("documents", "chunks")
_REFUSED: frozenset[CauseCode] = frozenset(("below-threshold", "abstained", "nothing-retrieved"))

_RANKED: frozenset[CauseCode] = frozenset(
    ("demoted", "not-listed", "nothing-retrieved", "below-threshold", "abstained", "did-not-abstain", "other-section")
)
_CUT: frozenset[CauseCode] = _RANKED | {"snippet-gone", "anchor-gone", "anchor-moved", "heading-first", "not-explained"}
_NAMED: frozenset[CauseCode] = frozenset(
    (
        "api-error",
        "note-not-in-vault",
        "note-not-indexed",
        "folder-not-indexed",
        "anchor-gone",
        "anchor-moved",
        "folder-left-out",
        "folder-not-searched",
        "below-threshold",
        "text-missing",
        "text-foreign",
        "heading-differs",
        "other-vault",
    )
)
"""Causes that explain a question by themselves. The others say what became of it."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Something that changed as a whole, and which questions fit it: by cause, in one mode or in all."""

    words: str
    fits: Collection[CauseCode]
    mode: str | None = None
    kind: Literal["", "version", "scores"] = ""


def diagnose(comparison: Comparison, decided: Verdict, fallen: Sequence[Flip]) -> Diagnosis | None:
    """Say why the questions got worse that make the verdict red; None where there are none, or nothing was compared.

    Args:
        comparison: the run held against the baseline, with the questions that broke.
        decided: the verdict on it.
        fallen: the questions that got worse without breaking. Those that failed before too are no part of it.
    """
    worse = [flip for flip in (*comparison.flips, *fallen) if flip.kind in {"broke", "fell"} and not flip.waived]
    causes = [(flip.mode, flip.cause) for flip in worse if flip.cause is not None and decided.is_red(flip)]
    if not causes or comparison.evidence is None or comparison.baseline is None:
        return None
    before, now = comparison.baseline.scorecard.fingerprint, comparison.scorecard.fingerprint
    same_index = all(pair is not None and pair[0] == pair[1] for pair in (_both(before, now, key) for key in _SIZES))
    changes = [*_index(before, now), *_of_modes(comparison.evidence, same_index=same_index)]
    counts = Counter(GROUPS[cause.code] for _, cause in causes)
    return Diagnosis(
        questions=len(causes),
        counts=tuple(counts.most_common()),
        changes=tuple(change.words for change in changes),
        likely=_likely(causes, changes),
    )


def _likely(causes: Sequence[tuple[str, Cause]], changes: Sequence[_Change]) -> str:
    """Name the one change that most questions fit, else the one cause that most have; or say that there is none."""
    total = len(causes)
    most = [change for change in changes if 2 * _fitting(change, causes) > total]
    if any(change.kind == "scores" for change in most):
        # another version of an index of the same size, with other scores, is one change
        most = [change for change in most if change.kind != "version"]
    if len(most) > 1:
        return f"No single cause shows, as several changes fit: {'; '.join(change.words for change in most)}."
    if most:
        return f"Most likely cause: {most[0].words}; it {_share(_fitting(most[0], causes), total)}."
    (code, number_of), *_ = Counter(cause.code for _, cause in causes).most_common(1)
    risen = Counter(words for _, cause in causes for words in _risen(cause))
    words = GROUPS[code] if code in _NAMED else ""
    for above, times in risen.most_common(1):
        words, number_of = (above, times) if 2 * times > total else (words, number_of)
    if words and 2 * number_of > total:
        return f"Most likely cause: {words} ({number_of} of {total} questions that got worse)." if total > 1 else ""
    if total == 1:
        return ""
    if 2 * number_of > total:
        return f"What caused it does not show: {GROUPS[code]} ({number_of} of {total} questions that got worse)."
    return "No single cause shows."


def _risen(cause: Cause) -> Iterator[str]:
    if cause.newer:
        yield f"notes {cause.newer} since the baseline rose above the passages"
    if cause.copy:
        yield "what rose above the passages says nearly the same"


def _share(fits: int, total: int) -> str:
    if total == 1:
        return "fits the question that got worse"
    return f"fits {'all' if fits == total else f'{fits} of the'} {total} questions that got worse"


def _fitting(change: _Change, causes: Sequence[tuple[str, Cause]]) -> int:
    return sum(cause.code in change.fits for mode, cause in causes if change.mode in {None, mode})


def _index(before: Fingerprint, now: Fingerprint) -> Iterator[_Change]:
    """Say how the index differs: numbers where it is of the same notes, versions in any case."""
    documents, chunks, tokens = (_both(before, now, key) for key in ("documents", "chunks", "chunk_tokens"))
    if documents and documents[1] < documents[0]:
        words = f"the index holds {number(documents[1])} documents of the same notes, {number(documents[0])} before"
        yield _Change(words, {"note-not-indexed", "folder-not-indexed"})
    elif chunks and chunks[0] != chunks[1]:
        length = f", mean length {number(tokens[0])} → {number(tokens[1])} tokens" if tokens else ""
        words = f"the same notes are cut into other chunks ({number(chunks[0])} → {number(chunks[1])}{length})"
        yield _Change(words, _CUT)
    else:
        for key, noun in (("index_version", "index"), ("chunker_version", "chunker")):
            was, is_now = before.get(key), now.get(key)
            if was is not None and is_now is not None and was != is_now:
                yield _Change(
                    f"the {noun} is another version ({cut(was, limit=40)} → {cut(is_now, limit=40)})",
                    _CUT,
                    kind="version",
                )


def _both(before: Fingerprint, now: Fingerprint, key: str) -> tuple[float, float] | None:
    """Give a number that both sides know of an index of the same notes."""
    same = before.get("vault") is not None and before.get("vault") == now.get("vault")
    values = [side.get(key) for side in (before, now)]
    numbers = [float(value) for value in values if isinstance(value, int | float) and abs(value) < _LARGEST]
    return (numbers[0], numbers[1]) if same and len(numbers) == 2 else None


def _of_modes(evidence: CauseEvidence, *, same_index: bool) -> Iterator[_Change]:
    for mode, lists in evidence.lists.items():
        where = f" in mode {cut(mode, limit=40)}" if len(evidence.lists) > 1 else ""
        if same_index and lists.rescored.get("final") and not any(_other_weights(lists)):
            others = [part for part in PARTS if lists.rescored.get(part)] or ["final"]
            words = f"the same chunks have other {' and '.join(others)} scores, in an index of the same size"
            yield _Change(words + where, _RANKED, mode, "scores")
        for words, fits in (*_of_scores(lists), *_of_folders(evidence, mode)):
            yield _Change(words + where, fits, mode)


def _other_weights(lists: ListEvidence) -> list[str]:
    """Name the parts that weigh otherwise; none where that is not known, or chunks have the scores they had."""
    before, now = lists.weights
    if before is None or now is None or lists.steady:
        return []
    return [part for part in PARTS if _weighs_otherwise(part, before, now)]


def _of_scores(lists: ListEvidence) -> Iterator[tuple[str, Collection[CauseCode]]]:
    parts = _other_weights(lists)
    if parts:
        before, now = (weights or {} for weights in lists.weights)
        gone = [part for part in parts if part in before and abs(now.get(part, 0.0)) <= OTHER_WEIGHT]
        names = " and the ".join(gone)
        words = f"the {names} score no longer counts" if gone else "the final score is weighed otherwise"
        pairs = (f"{part} {number(before.get(part))} → {number(now.get(part))}" for part in parts)
        # where the others weigh what they did, it is the scores that are gone, and not their weight
        silent = gone == parts and not set(gone) & set(now)
        empty = f"no chunk has a {' or a '.join(gone)} score other than 0 any more"
        yield empty if silent else f"{words} (weights: {', '.join(pairs)})", _RANKED
    change = threshold_change(*lists.thresholds)
    if change:
        was, is_now = (between(limits) for limits in lists.thresholds)
        fits: frozenset[CauseCode] = _REFUSED if change == "higher" else frozenset(("did-not-abstain",))
        if lists.rescored.get("final"):
            # a threshold on another scale says nothing of why scores are below it
            fits = frozenset()
        yield f"the score below which the API abstains is {change} ({is_now}, {was} before)", fits


def _weighs_otherwise(part: str, before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    return (part in before) != (part in now) or abs(before.get(part, 0.0) - now.get(part, 0.0)) > OTHER_WEIGHT


def _of_folders(evidence: CauseEvidence, mode: str) -> Iterator[tuple[str, Collection[CauseCode]]]:
    before, now = evidence.folders.get(mode, ({}, {}))
    if first_is_skipped(evidence, mode):
        words = (
            f"nothing comes from the folder that is selected first, in none of {now['several']} answers "
            f"({before['served']} of {before['several']} before)"
        )
        yield words, {"folder-not-searched", "chunk-not-searched", "not-listed"}
    means = [side["selected"] / side["answers"] for side in (before, now) if side.get("answers") and "selected" in side]
    if len(means) == 2 and means[1] < (1 - FEWER_FOLDERS) * means[0]:
        yield (
            f"fewer folders are selected ({fixed(means[0], 1)} → {fixed(means[1], 1)} in the mean)",
            {"folder-left-out"},
        )
