"""The sentences of causes, all in one place: each says what was seen, and no more. Pure."""

from __future__ import annotations

from raggate.models.cause import Cause, CauseCode, Range
from raggate.models.scorecard import ListEntry
from raggate.text.numbers import counted, fixed
from raggate.text.quote import cut

SHOWN_FOLDERS = 4

SAME = 5e-5
"""Scores are written with four decimals, and called the same where these are."""

GROUPS: dict[CauseCode, str] = {
    "not-asked": "not asked",
    "api-error": "the call failed",
    "note-not-in-vault": "the note is not in the vault",
    "note-not-indexed": "no answer holds anything of the note, and the index has lost documents",
    "folder-not-indexed": "the note's folder is not among those available",
    "anchor-gone": "nothing comes back under the heading any more, only under others of its note",
    "anchor-moved": "the section came back under another heading",
    "folder-left-out": "folder selection left the note out",
    "folder-not-searched": "the note's folder was selected, and nothing came from it",
    "snippet-gone": "the section came back without the gold snippet",
    "text-missing": "the section came back without any text",
    "text-foreign": "the section came back with a text that is not the note's",
    "text-cut": "the section came back with a cut text",
    "heading-differs": "the note came back under a heading that it does not have",
    "other-section": "other sections of the note came back",
    "other-vault": "the note of the same path in another vault came back",
    "chunk-not-searched": "chunks that score less came back in place of the passage",
    "demoted": "the passage fell in the ranking",
    "below-threshold": "the score is below the API's own threshold",
    "abstained": "the API abstained",
    "did-not-abstain": "the API did not abstain",
    "nothing-retrieved": "nothing was retrieved",
    "heading-first": "the first chunk has the question's words in its heading alone",
    "judged-by-answer": "judged by the answer",
    "not-listed": "not among the chunks returned, and nothing shows why",
    "not-explained": "nothing shows why",
}
"""What causes of a code are called together."""

_LACKS: dict[CauseCode, str] = {
    "snippet-gone": "without the gold snippet (another piece, or reworded)",
    "text-missing": "without any text",
    "text-foreign": "with a text that does not stand in its note",
    "text-cut": "with a cut text, in which the gold snippet cannot be looked for",
}


def sentence(cause: Cause) -> str:
    """Say a cause in one sentence, without a full stop."""
    if cause.code in _LACKS:
        words = f"{cause.subject} is at rank {cause.rank}, but {_LACKS[cause.code]}"
    else:
        words = _SENTENCES[cause.code](cause)
    return f"{cause.passage}: {words}" if cause.passage else words


def _not_asked(cause: Cause) -> str:
    return "it was not asked" + (f": {cause.words}" if cause.words else "")


def _api_error(cause: Cause) -> str:
    return f"the call failed: {cause.words}"


def _note_not_in_vault(cause: Cause) -> str:
    return f"{cause.subject} is not in the vault"


def _note_not_indexed(cause: Cause) -> str:
    before, now = cause.documents or (0, 0)
    return (
        f"no answer holds a chunk of the note, and the index holds {counted(now, 'document')}, "
        f"{before} in the baseline's run"
    )


def _folder_not_indexed(cause: Cause) -> str:
    folders = cause.folders
    among = f"the {len(folders)} available folders" if len(folders) > 1 else f"the one folder, {folders[0]}"
    return f"{cause.subject} is not {'in the index, as it is not ' if cause.other == 'index' else ''}among {among}"


def _anchor_gone(cause: Cause) -> str:
    return f"no answer holds a chunk under {cause.subject} any more; the nearest heading of its note is {cause.other}"


def _anchor_moved(cause: Cause) -> str:
    heading = f"under {cause.other}" if cause.other else "without a heading path"
    return f"the section is at rank {cause.rank}, but {heading}"


def _folder_left_out(cause: Cause) -> str:
    shown = ", ".join(cause.folders[:SHOWN_FOLDERS])
    more = f" and {len(cause.folders) - SHOWN_FOLDERS} more" if len(cause.folders) > SHOWN_FOLDERS else ""
    verdict = "folder selection left it out" if cause.other else "its folder is not among the selected ones"
    return f"{verdict} (selected: {shown}{more})"


def _folder_not_searched(cause: Cause) -> str:
    return f"its folder {cause.subject} was selected ({cause.rank} of {len(cause.folders)}), and nothing came from it"


def _heading_differs(cause: Cause) -> str:
    return f"{cause.subject} is at rank {cause.rank}, but under a heading that it does not have ({cause.other})"


def _other_section(cause: Cause) -> str:
    section = "with another section" if cause.other else "without a heading path"
    return f"{cause.subject} is at rank {cause.rank}, but {section}"


def _other_vault(cause: Cause) -> str:
    return f"at rank {cause.rank} is the note of the same path in vault {cause.other}, not the one in {cause.subject}"


def _chunk_not_searched(cause: Cause) -> str:
    return (
        f"the chunk of rank {cause.rank} in the baseline, of score {_score(cause.before)}, did not come back, though "
        f"others did down to {number(cause.last)} and scores are as before: it is not in the index as it was, was not "
        "searched, or was left out of the list afterwards"
    )


def _demoted(cause: Cause) -> str:
    kinds = ["says nearly the same"] if cause.copy else []
    kinds += [f"is of a note {cause.newer} since the baseline"] if cause.newer else []
    above = f"; what rose above it {' and '.join(kinds)}" if kinds else ""
    returned = counted(cause.returned or 0, "chunk")
    if cause.after is None and cause.last is not None:
        return (
            f"fell below the {returned} returned, of which the last scores {number(cause.last)} "
            f"(in the baseline it scored {_score(cause.before)}){above}"
        )
    scores = _scores(cause.before, cause.after) if cause.before and cause.after else ""
    where = f"fell from rank {cause.rank}" if cause.rank else "fell"
    return f"{where} among the {returned} returned{scores}{above}"


def _scores(before: ListEntry, after: ListEntry) -> str:
    """Say how a passage's score and its parts changed, where both sides tell them."""
    if before.final is None or after.final is None:
        return ""
    if before.chunk != after.chunk or not before.chunk:
        return f"; as another chunk, of score {number(after.final)} ({number(before.final)} before)"
    parts = [
        f"{name} {_change(was, now)}"
        for name, was, now in (
            ("vector", before.vector, after.vector),
            ("lexical", before.lexical, after.lexical),
        )
        if was is not None or now is not None
    ]
    inside = f" ({', '.join(parts)})" if parts else ""
    return f"; score {_change(before.final, after.final)}{inside}"


def _change(before: float | None, after: float | None) -> str:
    if before is not None and after is not None and abs(after - before) <= SAME:
        return f"{number(after)} as before"
    return f"{number(before)} → {number(after)}"


def _below_threshold(cause: Cause) -> str:
    before, now = cause.limits
    if cause.after is None:
        # by what is returned at all: the lower bounds are the least scores of any chunk
        least, was = (number(limits[0]) if limits else "" for limits in (now, before))
        return (
            f"it scored {_score(cause.before)} in the baseline, and nothing below {least} is returned any more "
            f"({was} in the baseline)"
        )
    reason = f" ({cause.words})" if cause.words else ""
    return (
        f"the API abstained{reason}: its best score, {_score(cause.after)}, is below its threshold, which is "
        f"{between(now)}{_moved(before, now)}"
    )


def _abstained(cause: Cause) -> str:
    if cause.other:
        return "the answer is empty, which counts as abstaining"
    reason = f" ({cause.words})" if cause.words else ""
    return f"the API abstained{reason}{f', with the passage at rank {cause.rank}' if cause.rank else ''}"


def _did_not_abstain(cause: Cause) -> str:
    """Say what came in place of an abstention, and by which threshold."""
    parts = ["answered instead of abstaining"] if cause.other else []
    if cause.subject:
        parts.append(f"it cites {cause.subject}" if cause.words else f"the first chunk retrieved is {cause.subject}")
    before, now = cause.limits
    if threshold_change(before, now) == "lower":
        parts.append(f"the threshold is {between(now)}{_moved(before, now)}")
    return "; ".join(parts) or "nothing was retrieved, and it did not say so"


def threshold_change(before: Range | None, now: Range | None) -> str:
    """Say whether a threshold is `higher` or `lower` for certain; empty where it may be the same, or is not known."""
    if before is None or now is None:
        return ""
    if now[0] is not None and before[1] is not None and now[0] >= before[1]:
        return "higher"
    return "lower" if now[1] is not None and before[0] is not None and now[1] <= before[0] else ""


def between(limits: Range | None) -> str:
    """Say where a threshold is."""
    low, high = limits or (None, None)
    if low is None:
        return f"at most {number(high)}"
    return f"above {number(low)}" if high is None else f"between {number(low)} and {number(high)}"


def _moved(before: Range | None, now: Range | None) -> str:
    return f" ({between(before)} in the baseline)" if threshold_change(before, now) else ""


def _nothing_retrieved(cause: Cause) -> str:
    return f"nothing was retrieved{f' ({cause.words})' if cause.words else ''}"


def _heading_first(cause: Cause) -> str:
    return f"the first chunk has the question's words in its heading alone: {cause.subject}"


def _judged_by_answer(_: Cause) -> str:
    return "judged by its answer, not by what was retrieved"


def _not_listed(cause: Cause) -> str:
    count = cause.returned or 0
    return "not the 1 chunk returned" if count == 1 else f"not among the {count} chunks returned"


def _not_explained(cause: Cause) -> str:
    returned = counted(cause.returned or 0, "chunk")
    if cause.rank is None:
        return f"{returned} returned; no passage is expected"
    return f"every expected passage is among the {returned} returned, the first at rank {cause.rank}"


def _score(entry: ListEntry | None) -> str:
    return number(entry.final if entry is not None else None)


def number(score: float | None) -> str:
    """Write a score with four decimals, without zeros at the end; a word where there is none."""
    return "none" if score is None else cut(fixed(score, 4).rstrip("0").rstrip("."), limit=20)


_SENTENCES = {
    "not-asked": _not_asked,
    "api-error": _api_error,
    "note-not-in-vault": _note_not_in_vault,
    "note-not-indexed": _note_not_indexed,
    "folder-not-indexed": _folder_not_indexed,
    "anchor-gone": _anchor_gone,
    "anchor-moved": _anchor_moved,
    "folder-left-out": _folder_left_out,
    "folder-not-searched": _folder_not_searched,
    "heading-differs": _heading_differs,
    "other-section": _other_section,
    "other-vault": _other_vault,
    "chunk-not-searched": _chunk_not_searched,
    "demoted": _demoted,
    "below-threshold": _below_threshold,
    "abstained": _abstained,
    "did-not-abstain": _did_not_abstain,
    "nothing-retrieved": _nothing_retrieved,
    "heading-first": _heading_first,
    "judged-by-answer": _judged_by_answer,
    "not-listed": _not_listed,
    "not-explained": _not_explained,
}
