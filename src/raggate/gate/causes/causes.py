"""Why a question got worse, as data: what its answer, and all lists of both sides, show of its passages. Pure.

Causes are looked for in a fixed order, from what makes all else meaningless to what only says where the passage stands.
What is not shown is not claimed: `not-listed` and `not-explained` say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from raggate.gate.causes.asked import Asked, first_ranks
from raggate.gate.causes.folder_causes import folder_cause, unsearched_folder, unselected_folder
from raggate.gate.causes.note_causes import heading_cause, piece_cause, section_cause
from raggate.gate.causes.note_places import count_notes, vaults_by_path
from raggate.gate.causes.passages import Ranked, note_of, of_chunk, place, ranked, unmatched
from raggate.gate.causes.score_causes import (
    answered_for_less,
    cut_off,
    demoted,
    lacks_better,
    not_searched,
    outranked,
    outscored,
    stood_clear,
)
from raggate.models.cause import Cause
from raggate.models.golden import Support
from raggate.models.metric_names import (
    ABSTENTION,
    FALSE_ABSTENTION_RATE,
    HEADING_DOMINANCE,
    RECALL_ALL,
    SCOPE_MISS,
    family,
)
from raggate.models.run import Failure, Response
from raggate.models.scorecard import ListEntry
from raggate.scoring.list_entries import short_hash
from raggate.scoring.metrics import METRICS
from raggate.text.anchors import as_read, covers
from raggate.text.nearest import nearest


def find_cause(asked: Asked) -> Cause:
    """Say why; where the answer shows no cause, what it shows."""
    case, result, metric = asked.item.case, asked.item.result, asked.metric
    if result.failure is not None:
        return _failed(result.failure)
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


def _failed(failure: Failure) -> Cause:
    if failure.kind == "aborted":
        return Cause(code="not-asked", words=failure.message if failure.message != "not asked" else "")
    return Cause(code="api-error", words=failure.message)


def _best(entries: Sequence[ListEntry]) -> ListEntry | None:
    scored = [entry for entry in entries if entry.final is not None]
    return max(scored, key=lambda entry: entry.final or 0.0, default=None)


def _refused(asked: Asked, response: Response) -> Cause:
    """Say that the API abstained, and by its own threshold where all its answers are on one side of one."""
    if not response.abstained:
        blank = response.answer is not None and not response.answer.strip()
        return (
            Cause(code="abstained", other="empty answer")
            if blank
            else Cause(code="not-explained", other="did not abstain")
        )
    best, (before, now) = _best(asked.entries), asked.lists.thresholds
    words = response.abstain_reason or ""
    if best is not None and best.final is not None and now is not None and now[0] is not None and best.final <= now[0]:
        return Cause(code="below-threshold", words=words, after=best, limits=(before, now))
    clear = answered_for_less(asked) or lacks_better(asked)
    return Cause(code="abstained", words=words, rank=asked.after, stood_clear=clear)


def _did_not_abstain(asked: Asked, response: Response) -> Cause:
    """Say what came in place of an abstention. Where no answer was asked for, none was given."""
    if response.abstained:
        # of several answers to a question the first is shown
        return Cause(code="not-explained", other="abstained")
    kind = "answered" if response.answer else ""
    limits = asked.lists.thresholds
    best = _best(asked.entries)
    if response.references:
        first = response.references[0]
        path = f"{first.vault}/{first.rel_path}" if first.vault else first.rel_path
        cited = as_read(path, first.heading_path)
        return Cause(code="did-not-abstain", other=kind, subject=cited, words="cites", after=best, limits=limits)
    chunk = of_chunk(response.chunks[0]) if response.chunks else ""
    return Cause(code="did-not-abstain", other=kind, subject=chunk, after=best, limits=limits)


def _lost(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause:
    """Say why a passage is lost: the one that stood first in the baseline's list, where it is known which that was."""
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
    """Say that what was expected is not in the vaults or the index, or that its folder was not searched."""
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
    """Say why passages that are there did not come back."""
    item, evidence = asked.item, asked.evidence
    scored_more = outscored(asked)
    cause = (
        unsearched_folder(item, missing, evidence, outscored=scored_more)
        or piece_cause(item, missing, _new_chunks(asked, retrieved), evidence.notes)
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
        return not_searched(asked)
    if outranked(asked):
        return demoted(asked, len(retrieved))
    nothing = Cause(code="not-listed", returned=len(retrieved))
    seen = (
        heading_cause(item, missing, _new_chunks(asked, retrieved), evidence.notes)
        or section_cause(item, missing, retrieved, evidence.notes)
        or nothing
    )
    return replace(seen, stood_clear=stood_clear(asked))


def _new_chunks(asked: Asked, retrieved: Sequence[Ranked]) -> list[Ranked]:
    """Leave out the chunks that the baseline listed beside its passages: they did not take a place."""
    beside = {entry.chunk for entry in asked.old_entries if not entry.supports and not asked.lists.renumbered} - {""}
    return [place for place in retrieved if short_hash(place[2].chunk_id) not in beside]


def _without_anchor(asked: Asked, missing: Sequence[Support]) -> Cause | None:
    """Say that nothing comes from the section any more, only from others of its note, by an index that was cut anew."""
    for support in missing if asked.evidence.recut else ():
        headings = sorted(heading for heading in asked.evidence.retrieved.get(support.rel_path, ()) if heading)
        anchor = support.heading_path
        # of notes of one path in several vaults it is not known which one the headings are of
        known = asked.stood(support) and len(vaults_by_path(asked.evidence.notes).get(support.rel_path, ())) < 2
        if known and anchor and headings and not any(covers(anchor, heading) for heading in headings):
            return Cause(code="anchor-gone", subject=anchor, other=nearest(anchor, headings, cutoff=0.0) or "")
    return None


def _cut_short(asked: Asked) -> Cause | None:
    """Say that the list is the first part of the baseline's, and ends above the passage's place."""
    if asked.lists.renumbered:  # the same id may be another chunk's
        return None
    chunks, before = [[entry.chunk for entry in side] for side in (asked.entries, asked.old_entries)]
    listed = len(chunks)
    first = listed > 0 and "" not in chunks and sorted(chunks) == sorted(before[:listed])
    if not first or asked.entry_before is None or asked.before is None or asked.before <= listed:
        return None
    return Cause(code="list-cut", returned=listed, rank=asked.before, stood_clear=lacks_better(asked))


def _at_rank(asked: Asked, retrieved: Sequence[Ranked]) -> Cause:
    """Say of a question whose passage is there how it stands; the ranks themselves are shown before this."""
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
    """Say what is known where no passage is known to have fallen in the list."""
    if asked.before is not None and asked.after is not None and asked.after > asked.before:
        return demoted(asked, len(retrieved))
    lacking = unmatched(asked.item)
    if lacking:
        passage = place(lacking[0], asked.item.case)
        return Cause(code="not-listed", passage=passage, returned=len(retrieved), stood_clear=True)
    return Cause(code="not-explained", returned=len(retrieved), rank=asked.after)


def _fallen_support(asked: Asked) -> int | None:
    """Give the passage that fell and made the question worse; None where none is known to have fallen.

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
