"""A question that got worse, with what both sides' lists tell of its passages: what causes are looked for in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.gate.causes.passages import ranked
from raggate.models.cause import CauseEvidence, ListEvidence
from raggate.models.golden import Support
from raggate.models.run import Chunk, LabelledResult
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring.list_entries import list_entries, short_hash


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

    def risen(self) -> tuple[int, Chunk] | None:
        """Return position and chunk of the first that stands where the passage stood, or above, and did not before.

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
                return position, chunk
        return None


def first_ranks(entries: Sequence[ListEntry]) -> dict[int, int]:
    """Return where each passage, by its index, stands first in a list."""
    ranks: dict[int, int] = {}
    for rank, entry in enumerate(entries, 1):
        for index in entry.supports:
            ranks.setdefault(index, rank)
    return ranks
