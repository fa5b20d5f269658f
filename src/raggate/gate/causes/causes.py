"""Why a question got worse, as data: what its answer, and all lists of both sides, show of its passages. Pure.

Causes are looked for in a fixed order, from what makes all else meaningless to what only says where the passage stands.
What is not shown is not claimed: `not-listed` and `not-explained` say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from raggate.base.headings import covers, is_end_of
from raggate.base.quote import cut, nearest
from raggate.gate.causes.cause_evidence import shared
from raggate.gate.causes.folder_causes import folder_cause, unsearched_folder, unselected_folder
from raggate.gate.causes.passages import (
    Asked,
    Ranked,
    count_notes,
    first_ranks,
    note_of,
    of_chunk,
    of_path,
    place,
    ranked,
    unmatched,
    vaults_by_path,
)
from raggate.gate.headings import written_otherwise
from raggate.models.comparison import Cause, same_score
from raggate.models.golden import Support
from raggate.models.metric_names import (
    ABSTENTION,
    FALSE_ABSTENTION_RATE,
    HEADING_DOMINANCE,
    RECALL_ALL,
    SCOPE_MISS,
    family,
)
from raggate.models.run import Chunk, Response
from raggate.models.scorecard import ListEntry
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import short_hash

SHOWN_SNIPPET = 100
"""Characters of a gold snippet that a cause shows."""


def outscored(asked: Asked) -> bool:
    """Whether chunks are listed that score less than the passage, which did not come back, by scores as before."""
    entry, last = absent_entry(asked), _last(asked)
    score = entry.final if entry is not None and asked.lists.steady else None
    # what stood above the last one now would stand there still
    return score is not None and last is not None and score > last and not same_score(score, last)


def outranked(asked: Asked) -> bool:
    """Return whether the score of a passage that did not come back does not reach the last one that is listed.

    By its own score where scores are as before, else by what its parts make with the weights of now.
    """
    entry, last = absent_entry(asked), _last(asked)
    if entry is None or last is None or len(asked.entries) < len(asked.old_entries):
        # a shorter list is not full
        return False
    score = entry.final if asked.lists.steady else _by_weights(asked, entry)
    return score is not None and (score <= last or same_score(score, last))


def stood_clear(asked: Asked) -> bool:
    """Whether a passage is not known to have stood so near to what is listed that other scores can have put it out.

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
    """Whether others are answered by lists that score less than the question's does, or did, give or take a shift.

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
    """The cause if chunks that score as low as the passage are cut off and lists are shorter."""
    entry, (before, now) = absent_entry(asked), asked.lists.floors
    score = entry.final if entry is not None and asked.lists.steady else None
    fewer = len(asked.entries) < min(len(asked.old_entries), asked.lists.longest)
    if score is None or not fewer or now is None or score >= now or same_score(score, now):
        return None
    return Cause(code="below-threshold", before=entry, limits=((before, None), (now, None)))


def lacks_better(asked: Asked) -> bool:
    """Whether a list became shorter by more than what scores too little: it lacks what scores above others' last.

    No score below which nothing is returned has then ended it.
    """
    floor, entries = asked.lists.floors[1], asked.old_entries
    if floor is None or not asked.lists.steady or len(asked.entries) >= len(entries):
        return False
    name = "note" if asked.lists.renumbered else "chunk"
    back = {getattr(entry, name) for entry in asked.entries}
    lacking = [entry.final for entry in entries if entry.final is not None and getattr(entry, name) not in back]
    return any(score > floor and not same_score(score, floor) for score in lacking)


def demoted(asked: Asked, returned: int) -> Cause:
    """Return how the passage stood and stands by its score, and what is known of what rose above it."""
    entries, after, above = asked.entries, asked.after, asked.risen()
    entry = asked.entry_before if asked.lists.scored else None
    now = entries[after - 1] if entry is not None and after is not None and after <= len(entries) else None
    return Cause(
        code="demoted",
        returned=returned,
        before=entry,
        after=now,
        overtakers=tuple(_overtakers(asked, entry, now)) if entry is not None and now is not None else (),
        last=_last(asked) if after is None else None,
        newer=_newer(asked, above) if above is not None else "",
    )


def _overtakers(asked: Asked, before: ListEntry, now: ListEntry) -> Iterator[tuple[str, float | None, float]]:
    """Yield the chunks that rose above a passage whose score did not fall; nothing unless lists are in order."""
    same = before.chunk == now.chunk != "" and not asked.lists.renumbered and not asked.lists.unordered
    if not same or before.final is None or now.final is None:
        return
    if now.final < before.final and not same_score(now.final, before.final):
        return
    old = {entry.chunk: entry.final for entry in asked.old_entries if entry.chunk}
    stood_above = {entry.chunk for entry in asked.old_entries[: (asked.before or 1) - 1]}
    for _, _, chunk in ranked(asked.item)[: (asked.after or 1) - 1]:
        name = short_hash(chunk.chunk_id)
        known = name not in old or old[name] is not None
        if chunk.chunk_id and name not in stood_above and known and chunk.score_final is not None:
            yield of_chunk(chunk), old.get(name), chunk.score_final


def absent_entry(asked: Asked) -> ListEntry | None:
    """Return the passage's place in the baseline's list, if its chunk is known to have not come back."""
    entry, name = asked.entry_before, "note" if asked.lists.renumbered else "chunk"
    back = {"", *(getattr(listed, name) for listed in asked.entries)}
    return entry if entry is not None and getattr(entry, name) not in back else None


def _last(asked: Asked) -> float | None:
    """Return the score of the last chunk; None where the list is not known to be ordered by scores."""
    scores = [entry.final for entry in asked.entries]
    return None if asked.lists.unordered or None in scores or not scores else scores[-1]


def _by_weights(asked: Asked, entry: ListEntry) -> float | None:
    """The score that the parts a passage had make by the weights of now, where chunks have the parts they had."""
    now = asked.lists.weights[1]
    if now is None or any(asked.lists.rescored.get(part) is not False for part in now):
        return None
    parts = {part: getattr(entry, part) for part in now}
    return None if None in parts.values() else sum(weight * parts[part] for part, weight in now.items())


def _newer(asked: Asked, chunk: Chunk) -> Literal["", "added", "changed"]:
    vaults = [chunk.vault] if chunk.vault else vaults_by_path(asked.evidence.notes).get(chunk.rel_path, ())
    kinds = {asked.evidence.changes.get(f"{vault}/{chunk.rel_path}") for vault in vaults}
    return "added" if kinds == {"added"} else "changed" if kinds == {"changed"} else ""


def piece_cause(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause | None:
    """The cause if the chunk in the passage's place has another text or heading."""
    labels = asked.item.labels
    for support, name, (rank, position, chunk) in _of_notes(asked, missing, retrieved):
        heading = support.heading_path
        own = heading is None or covers(heading, chunk.heading_path)
        if own and support.snippets and position not in labels.ambiguous:
            section = name if heading is None else "the section" if name == "the note" else f"the section of {name}"
            if position in {*labels.empty, *labels.strange_texts}:
                return Cause(code="text-foreign", subject=section, rank=rank)
            return Cause(code="snippet-gone", subject=section, words=_any_of(support.snippets), rank=rank)
        unclear = {*labels.strange_headings, *labels.filed_elsewhere, *(labels.ambiguous if own else ())}
        if position in unclear:
            return Cause(code="heading-differs", subject=name, other=chunk.heading_path, rank=rank)
    return None


def heading_cause(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause | None:
    """The cause if a passage came back under part of its headings, or a variant of them; see `piece_cause`."""
    for support, name, (rank, _, chunk) in _of_notes(asked, missing, retrieved):
        gold, heading = support.heading_path or "", chunk.heading_path
        if not covers(gold, heading) and (is_end_of(gold, heading) or written_otherwise(gold, heading)):
            return Cause(code="heading-differs", subject=name, other=heading, rank=rank)
    return None


def section_cause(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause | None:
    """The cause if other sections of the note came back, or the note of the same path in another vault."""
    for _, name, (rank, _, chunk) in _of_notes(asked, missing, retrieved):
        return Cause(code="other-section", subject=name, other=chunk.heading_path.strip(), rank=rank)
    for support in missing:
        for rank, _, chunk in of_path(support, retrieved):
            wanted = " or ".join(asked.item.case.vaults_of(support))
            return Cause(code="other-vault", subject=wanted, other=chunk.vault or "", rank=rank)
    return None


def _of_notes(
    asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]
) -> Iterator[tuple[Support, str, Ranked]]:
    """Yield what is of the notes of missing passages, with a name of the note.

    Another note than the first that is expected has its path, and its vault where several have such a note.
    """
    for support in missing:
        note = "the note" if support == missing[0] else f"the note {support.rel_path}"
        vaults = sorted(vaults_by_path(asked.evidence.notes).get(support.rel_path, ()))
        for seen in of_path(support, retrieved):
            vault = seen[2].vault
            if asked.item.case.may_be_in(vault, support):
                of = f" of vault {vault}" if vault is not None else f" (of vault {' or '.join(vaults)})"
                yield support, f"{note}{of}" if len(vaults) > 1 else note, seen


def _any_of(snippets: Sequence[str]) -> str:
    more = f" or any of {len(snippets) - 1} more" if len(snippets) > 1 else ""
    return f"“{cut(snippets[0], limit=SHOWN_SNIPPET)}”{more}"


def find_cause(asked: Asked) -> Cause:
    """Return why; where the answer shows no cause, what it shows."""
    case, result, metric = asked.item.case, asked.item.result, asked.metric
    if result.failure is not None:
        return Cause(code="api-error", words=result.failure.message, other=result.failure.kind)
    response = result.response or Response(chunks=())
    if metric == FALSE_ABSTENTION_RATE:
        return _refused(asked, response)
    if not case.answerable and metric in ABSTENTION:
        return _did_not_abstain(asked, response)
    if metric in METRICS and METRICS[metric].of_answer:
        return Cause(code="judged-by-answer")
    if metric == HEADING_DOMINANCE and asked.item.labels.heading_only[:1] == (True,):
        return Cause(code="heading-first", subject=of_chunk(response.chunks[0]))
    retrieved = ranked(asked.item)
    missing = unmatched(asked.item) or case.gold_supports
    if not missing:
        return Cause(code="not-explained", returned=len(retrieved))
    if metric == SCOPE_MISS and (unselected := unselected_folder(asked.item, asked.evidence)) is not None:
        return unselected
    return _lost(asked, missing, retrieved) if asked.after is None else _at_rank(asked, retrieved)


def _best(entries: Sequence[ListEntry]) -> ListEntry | None:
    scored = [entry for entry in entries if entry.final is not None]
    return max(scored, key=lambda entry: entry.final or 0.0, default=None)


def _refused(asked: Asked, response: Response) -> Cause:
    if not response.abstained:
        if response.answer is not None and not response.answer.strip():
            return Cause(code="abstained", other="empty answer")
        return Cause(code="not-explained", other="did not abstain")
    best, (before, now) = _best(asked.entries), asked.lists.thresholds
    words = response.abstain_reason or ""
    highest = None if now is None else now[0]
    if best is not None and best.final is not None and highest is not None and best.final <= highest:
        return Cause(code="below-threshold", words=words, after=best, limits=(before, now))
    clear = answered_for_less(asked) or lacks_better(asked)
    return Cause(code="abstained", words=words, rank=asked.after, stood_clear=clear)


def _did_not_abstain(asked: Asked, response: Response) -> Cause:
    if response.abstained:
        # of several answers to a question the first is shown
        return Cause(code="not-explained", other="abstained")
    cited = "cites" if response.references else ""
    return Cause(
        code="did-not-abstain",
        other="answered" if response.answer else "",
        subject="".join(map(of_chunk, (response.references or response.chunks)[:1])),
        words=cited,
        after=_best(asked.entries),
        limits=asked.lists.thresholds,
    )


def _lost(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause:
    """Why a passage is lost: the one that stood first in the baseline's list, where it is known which that was."""
    supports, ranks = asked.item.case.gold_supports, first_ranks(asked.old_entries)
    listed = [index for index in ranks if index < len(supports) and supports[index] in missing]
    if not listed:
        return _not_there(asked, missing) or _not_back(asked, missing, retrieved)
    passage = asked.at_passage(listed[0])
    own = [support for support in missing if passage.stood(support)]
    cause = _not_there(passage, own) or _not_back(passage, own, retrieved)
    # which passage is meant is shown beside the cause where it is the first that is missing
    return cause if own[0] == missing[0] else replace(cause, passage=place(own[0], asked.item.case))


def _not_there(asked: Asked, missing: Sequence[Support]) -> Cause | None:
    """The cause if the passage is not in the vaults or the index, or its folder was not searched."""
    case, evidence = asked.item.case, asked.evidence
    if evidence.notes and all(_in_no_vault(asked, support) for support in missing):
        return Cause(code="note-not-in-vault", subject=note_of(missing[0], case))
    folders = folder_cause(asked.item, missing, evidence)
    if folders is not None and folders.code == "folder-not-indexed":
        return folders
    documents, gone = evidence.documents, evidence.gone
    stood = all(asked.stood(support) and support.rel_path in gone for support in missing)
    # so many notes as are gone, so many documents must be; a passage that others outrank needs no such explanation
    if stood and documents is not None and documents[0] - documents[1] >= count_notes(gone) and not outranked(asked):
        return Cause(code="note-not-indexed", documents=documents)
    return folders


def _in_no_vault(asked: Asked, support: Support) -> bool:
    vaults = asked.item.case.vaults_of(support)
    same = vaults_by_path(asked.evidence.notes).get(support.rel_path, set())
    return support.rel_path != "" and not (same & set(vaults) if vaults else same)


def _not_back(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause:
    item = asked.item
    scored_more = outscored(asked)
    cause = (
        unsearched_folder(item, missing, asked.evidence, outscored=scored_more)
        or piece_cause(asked, missing, _new_chunks(asked, retrieved))
        or _without_anchor(asked, missing)
        or cut_off(asked)
        or _cut_short(asked)
    )
    if cause is not None:
        return cause
    if not retrieved:
        response = item.result.response
        words = (response.abstain_reason if response else None) or ""
        clear = answered_for_less(asked) or lacks_better(asked)
        return Cause(code="nothing-retrieved", words=words, stood_clear=clear)
    if scored_more:
        # chunks with lower scores came back in the passage's place
        return Cause(code="chunk-not-searched", before=asked.entry_before, last=_last(asked), rank=asked.before)
    if outranked(asked):
        return demoted(asked, len(retrieved))
    nothing = Cause(code="not-listed", returned=len(retrieved))
    seen = (
        heading_cause(asked, missing, _new_chunks(asked, retrieved))
        or section_cause(asked, missing, retrieved)
        or nothing
    )
    return replace(seen, stood_clear=stood_clear(asked))


def _new_chunks(asked: Asked, retrieved: Sequence[Ranked]) -> list[Ranked]:
    """Leave out the chunks that the baseline listed beside its passages: they did not take a place."""
    beside = {entry.chunk for entry in asked.old_entries if not entry.supports and not asked.lists.renumbered} - {""}
    return [place for place in retrieved if short_hash(place[2].chunk_id) not in beside]


def _without_anchor(asked: Asked, missing: Sequence[Support]) -> Cause | None:
    """The cause if a re-chunked index returns other sections of the note and no longer this one."""
    for support in missing if asked.evidence.recut else ():
        headings = sorted(heading for heading in asked.evidence.retrieved.get(support.rel_path, ()) if heading)
        anchor = support.heading_path
        # of notes of one path in several vaults it is not known which one the headings are of
        known = asked.stood(support) and len(vaults_by_path(asked.evidence.notes).get(support.rel_path, ())) < 2
        if known and anchor and headings and not any(covers(anchor, heading) for heading in headings):
            return Cause(code="anchor-gone", subject=anchor, other=nearest(anchor, headings, cutoff=0.0) or "")
    return None


def _cut_short(asked: Asked) -> Cause | None:
    """The cause if the list is a prefix of the baseline's and ends above the passage's rank."""
    if asked.lists.renumbered:  # the same id may be another chunk's
        return None
    chunks, before = [[entry.chunk for entry in side] for side in (asked.entries, asked.old_entries)]
    listed = len(chunks)
    first = listed > 0 and "" not in chunks and sorted(chunks) == sorted(before[:listed])
    if not first or asked.entry_before is None or asked.before is None or asked.before <= listed:
        return None
    return Cause(code="list-cut", returned=listed, rank=asked.before, stood_clear=lacks_better(asked))


def _at_rank(asked: Asked, retrieved: Sequence[Ranked]) -> Cause:
    """The cause for a question whose passage is in the list; the ranks are shown before it."""
    index, case = _fallen_support(asked), asked.item.case
    if index is None:
        return _without_a_fall(asked, retrieved)
    passage, support = asked.at_passage(index), case.gold_supports[index]
    shown = index == 0 and (passage.before, passage.after) == (asked.before, asked.after)
    if passage.after is None:
        cause = _lost(passage, [support], retrieved)
    else:
        cause = replace(demoted(passage, len(retrieved)), rank=None if shown else passage.before)
    return cause if shown else replace(cause, passage=place(support, case))


def _without_a_fall(asked: Asked, retrieved: Sequence[Ranked]) -> Cause:
    """The cause for a question whose passages did not fall in the list, as far as is known."""
    if asked.before is not None and asked.after is not None and asked.after > asked.before:
        return demoted(asked, len(retrieved))
    lacking = unmatched(asked.item)
    if lacking:
        passage = place(lacking[0], asked.item.case)
        return Cause(code="not-listed", passage=passage, returned=len(retrieved), stood_clear=True)
    return Cause(code="not-explained", returned=len(retrieved), rank=asked.after)


def _fallen_support(asked: Asked) -> int | None:
    """Return the passage that fell and made the question worse; None where none is known to have fallen.

    A lost one comes before all others. A question that needs several is complete where the last of them stands; else
    the one that stood at the baseline's rank counts first, then the one that fell most.
    """
    before, after = first_ranks(asked.old_entries), first_ranks(asked.entries)
    fallen = {
        index: (after.get(index) is None, after.get(index, 0), after.get(index, 0) - rank)
        for index, rank in before.items()
        if index < len(asked.item.case.gold_supports) and after.get(index, rank + 1) > rank
    }
    if family(asked.metric) == RECALL_ALL:
        return max(fallen, key=lambda index: fallen[index][:2], default=None)
    first = [index for index in fallen if before[index] == asked.before]
    return max(first or fallen, key=lambda index: (fallen[index][0], fallen[index][2]), default=None)
