"""What the scores of both sides prove of a passage: it was outranked, cut off, or is not where it was. Pure.

Scores are looked at only where every list of both sides falls by them: else the last chunk is not the lowest, and a
lower score is no lower place.
"""

from __future__ import annotations

from typing import Literal

from raggate.gate.causes.asked import Asked
from raggate.gate.causes.note_places import vaults_by_path
from raggate.gate.causes.shared_chunks import shared
from raggate.models.cause import Cause, same_score
from raggate.models.run import Chunk
from raggate.models.scorecard import ListEntry


def outscored(asked: Asked) -> bool:
    """Say whether chunks are listed that score less than the passage, which did not come back, by scores as before."""
    entry, last = absent_entry(asked), _last(asked)
    score = entry.final if entry is not None and asked.lists.steady else None
    # what stood above the last one now would stand there still
    return score is not None and last is not None and score > last and not same_score(score, last)


def outranked(asked: Asked) -> bool:
    """Say whether the score of a passage that did not come back does not reach the last one that is listed.

    By its own score where scores are as before, else by what its parts make with the weights of now.
    """
    entry, last = absent_entry(asked), _last(asked)
    if entry is None or last is None or len(asked.entries) < len(asked.old_entries):
        # a shorter list is not full
        return False
    score = entry.final if asked.lists.steady else _by_weights(asked, entry)
    return score is not None and (score <= last or same_score(score, last))


def stood_clear(asked: Asked) -> bool:
    """Say whether a passage is not known to have stood so near to what is listed that other scores can have put it out.

    Where it stood above more chunks that are still listed than any chunk was overtaken by, they have not; nor where its
    score of before, or what its parts make by the weights of now, is above the last one by more than any score moved.
    """
    entry, last = absent_entry(asked), _last(asked)
    if entry is None or asked.before is None:
        return True
    # as far down as the baseline's list goes, which is how far overtaking is looked for
    listed = asked.entries[: len(asked.old_entries)]
    pairs = shared(asked.old_entries, listed, by_note=asked.lists.renumbered)
    if sum(was > asked.before for was, *_ in pairs) > asked.lists.overtaking:
        return True
    by_weights, shift = _by_weights(asked, entry), asked.lists.shift
    if last is None or entry.final is None or shift is None:
        return False
    return entry.final - last > shift if by_weights is None else by_weights > last and not same_score(by_weights, last)


def answered_for_less(asked: Asked) -> bool:
    """Say whether others are answered by lists that score less than the question's does, or did, give or take a shift.

    Something that depends on scores, moved as they are, would then have answered it too.
    """
    least, shift = asked.lists.answered, asked.lists.shift
    if least is None or asked.lists.unordered:
        return False
    now = [entry.final for entry in asked.entries if entry.final is not None]
    weighed = [score for entry in asked.old_entries if (score := _by_weights(asked, entry)) is not None]
    old = [entry.final - shift for entry in asked.old_entries if entry.final is not None and shift is not None]
    best = max(now or weighed or old, default=least)
    return best > least and not same_score(best, least)


def cut_off(asked: Asked) -> Cause | None:
    """Say that nothing which scores as little as the passage is returned any more, and fewer chunks are."""
    entry, (before, now) = absent_entry(asked), asked.lists.floors
    score = entry.final if entry is not None and asked.lists.steady else None
    fewer = len(asked.entries) < min(len(asked.old_entries), asked.lists.longest)
    if score is None or not fewer or now is None or score >= now or same_score(score, now):
        return None
    return Cause(code="below-threshold", before=entry, limits=((before, None), (now, None)))


def lacks_better(asked: Asked) -> bool:
    """Say whether a list became shorter by more than what scores too little: it lacks what scores above others' last.

    No score below which nothing is returned has then ended it.
    """
    floor, entries = asked.lists.floors[1], asked.old_entries
    if floor is None or not asked.lists.steady or len(asked.entries) >= len(entries):
        return False
    name = "note" if asked.lists.renumbered else "chunk"
    back = {getattr(entry, name) for entry in asked.entries}
    lacking = [entry.final for entry in entries if entry.final is not None and getattr(entry, name) not in back]
    return any(score > floor and not same_score(score, floor) for score in lacking)


def not_searched(asked: Asked) -> Cause:
    """Say that chunks which score less came back in the passage's place."""
    return Cause(code="chunk-not-searched", before=asked.entry_before, last=_last(asked), rank=asked.before)


def demoted(asked: Asked, returned: int) -> Cause:
    """Say how the passage stood and stands by its score, and what is known of what rose above it."""
    entries, after, above = asked.entries, asked.after, asked.risen()
    entry = asked.entry_before if asked.lists.scored else None
    by_weights = _by_weights(asked, entry) if entry is not None and after is None and not asked.lists.steady else None
    return Cause(
        code="demoted",
        returned=returned,
        before=entry,
        after=entries[after - 1] if entry is not None and after is not None and after <= len(entries) else None,
        last=_last(asked) if after is None else None,
        by_weights=by_weights,
        copy=above is not None and above[0] in asked.item.labels.copies,
        newer=_newer(asked, above[1]) if above is not None else "",
    )


def absent_entry(asked: Asked) -> ListEntry | None:
    """Give the passage's place in the baseline's list, if its chunk is known to have not come back."""
    entry, name = asked.entry_before, "note" if asked.lists.renumbered else "chunk"
    back = {"", *(getattr(listed, name) for listed in asked.entries)}
    return entry if entry is not None and getattr(entry, name) not in back else None


def _last(asked: Asked) -> float | None:
    """Give the score of the last chunk; None where the list is not known to be ordered by scores."""
    scores = [entry.final for entry in asked.entries]
    return None if asked.lists.unordered or None in scores or not scores else scores[-1]


def _by_weights(asked: Asked, entry: ListEntry) -> float | None:
    """Give the score that the parts a passage had make by the weights of now, where chunks have the parts they had."""
    now = asked.lists.weights[1]
    if now is None or any(asked.lists.rescored.get(part) is not False for part in now):
        return None
    parts = {part: getattr(entry, part) for part in now}
    return None if None in parts.values() else sum(weight * parts[part] for part, weight in now.items())


def _newer(asked: Asked, chunk: Chunk) -> Literal["", "added", "changed"]:
    """Say whether a chunk is of a note that was added or changed since the baseline, as far as its vault is told."""
    vaults = [chunk.vault] if chunk.vault else vaults_by_path(asked.evidence.notes).get(chunk.rel_path, ())
    kinds = {asked.evidence.changes.get(f"{vault}/{chunk.rel_path}") for vault in vaults}
    return "added" if kinds == {"added"} else "changed" if kinds == {"changed"} else ""
