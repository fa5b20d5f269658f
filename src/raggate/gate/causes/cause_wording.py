"""The sentences of causes, all in one place: each says what was seen, and no more. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from raggate.base.numbers import SHOWN_DECIMALS, counted, decimals_apart, fixed
from raggate.base.quote import cut, enumerated, listed
from raggate.models.comparison import SAME_SCORE, Cause, CauseCode, Range, same_score
from raggate.models.scorecard import ListEntry

SHOWN_FOLDERS = 4
SHOWN_OVERTAKERS = 2
SHOWN_NAME = 100
"""Characters of the name of a chunk that overtook a passage."""

_PLAIN: dict[CauseCode, str] = {
    "note-not-in-vault": "{subject} is not in the vault",
    "anchor-gone": "no answer has a passage under {subject} any more; the nearest heading of its note that came back "
    "is {other}",
    "snippet-gone": "{subject} is at rank {rank}, but without the gold snippet {words} (another piece, cut, or "
    "reworded)",
    "text-foreign": "{subject} is at rank {rank}, but without a text of its own",
    "other-vault": "the note at rank {rank} has the same path, but is in vault {other}, not in {subject}",
    "heading-first": "the first passage has the question's words only in its heading: {subject}",
    "folder-not-searched": "its folder {subject} was selected ({rank} of {folders}), and nothing came from it",
    "list-cut": "the list ends before rank {rank}, where it was, and holds only the start of the baseline's list",
    "judged-by-answer": "judged by the answer, not by what was retrieved",
}
"""Sentences that only need the fields of a cause."""


def sentence(cause: Cause) -> str:
    """Return the sentence for a cause, without a full stop."""
    if cause.code in _PLAIN:
        shown = {"subject": cause.subject, "other": cause.other, "words": cause.words, "rank": cause.rank}
        words = _PLAIN[cause.code].format(**shown, folders=len(cause.folders))
    else:
        words = _SENTENCES[cause.code](cause)
    return f"{cause.passage}: {words}" if cause.passage else words


def _api_error(cause: Cause) -> str:
    if cause.other != "aborted":
        return f"the call failed: {cause.words}"
    return "it was not asked" + (f": {cause.words}" if cause.words not in {"", "not asked"} else "")


def _heading(cause: Cause) -> str:
    other = " another section" if cause.code == "other-section" and cause.other else ""
    under = f"under {cause.other}" if cause.other else "without a heading path"
    return f"{cause.subject} is at rank {cause.rank}, but {f'with{other}' if other else under}"


def _note_not_indexed(cause: Cause) -> str:
    before, now = cause.documents or (0, 0)
    return (
        f"no answer has a passage of the note, and the index has {counted(now, 'document')} "
        f"({before} in the baseline's run)"
    )


def _folder_not_indexed(cause: Cause) -> str:
    missing = f"{cause.subject} is not {'in the index' if cause.other == 'index' else 'available'}"
    return f"{missing} (available: {counted(len(cause.folders), 'other folder')})"


def _folder_left_out(cause: Cause) -> str:
    verdict = "folder selection left it out" if cause.other else "its folder is not among the selected ones"
    return f"{verdict} (selected: {listed(cause.folders, SHOWN_FOLDERS)})"


def _chunk_not_searched(cause: Cause) -> str:
    score = cause.before.final if cause.before is not None else None
    write = writer(score, cause.last)
    return (
        f"the passage at rank {cause.rank} in the baseline (score {write(score)}) did not come back, although passages "
        f"scoring as low as {write(cause.last)} did and scores are as before: it is not in the index as it was, was "
        "not searched, or was left out of the list afterwards"
    )


def _demoted(cause: Cause) -> str:
    above = f"; the passage now above it is from a note {cause.newer} since the baseline" if cause.newer else ""
    returned = counted(cause.returned or 0, "passage")
    if cause.after is None and cause.last is not None:
        score = cause.before.final if cause.before is not None else None
        write = writer(score, cause.last)
        return (
            f"is no longer among the {returned} returned: the last one scores {write(cause.last)} "
            f"(in the baseline it scored {write(score)}){above}"
        )
    scores = _scores(cause.before, cause.after) if cause.before and cause.after else ""
    where = f"fell from rank {cause.rank}" if cause.rank else "fell"
    return f"{where} among the {returned} returned{scores}{_overtaken(cause) if scores else ''}{above}"


def _overtaken(cause: Cause) -> str:
    """Name the chunks that overtook a passage whose score did not fall; empty without any."""
    names = [
        f"{cut(name, limit=SHOWN_NAME)} "
        f"({f'{number(now)}, not listed before' if before is None else _change(before, now)})"
        for name, before, now in cause.overtakers
    ]
    more = len(names) - SHOWN_OVERTAKERS
    shown = [*names[:SHOWN_OVERTAKERS], *([f"{more} more"] if more > 0 else [])]
    return f"; overtaken by {enumerated(shown)}" if names else ""


def _scores(before: ListEntry, after: ListEntry) -> str:
    if before.final is None or after.final is None or before.chunk != after.chunk or not before.chunk:
        return ""
    return f"; score {_change(before.final, after.final)}"


def _change(before: float | None, after: float | None) -> str:
    if before is not None and after is not None and same_score(before, after):
        return f"{number(after)} as before"
    write = writer(before, after)
    return f"{write(before)} → {write(after)}"


def _below_threshold(cause: Cause) -> str:
    before, now = cause.limits
    if cause.after is None:
        # by what is returned at all: the lower bounds are the least scores of any chunk
        least, was = (limits[0] if limits else None for limits in (now, before))
        score = cause.before.final if cause.before is not None else None
        write = writer(score, least, was)
        return (
            f"it scored {write(score)} in the baseline, and nothing below {write(least)} is returned any more "
            f"({write(was)} in the baseline)"
        )
    reason, best = f" ({cause.words})" if cause.words else "", cause.after.final
    write = writer(best, *(before or ()), *(now or ()))
    # an API may abstain at its threshold too, or answer there
    return (
        f"the API abstained{reason}: its best score, {write(best)}, does not pass its threshold, which is "
        f"{between(now, write)}{_moved(before, now, write)}"
    )


def _abstained(cause: Cause) -> str:
    if cause.other:
        return "the answer is empty, which counts as abstaining"
    reason = f" ({cause.words})" if cause.words else ""
    return f"the API abstained{reason}{f', with the passage at rank {cause.rank}' if cause.rank else ''}"


def _did_not_abstain(cause: Cause) -> str:
    parts = ["answered instead of abstaining"] if cause.other else []
    if cause.subject:
        parts.append(f"it cites {cause.subject}" if cause.words else f"the first passage retrieved is {cause.subject}")
    before, now = cause.limits
    if threshold_change(before, now) == "lower":
        write = writer(*(before or ()), *(now or ()))
        parts.append(f"the threshold is {between(now, write)}{_moved(before, now, write)}")
    return "; ".join(parts) or "nothing was retrieved, and it did not say so"


def threshold_change(before: Range | None, now: Range | None) -> str:
    """Whether a threshold is `higher` or `lower` for certain; empty where it may be the same, or is not known."""
    if before is None or now is None:
        return ""
    return "higher" if _above(now[0], before[1]) else "lower" if _above(before[0], now[1]) else ""


def _above(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low > high and not same_score(low, high)


def between(limits: Range | None, write: Callable[[float | None], str]) -> str:
    """Return where a threshold is, with its scores written so."""
    low, high = limits or (None, None)
    if low is None:
        return f"at most {write(high)}"
    return f"at least {write(low)}" if high is None else f"between {write(low)} and {write(high)}"


def _moved(before: Range | None, now: Range | None, write: Callable[[float | None], str]) -> str:
    return f" ({between(before, write)} in the baseline)" if threshold_change(before, now) else ""


def _nothing_retrieved(cause: Cause) -> str:
    return f"nothing was retrieved{f' ({cause.words})' if cause.words else ''}"


def _not_listed(cause: Cause) -> str:
    count = cause.returned or 0
    return "not the one passage returned" if count == 1 else f"not among the {count} passages returned"


def _not_explained(cause: Cause) -> str:
    returned = counted(cause.returned or 0, "passage")
    if cause.other:
        return f"its first answer {cause.other}"
    if cause.rank is None:
        return f"{returned} returned; no passage is expected"
    return f"every expected passage is among the {returned} returned, the first at rank {cause.rank}"


def number(score: float | None, decimals: int = SHOWN_DECIMALS) -> str:
    """Write a score without zeros at the end; a word where there is none."""
    return "none" if score is None else cut(fixed(score, decimals).rstrip("0").rstrip("."), limit=20)


def writer(*scores: float | None) -> Callable[[float | None], str]:
    """Return what writes scores that one sentence compares: with as many decimals as tell those apart that differ."""
    return partial(number, decimals=decimals_apart([score for score in scores if score is not None], SAME_SCORE))


_SENTENCES = {
    "api-error": _api_error,
    "note-not-indexed": _note_not_indexed,
    "folder-not-indexed": _folder_not_indexed,
    "folder-left-out": _folder_left_out,
    "heading-differs": _heading,
    "other-section": _heading,
    "chunk-not-searched": _chunk_not_searched,
    "demoted": _demoted,
    "below-threshold": _below_threshold,
    "abstained": _abstained,
    "did-not-abstain": _did_not_abstain,
    "nothing-retrieved": _nothing_retrieved,
    "not-listed": _not_listed,
    "not-explained": _not_explained,
}
