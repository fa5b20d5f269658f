"""Why a question got worse, as data: what its answer, and all lists of both sides, show of its passages. Pure.

Causes are looked for in a fixed order, from what makes all else meaningless to what only says where the passage stands.
What is not shown is not claimed: `not-listed` and `not-explained` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from raggate.gate.folder_causes import folder_cause, unsearched_folder
from raggate.gate.note_causes import piece_cause, section_cause
from raggate.gate.passages import Ranked, of_chunk, place, ranked, unmatched, vaults_of
from raggate.models.cause import Cause, CauseEvidence, ListEvidence
from raggate.models.golden import Support
from raggate.models.metric_names import ABSTENTION, FALSE_ABSTENTION_RATE, HEADING_DOMINANCE, SCOPE_MISS
from raggate.models.run import Chunk, Failure, LabelledResult, Response
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring.list_entries import list_entries, short_hash
from raggate.scoring.metrics import METRICS
from raggate.text.anchors import covers
from raggate.text.nearest import nearest

SAME_SCORE = 1e-5
"""Scores that differ by no more are the same: baselines round them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a cause is looked for in: a question with its answer, and how that was judged.

    `metric` is the one that got worse; `before` and `after` are the ranks by it, None for not found. `old` is the case
    in the baseline, None where it is not the same there.
    """

    item: LabelledResult
    metric: str
    before: int | None
    after: int | None
    old: CaseScore | None = None
    evidence: CauseEvidence = field(default_factory=CauseEvidence)

    @property
    def lists(self) -> ListEvidence:
        """What all lists of the question's mode show."""
        return self.evidence.lists.get(self.item.result.mode, ListEvidence())

    @property
    def entry_before(self) -> ListEntry | None:
        """The passage's place in the baseline's list."""
        entries = self.old.entries if self.old is not None else ()
        entry = entries[self.before - 1] if self.before is not None and self.before <= len(entries) else None
        # the rank of several answers to a question need not be that of the list that was kept
        return entry if entry is not None and entry.supports else None

    @property
    def entries(self) -> tuple[ListEntry, ...]:
        """The answer's own list."""
        return list_entries(self.item, len(self.item.labels.matches))


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
    if asked.after is None:
        return _lost(asked, missing, retrieved)
    folders = folder_cause(asked.item, missing, retrieved, asked.evidence) if metric == SCOPE_MISS else None
    return folders or _at_rank(asked, retrieved)


def displacer(asked: Asked) -> tuple[int, Chunk] | None:
    """Give position and chunk of what rose above the passage, else what stands where it stood.

    None where a passage stands there, or it did not fall. What rose is the first chunk above it that is of no note that
    stood above it in the baseline's list.
    """
    retrieved, before, after = ranked(asked.item), asked.before, asked.after
    if before is None or len(retrieved) < before or (after is not None and after <= before):
        return None
    _, position, chunk = retrieved[before - 1]
    if asked.item.labels.matches[position]:
        return None
    if asked.entry_before is not None and asked.old is not None:
        notes = {entry.note for entry in asked.old.entries[: before - 1]}
        for _, at, risen in retrieved[: after - 1] if after is not None else retrieved:
            if risen.rel_path and short_hash(risen.rel_path) not in notes:
                return at, risen
    return position, chunk


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
        unknown = Cause(code="not-explained", returned=len(response.chunks))
        return Cause(code="abstained", other="empty answer") if blank else unknown
    best, (before, now) = _best(asked.entries), asked.lists.thresholds
    words = response.abstain_reason or ""
    if best is not None and best.final is not None and now is not None and now[0] is not None and best.final <= now[0]:
        return Cause(code="below-threshold", words=words, after=best, limits=(before, now))
    return Cause(code="abstained", words=words, rank=asked.after)


def _did_not_abstain(asked: Asked, response: Response) -> Cause:
    """Say what came in place of an abstention. Where no answer was asked for, none was given."""
    kind = "answered" if response.answer else ""
    limits = asked.lists.thresholds
    best = _best(asked.entries)
    if response.references:
        first = response.references[0]
        path = f"{first.vault}/{first.rel_path}" if first.vault else first.rel_path
        cited = f"{path} › {first.heading_path}" if first.heading_path else path
        return Cause(code="did-not-abstain", other=kind, subject=cited, words="cites", after=best, limits=limits)
    chunk = of_chunk(response.chunks[0]) if response.chunks else ""
    return Cause(code="did-not-abstain", other=kind, subject=chunk, after=best, limits=limits)


def _lost(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause:
    return _not_there(asked, missing, retrieved) or _not_back(asked, missing, retrieved)


def _not_there(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause | None:
    """Say that what was expected is not in the vaults or the index, or that its folder was not searched."""
    case, evidence = asked.item.case, asked.evidence
    suspects = _suspects(asked, missing)
    if evidence.notes and all(_in_no_vault(asked, support) for support in suspects):
        return Cause(code="note-not-in-vault", subject=place(replace(suspects[0], heading_path=None), case))
    folders = folder_cause(asked.item, missing, retrieved, evidence)
    if folders is not None and folders.code == "folder-not-indexed":
        return folders
    documents, seen = evidence.documents, evidence.retrieved.get(asked.item.result.mode, {})
    stood = all(_stood(asked, support) and support.rel_path not in seen for support in suspects)
    if stood and documents is not None and documents[1] < documents[0]:
        return Cause(code="note-not-indexed", documents=documents)
    return folders


def _suspects(asked: Asked, missing: Sequence[Support]) -> Sequence[Support]:
    """Give the supports that stood at the baseline's rank; all that are missing where that is not known."""
    return [support for support in missing if _stood(asked, support)] or missing


def _stood(asked: Asked, support: Support) -> bool:
    entry, supports = asked.entry_before, asked.item.case.gold_supports
    return entry is not None and support in [supports[index] for index in entry.supports if index < len(supports)]


def _in_no_vault(asked: Asked, support: Support) -> bool:
    vaults = vaults_of(support, asked.item.case)
    same = [name.partition("/")[0] for name in asked.evidence.notes if name.partition("/")[2] == support.rel_path]
    return support.rel_path != "" and not (set(same) & set(vaults) if vaults else same)


def _not_back(asked: Asked, missing: Sequence[Support], retrieved: Sequence[Ranked]) -> Cause:
    """Say why passages that are there did not come back."""
    item, evidence = asked.item, asked.evidence
    entry, last = _absent_entry(asked), _last(asked)
    score = entry.final if entry is not None and asked.lists.steady else None
    # by scores that count as before, what stood above the last one now would stand there still
    outscored = score is not None and last is not None and score > last + SAME_SCORE
    cause = (
        unsearched_folder(item, missing, retrieved, evidence, outscored=outscored)
        or piece_cause(item, missing, _new_chunks(asked, retrieved), evidence.notes)
        or _without_anchor(asked, missing)
    )
    if cause is not None:
        return cause
    if score is not None and _below_floor(asked, score):
        floors = asked.lists.floors
        limits = ((floors[0], None), (floors[1], None))
        return Cause(code="below-threshold", before=entry, limits=limits, returned=len(retrieved))
    if not retrieved:
        response = item.result.response
        return Cause(code="nothing-retrieved", words=(response.abstain_reason if response else None) or "")
    if outscored:
        return Cause(code="chunk-not-searched", before=entry, last=last, returned=len(retrieved), rank=asked.before)
    if entry is not None and _outranked(asked, entry, last):
        return _demoted(asked, len(retrieved))
    nothing = Cause(code="not-listed", returned=len(retrieved))
    return section_cause(item, missing, retrieved, evidence.notes) or nothing


def _absent_entry(asked: Asked) -> ListEntry | None:
    """Give the passage's place in the baseline's list, if its chunk is known to have not come back."""
    entry = asked.entry_before
    back = {listed.chunk for listed in asked.entries}
    return entry if entry is not None and entry.chunk and entry.chunk not in back else None


def _new_chunks(asked: Asked, retrieved: Sequence[Ranked]) -> list[Ranked]:
    """Leave out the chunks that the baseline listed beside its passages: they did not take a place."""
    entries = asked.old.entries if asked.old is not None else ()
    beside = {entry.chunk for entry in entries if not entry.supports} - {""}
    return [place for place in retrieved if short_hash(place[2].chunk_id) not in beside]


def _without_anchor(asked: Asked, missing: Sequence[Support]) -> Cause | None:
    """Say that nothing comes from the section any more, only from others of its note, by an index that was cut anew."""
    seen = asked.evidence.retrieved.get(asked.item.result.mode, {})
    for support in missing if asked.evidence.recut else ():
        headings = sorted(heading for heading in seen.get(support.rel_path, ()) if heading)
        anchor = support.heading_path
        if anchor and headings and _stood(asked, support) and not any(covers(anchor, heading) for heading in headings):
            return Cause(code="anchor-gone", subject=anchor, other=nearest(anchor, headings, cutoff=0.0) or "")
    return None


def _last(asked: Asked) -> float | None:
    return min((entry.final for entry in asked.entries if entry.final is not None), default=None)


def _below_floor(asked: Asked, score: float) -> bool:
    """Say whether nothing that scores so little is returned any more, and fewer chunks are."""
    before, now = asked.lists.floors
    fewer = asked.old is not None and len(asked.entries) < len(asked.old.entries)
    cut = len(asked.entries) >= asked.lists.longest
    return fewer and not cut and before is not None and now is not None and before <= score < now - SAME_SCORE


def _outranked(asked: Asked, entry: ListEntry, last: float | None) -> bool:
    """Say whether a passage's score does not reach the last one listed: as before, or by the weights of now."""
    if last is None or asked.old is None or len(asked.entries) < len(asked.old.entries):
        # a shorter list is not full
        return False
    score = _expected(asked, entry)
    return score is not None and score <= last + SAME_SCORE


def _expected(asked: Asked, entry: ListEntry) -> float | None:
    """Give the score that the parts a passage had make by the weights of now, or its own where scores are as before."""
    if asked.lists.steady:
        return entry.final
    before, now = asked.lists.weights
    if before is None or now is None:
        return None
    parts = {part: getattr(entry, part) for part in now}
    return None if None in parts.values() else sum(weight * parts[part] for part, weight in now.items())


def _demoted(asked: Asked, returned: int) -> Cause:
    """Say how the passage stood and stands by its score, and what is known of what rose above it."""
    entries, after, above = asked.entries, asked.after, displacer(asked)
    last = _last(asked) if after is None else None
    now = entries[after - 1] if after is not None and after <= len(entries) else None
    return Cause(
        code="demoted",
        returned=returned,
        before=asked.entry_before,
        after=now,
        last=last,
        copy=above is not None and above[0] in asked.item.labels.copies,
        newer=_newer(asked, above[1]) if above is not None else "",
    )


def _newer(asked: Asked, chunk: Chunk) -> Literal["", "added", "changed"]:
    """Say whether a chunk is of a note that was added or changed since the baseline, as far as its vault is told."""
    names = [name for name in asked.evidence.notes if name.partition("/")[2] == chunk.rel_path]
    names = [f"{chunk.vault}/{chunk.rel_path}"] if chunk.vault else names
    kinds = {asked.evidence.changes.get(name) for name in names}
    return "added" if kinds == {"added"} else "changed" if kinds == {"changed"} else ""


def _at_rank(asked: Asked, retrieved: Sequence[Ranked]) -> Cause:
    """Say of a question whose passage is there how it stands; the ranks themselves are shown before this."""
    if asked.before is not None and asked.after is not None and asked.after > asked.before:
        return _demoted(asked, len(retrieved))
    support, case = _fallen_support(asked), asked.item.case
    if support is not None:
        index, before, after = support
        name = place(case.gold_supports[index], case)
        passage = replace(asked, before=before, after=after)
        if after is not None:
            return replace(_demoted(passage, len(retrieved)), passage=name, rank=before)
        return replace(_lost(passage, [case.gold_supports[index]], retrieved), passage=name)
    lacking = unmatched(asked.item)
    if lacking:
        return Cause(code="not-listed", passage=place(lacking[0], case), returned=len(retrieved))
    return Cause(code="not-explained", returned=len(retrieved), rank=asked.after)


def _fallen_support(asked: Asked) -> tuple[int, int, int | None] | None:
    """Give the passage that fell most since the baseline, with its ranks, a lost one before all others."""
    before = _first_ranks(asked.old.entries if asked.old is not None else ())
    after = _first_ranks(asked.entries)
    supports = range(len(asked.item.case.gold_supports))
    fallen = [(index, rank, after.get(index)) for index, rank in before.items() if index in supports]
    fallen = [place for place in fallen if place[2] is None or place[2] > place[1]]
    return max(fallen, key=lambda place: (place[2] is None, (place[2] or 0) - place[1]), default=None)


def _first_ranks(entries: Sequence[ListEntry]) -> dict[int, int]:
    ranks: dict[int, int] = {}
    for rank, entry in enumerate(entries, 1):
        for index in entry.supports:
            ranks.setdefault(index, rank)
    return ranks
