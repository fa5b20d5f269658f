"""How far the lists of a run are from those of the baseline; what is expected of them is not looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from raggate.config.invariant_settings import Invariants
from raggate.gate.shared_chunks import renumbered
from raggate.gate.statistics.rank_overlap import rank_biased_overlap
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.fingerprint import cutoffs_of
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard
from raggate.text.numbers import counted, fixed, rounded

ALIKE = 0.8
"""Mean overlap below which the lists as a whole count as others, and share of their length below which as shorter."""

NAME = "lists_alike"
SHOWN = 4
_SCORE_DECIMALS = 6  # of a baseline's scores, by which ties are seen alike on both sides

_Pair = tuple[str, Sequence[ListEntry], Sequence[ListEntry]]
"""A question by name, and its lists in the baseline and now."""


def findings(scorecard: Scorecard, baseline: Baseline | None, levels: Invariants) -> tuple[Finding, ...]:
    """Say that lists are others than the baseline's, shorter, or empty where they were not.

    Nothing is said where the baseline keeps no lists. To the overlap a list that was cut is the same list, as it agrees
    as far as it goes; so lengths are told by themselves.

    Args:
        scorecard: the run's.
        baseline: what it is compared with; None without one.
        levels: whether that is looked at, and what it does.
    """
    level = getattr(levels, NAME)
    pairs = list(_pairs(scorecard, baseline)) if baseline is not None and level != "off" else []
    if not pairs:
        return ()
    # a question is told once, by the first that is true of its list
    differing = {
        name: f"{name}: nothing came back, the baseline's run had chunks" for name, a, b in pairs if a and not b
    }
    overall = []
    depth = _depth(scorecard, baseline) if baseline is not None else None
    for summary, names in (_others(pairs), _shorter(pairs, depth)):
        overall += [summary] if names else []
        differing = {**differing, **{name: words for name, words in names.items() if name not in differing}}
    if not differing:
        return ()
    message = Invariants.model_fields[NAME].description or NAME
    return (
        Finding(
            invariant=NAME,
            level=level,
            message=message,
            count=len(differing),
            examples=(*overall, *differing.values())[: SHOWN + len(overall)],
        ),
    )


def _others(pairs: Sequence[_Pair]) -> tuple[str, dict[str, str]]:
    """Say how far lists overlap on average, and which do so least; name none where they do enough."""
    key = _key(pairs)
    overlaps = sorted((rank_biased_overlap(_ranking(a, key), _ranking(b, key)), name) for name, a, b in pairs)
    mean = sum(overlap for overlap, _ in overlaps) / len(overlaps)
    by_notes = ", by notes, as chunks have other ids" if key == "note" and _have_ids(pairs) else ""
    summary = f"rank-biased overlap {fixed(mean, 2)} on average of {counted(len(overlaps), 'list')}{by_notes}"
    named = overlaps if mean < ALIKE else []
    return summary, {name: f"{name}: overlap {fixed(overlap, 2)}" for overlap, name in named if overlap < ALIKE}


def _shorter(pairs: Sequence[_Pair], depth: int | None) -> tuple[str, dict[str, str]]:
    """Say how long lists are on average, and which lost most; name none where they are long enough.

    Lists are kept down to a rank. What is as long as that may have been longer.
    """
    cut_off = {len(entries) for _, *lists in pairs for entries in lists if depth is not None and len(entries) >= depth}
    before, now = (sum(map(len, lists)) for lists in zip(*(lists for _, *lists in pairs), strict=True))
    means = (fixed(total / len(pairs), 1) for total in (now, before))
    within = f", counted to rank {depth}" if cut_off else ""
    summary = "lists of {} chunks on average, {} in the baseline's run{}".format(*means, within)
    lost = sorted((len(b) / len(a), name, len(a), len(b)) for name, a, b in pairs if len(b) < ALIKE * len(a))
    named = lost if now < ALIKE * before else []
    return summary, {
        name: f"{name}: {counted(short, 'chunk')} came back, {long}{' or more' if long in cut_off else ''} in the "
        "baseline's run"
        for _, name, long, short in named
    }


def _pairs(scorecard: Scorecard, baseline: Baseline) -> Iterator[_Pair]:
    """Give the lists of the questions that are the same on both sides and were answered on both, equally far down."""
    if not any(case.entries for case in baseline.scorecard.cases):
        return
    stored = {(case.mode, case.case_id): case for case in baseline.scorecard.cases}
    depth = _depth(scorecard, baseline)
    for case in scorecard.cases:
        before = stored.get((case.mode, case.case_id))
        if before is not None and before.hash == case.hash and _answered(before, case):
            yield f"{case.case_id} ({case.mode})", before.entries[:depth], case.entries[:depth]


def _depth(scorecard: Scorecard, baseline: Baseline) -> int | None:
    """Give the rank down to which both sides keep lists; None where that is not known."""
    depths = [max(cutoffs_of(side.fingerprint), default=None) for side in (scorecard, baseline.scorecard)]
    return min((depth for depth in depths if depth is not None), default=None)


def _answered(*cases: CaseScore) -> bool:
    return all(case.failure is None for case in cases)


def _key(pairs: Sequence[_Pair]) -> str:
    """Say by what places are told apart: their chunk, or their note where ids of chunks are not the baseline's."""
    before = [entry for _, entries, _ in pairs for entry in entries]
    now = [entry for _, _, entries in pairs for entry in entries]
    same = {entry.chunk for entry in before} & {entry.chunk for entry in now} - {""}
    return "chunk" if same and not renumbered(before, now) else "note"


def _have_ids(pairs: Sequence[_Pair]) -> bool:
    """Say whether chunks of both sides have ids: where nothing comes back, none has another."""
    before = {entry.chunk for _, entries, _ in pairs for entry in entries}
    now = {entry.chunk for _, _, entries in pairs for entry in entries}
    return bool(before - {""} and now - {""})


def _ranking(entries: Sequence[ListEntry], key: str) -> list[list[str]]:
    """Give the places as groups of equal scores; a note counts where it stands first."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for _, tied in groupby(enumerate(entries), key=_score):
        names = [name for _, entry in tied if (name := getattr(entry, key)) and name not in seen]
        groups.append(list(dict.fromkeys(names)))
        seen |= set(names)
    return [group for group in groups if group]


def _score(place: tuple[int, ListEntry]) -> object:
    position, entry = place
    # what has no score is tied with nothing
    return ("rank", position) if entry.final is None else rounded(entry.final, _SCORE_DECIMALS)
