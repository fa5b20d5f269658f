"""Why the questions got worse, one level up: what changed as a whole, and whether that explains most of them. Pure.

A change is named as the most likely cause if it was seen and most questions fit it. Where only what became of them is
seen, that is said, and no cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from raggate.gate.causes.index_change import IndexChange
from raggate.gate.causes.overall_changes import Change, Sort, overall_changes
from raggate.models.cause import GROUPS, Cause, CauseCode, Diagnosis
from raggate.models.comparison import Comparison, Flip
from raggate.models.verdict import Verdict
from raggate.text.quote import cut, enumerated

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
        "list-cut",
        "text-missing",
        "text-foreign",
        "heading-differs",
        "heading-ambiguous",
        "heading-partial",
        "heading-otherwise",
        "other-vault",
    )
)
"""Causes that explain a question by themselves. The others say what became of it."""

_SEEN: dict[CauseCode, str] = {
    "judged-by-answer": "the answers score lower",
    "not-listed": "the passages are not among the chunks returned",
}
"""What became of questions, where what they are called together says that nothing shows."""


_UNEXPLAINED: frozenset[CauseCode] = frozenset(("not-listed", "not-explained"))


def diagnose(comparison: Comparison, decided: Verdict, fallen: Sequence[Flip]) -> Diagnosis | None:
    """Say why the questions got worse that make the verdict red; None where there are none, or nothing was compared.

    Args:
        comparison: the run held against the baseline, with the questions that broke.
        decided: the verdict on it.
        fallen: the questions that got worse without breaking. Those that failed before too are no part of it.
    """
    worse = [flip for flip in (*comparison.flips, *fallen) if flip.kind in {"broke", "fell"} and decided.is_red(flip)]
    causes = [(flip.mode, flip.cause) for flip in worse if flip.cause is not None]
    if not causes or comparison.evidence is None or comparison.baseline is None:
        return None
    index = IndexChange(comparison.baseline.scorecard.fingerprint, comparison.scorecard.fingerprint)
    changes = overall_changes(index, comparison.evidence, worse)
    counts = Counter(GROUPS[cause.code] for _, cause in causes)
    these = _these(causes, red=decided.outcome in {"regression", "failed in part"})
    return Diagnosis(
        questions=len(causes),
        counts=tuple(counts.most_common()),
        changes=tuple(_in_words(changes, len(comparison.evidence.lists))),
        likely=_likely_change(causes, changes, len(comparison.evidence.lists), these) or _likely_cause(causes, these),
    )


def _in_words(changes: Sequence[Change], modes: int) -> Iterator[str]:
    """Give the words of changes, with the modes they are of where these are not all."""
    same: dict[tuple[str, str, str], list[Change]] = {}
    for change in changes:
        same.setdefault((change.of, change.words, change.condition), []).append(change)
    for (of, words, condition), alike in same.items():
        yield of + words + _where(alike, modes) + condition


def _where(changes: Sequence[Change], modes: int) -> str:
    names = [cut(change.mode, limit=40) for change in changes if change.mode is not None]
    return f" in mode{'s' if len(names) > 1 else ''} {enumerated(names)}" if 0 < len(names) < modes else ""


def _as_one(changes: Sequence[Change], modes: int) -> str:
    """Give the words of the changes of one sort: what changed in which modes, with the numbers of one of them."""
    by_what: dict[str, list[Change]] = {}
    for change in changes:
        by_what.setdefault(change.what, []).append(change)
    parts = []
    for what, same in by_what.items():
        if len({change.facts for change in same}) == 1:
            parts.append(same[0].words + _where(same, modes))
        else:
            where = _where(same, modes) or " in all modes"
            parts.append(f"{what}{where} ({cut(same[0].mode, limit=40)}: {same[0].facts})")
    return changes[0].of + " and ".join(parts) + changes[0].condition


def _likely_change(causes: Sequence[tuple[str, Cause]], changes: Sequence[Change], modes: int, these: str) -> str:
    """Name the change that most questions fit, and more than fit any other; empty where most fit none."""
    total = len(causes)
    sorts: dict[Sort, list[Change]] = {}
    for change in changes:
        if any(change.fit(*cause) for cause in causes):
            sorts.setdefault(change.sort, []).append(change)
    fits = {sort: sum(any(change.fit(*cause) for change in same) for cause in causes) for sort, same in sorts.items()}
    most = sorted((sort for sort in fits if 2 * fits[sort] > total), key=lambda sort: -fits[sort])
    named = {sort: _as_one(sorts[sort], modes) for sort in most}
    equal = [sort for sort in most if fits[sort] == fits[most[0]]]
    if len(equal) > 1:
        return f"No single cause shows, as several changes fit equally: {'; '.join(named[sort] for sort in equal)}."
    also = (f" Also changed: {named[sort]}, which fits {fits[sort]} of them." for sort in most[1:])
    return (
        f"Most likely cause: {named[most[0]]}; it {_share(fits[most[0]], total)} {these}.{''.join(also)}"
        if most
        else ""
    )


def _likely_cause(causes: Sequence[tuple[str, Cause]], these: str) -> str:
    """Name the one cause that most questions have, or say that there is none."""
    total = len(causes)
    (code, number_of), *_ = Counter(cause.code for _, cause in causes).most_common(1)
    risen = Counter(words for _, cause in causes for words in _risen(cause))
    words = GROUPS[code] if code in _NAMED else ""
    for above, times in risen.most_common(1):
        words, number_of = (above, times) if 2 * times > total else (words, number_of)
    if words and 2 * number_of > total:
        return f"Most likely cause: {words} ({number_of} of {total} {these})." if total > 1 else ""
    if total == 1:
        return ""
    if 2 * number_of > total:
        seen = f": {_SEEN.get(code, GROUPS[code])}" if code != "not-explained" else ""
        return f"What caused it does not show{seen} ({number_of} of {total} {these})."
    seen_of = Counter(GROUPS[cause.code] for _, cause in causes if cause.code not in _UNEXPLAINED)
    most = max(seen_of.values(), default=0)
    if most < 2:
        return "No single cause shows."
    leading = "; ".join(f"{words} ({count} of {total})" for words, count in seen_of.items() if count == most)
    return f"The {these} have different causes. Most frequent: {leading}."


def _risen(cause: Cause) -> Iterator[str]:
    if cause.newer:
        yield f"notes {cause.newer} since the baseline rose above the passages"
    if cause.copy:
        yield "what rose above the passages says nearly the same"


def _these(causes: Sequence[tuple[str, Cause]], *, red: bool) -> str:
    """Say which questions those are: where something else decides, they make nothing red."""
    one = len(causes) == 1
    verb, end = ("makes" if one else "make", "it red") if red else ("counts" if one else "count", "against the change")
    # one that is lost in several modes can have a cause in each
    each = ", counted in each mode" if len({mode for mode, _ in causes}) > 1 else ""
    return f"question{'' if one else 's'} that {verb} {end}{each}"


def _share(fits: int, total: int) -> str:
    if total == 1:
        return "fits the"
    return f"fits {'all' if fits == total else f'{fits} of the'} {total}"
