"""Gold supports and chunks by name, and which of them stand where in an answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.headings import as_read
from raggate.models.comparison import CauseEvidence, ListEvidence
from raggate.models.golden import Case, Support
from raggate.models.provenance import notes_of
from raggate.models.run import Chunk, LabelledResult, Reference, Run
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring.score import list_entries, short_hash

Ranked = tuple[int, int, Chunk]
"""Rank, position in the answer, and the chunk."""


Holders = Mapping[str, set[str]]
"""Path of a note -> the vaults that hold a note of it."""


def unmatched(item: LabelledResult) -> tuple[Support, ...]:
    """Return the gold supports that no chunk matches."""
    met = {index for matches in item.labels.matches for index in matches}
    return tuple(support for index, support in enumerate(item.case.gold_supports) if index not in met)


def ranked(item: LabelledResult) -> list[Ranked]:
    """Return the chunks that hold a rank, all but repeated ones."""
    dropped = set(item.labels.duplicates)
    kept = [(position, chunk) for position, chunk in enumerate(item.result.chunks) if position not in dropped]
    return [(rank, position, chunk) for rank, (position, chunk) in enumerate(kept, 1)]


def place(support: Support, case: Case) -> str:
    """Name a gold support by vault, note and section, as far as the golden set tells them."""
    if not support.rel_path:
        return f"chunk {support.chunk_id}" if support.chunk_id is not None else f"document {support.doc_id}"
    vaults = case.vaults_of(support)
    path = f"{vaults[0]}/{support.rel_path}" if len(vaults) == 1 else support.rel_path
    return as_read(path, support.heading_path)


def note_of(support: Support, case: Case) -> str:
    """Name the note that a gold support is of."""
    return place(replace(support, heading_path=None), case)


def of_chunk(chunk: Chunk | Reference) -> str:
    """Name a chunk, or a cited place, likewise, as far as the API tells them."""
    names = (chunk.rel_path,) if isinstance(chunk, Reference) else (chunk.rel_path, chunk.doc_id, chunk.chunk_id)
    path = f"{chunk.vault}/{chunk.rel_path}" if chunk.vault else next(filter(None, names), "")
    return as_read(path, chunk.heading_path)


def of_path(support: Support, retrieved: Sequence[Ranked]) -> Iterator[Ranked]:
    """Yield all that is of a note of the same path."""
    for rank, position, chunk in retrieved:
        if support.rel_path and chunk.rel_path == support.rel_path:
            yield rank, position, chunk


def holders(run: Run) -> Holders:
    """Return the vaults that hold a note of a path, of the notes the run was asked of."""
    return vaults_by_path(frozenset(notes_of(run.fingerprint)))


@lru_cache(maxsize=4)  # every cause asks for it
def vaults_by_path(notes: frozenset[str]) -> Holders:
    """Return the vaults that hold a note of a path, of notes as `vault/rel_path`."""
    parts = (note.partition("/") for note in notes)
    return vaults_named((path, vault) for vault, _, path in parts)


@lru_cache(maxsize=4)
def vaults_with_notes(notes: frozenset[str]) -> Collection[str]:
    """Return the vaults that hold any of these notes."""
    return {note.partition("/")[0] for note in notes}


def vaults_named(places: Iterable[tuple[str, str | None]]) -> Holders:
    """Return the vaults that places name, by the path of their note."""
    vaults: dict[str, set[str]] = {}
    for path, vault in places:
        vaults.setdefault(path, set()).update((vault,) if vault else ())
    return vaults


def count_notes(vaults: Mapping[str, Collection[str]]) -> int:
    """Return how many notes are named; one that is named without its vault is no further note of its path."""
    return sum(max(1, len(names)) for names in vaults.values())


def possible(place: Chunk | Reference, known: Holders) -> tuple[str, ...]:
    """Return the notes, as `vault/rel_path`, that a chunk or a cited place may be of; none where nothing is known."""
    vaults = [place.vault] if place.vault else sorted(known.get(place.rel_path, ()))
    return tuple(f"{vault}/{place.rel_path}" for vault in vaults)


class Asked(Struct, frozen=True, kw_only=True):
    """A question with its answer, and how that was judged.

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
    def old_entries(self) -> tuple[ListEntry, ...]:
        """The baseline's list, as far as it is kept."""
        return self.old.entries if self.old is not None else ()

    @property
    def entry_before(self) -> ListEntry | None:
        """The passage's place in the baseline's list."""
        entries = self.old_entries
        entry = entries[self.before - 1] if self.before is not None and self.before <= len(entries) else None
        # the rank of several answers to a question need not be that of the list that was kept
        return entry if entry is not None and entry.supports else None

    @property
    def entries(self) -> tuple[ListEntry, ...]:
        """The answer's own list."""
        return list_entries(self.item, len(self.item.labels.matches))

    def stood(self, support: Support) -> bool:
        """Return whether a passage is known to have stood at the baseline's rank."""
        entry, supports = self.entry_before, self.item.case.gold_supports
        return entry is not None and support in [supports[index] for index in entry.supports if index < len(supports)]

    def at_passage(self, index: int) -> Self:
        """Return the same of one passage alone: where that stood first, and stands now, as far as that is known."""
        return replace(
            self, before=first_ranks(self.old_entries).get(index), after=first_ranks(self.entries).get(index)
        )

    def risen(self) -> Chunk | None:
        """Return the first chunk that stands where the passage stood, or above, and did not before.

        None where none is known to: a chunk that the baseline does not list may be another piece of a note that stood
        there.
        """
        before, after, retrieved = self.before, self.after, ranked(self.item)[: self.before or 0]
        if self.entry_before is None or before is None or (after is not None and after <= before):
            return None
        entries, matches = self.old_entries, self.item.labels.matches
        if len(retrieved) < before or matches[retrieved[-1][1]]:
            # a shorter list, or another passage of the question: nothing took its place
            return None
        notes = {entry.note for entry in entries[: before - 1]}
        lower = {entry.chunk for entry in entries[before:] if not self.lists.renumbered} - {""}
        for _, position, chunk in retrieved:
            new = chunk.rel_path != "" and short_hash(chunk.rel_path) not in notes
            if not matches[position] and (new or short_hash(chunk.chunk_id) in lower):
                return chunk
        return None


def first_ranks(entries: Sequence[ListEntry]) -> dict[int, int]:
    """Return where each passage, by its index, stands first in a list."""
    ranks: dict[int, int] = {}
    for rank, entry in enumerate(entries, 1):
        for index in entry.supports:
            ranks.setdefault(index, rank)
    return ranks
