"""What came back of a passage's own note in its place: a piece, another heading, another section. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from raggate.gate.causes.note_places import vaults_by_path
from raggate.gate.causes.passages import Ranked, of_path
from raggate.gate.heading_spellings import written_otherwise
from raggate.models.cause import Cause, CauseCode
from raggate.models.golden import Support
from raggate.models.run import Chunk, LabelledResult
from raggate.text.anchors import covers, is_end_of
from raggate.text.quote import cut
from raggate.text.titles import rule

SHOWN_SNIPPET = 100
"""Characters of a gold snippet that a cause shows."""


def piece_cause(
    item: LabelledResult, missing: Sequence[Support], retrieved: Sequence[Ranked], notes: Collection[str]
) -> Cause | None:
    """Say what is wrong with a chunk that should be the passage: its text, its heading, or both told otherwise.

    Args:
        item: the answer.
        missing: the passages that did not come back.
        retrieved: those of its chunks that may tell it.
        notes: what is in the vaults, as `vault/rel_path`; empty when that is not known.
    """
    labels, same = item.labels, rule(as_read=item.labels.as_read)
    for support in missing:
        name = _Name(support, missing, notes)
        heading = support.heading_path
        for rank, position, chunk in _of_its_note(item, support, retrieved):
            own = heading is None or covers(heading, chunk.heading_path, same)
            if own and position in labels.ambiguous:
                return Cause(code="heading-ambiguous", subject=name.of(chunk), other=chunk.heading_path, rank=rank)
            if support.snippets and own:
                code = _without_snippet(item, position, chunk)
                return Cause(code=code, subject=name.of_section(chunk), words=_any_of(support.snippets), rank=rank)
            if position in labels.strange_headings:
                return Cause(code="heading-differs", subject=name.of(chunk), other=chunk.heading_path, rank=rank)
            if position in labels.filed_elsewhere:
                return Cause(code="anchor-moved", subject=heading or "", other=chunk.heading_path, rank=rank)
    return None


def heading_cause(
    item: LabelledResult, missing: Sequence[Support], retrieved: Sequence[Ranked], notes: Collection[str]
) -> Cause | None:
    """Say that a passage came back under a part of its headings, or under them written otherwise; as `piece_cause`."""
    same = rule(as_read=item.labels.as_read)
    for support in missing:
        gold = support.heading_path or ""
        for rank, _, chunk in _of_its_note(item, support, retrieved):
            heading = chunk.heading_path
            if covers(gold, heading, same):
                continue
            partial = is_end_of(gold, heading, same)
            if partial or written_otherwise(gold, heading):
                code: CauseCode = "heading-partial" if partial else "heading-otherwise"
                return Cause(code=code, subject=_Name(support, missing, notes).of(chunk), other=heading, rank=rank)
    return None


def section_cause(
    item: LabelledResult, missing: Sequence[Support], retrieved: Sequence[Ranked], notes: Collection[str]
) -> Cause | None:
    """Say that other sections of the note came back, or the note of the same path in another vault."""
    for support in missing:
        for rank, _, chunk in _of_its_note(item, support, retrieved):
            name, heading = _Name(support, missing, notes).of(chunk), chunk.heading_path
            unnamed = support.heading_path and not heading.strip()
            code: CauseCode = "heading-missing" if unnamed else "other-section"
            return Cause(code=code, subject=name, other=heading, rank=rank)
    for support in missing:
        for rank, _, chunk in of_path(support, retrieved):
            wanted = " or ".join(item.case.vaults_of(support))
            return Cause(code="other-vault", subject=wanted, other=chunk.vault or "", rank=rank)
    return None


def _of_its_note(item: LabelledResult, support: Support, retrieved: Sequence[Ranked]) -> Iterator[Ranked]:
    return (place for place in of_path(support, retrieved) if item.case.may_be_in(place[2].vault, support))


def _any_of(snippets: Sequence[str]) -> str:
    """Return the first snippet in quotes, and how many others would do."""
    more = f" or any of {len(snippets) - 1} more" if len(snippets) > 1 else ""
    return f"“{cut(snippets[0], limit=SHOWN_SNIPPET)}”{more}"


def _without_snippet(item: LabelledResult, position: int, chunk: Chunk) -> CauseCode:
    labels = item.labels
    if position in labels.empty:
        return "text-missing"
    if position in labels.strange_texts:
        return "text-foreign"
    # cut before it was looked at; a run directory cuts only what has been looked at, and keeps its hash
    return "text-cut" if labels.truncated and chunk.text_hash is None else "snippet-gone"


class _Name:
    """What a note is called: by its path where another one is shown as expected, by its vault where several have it."""

    def __init__(self, support: Support, missing: Sequence[Support], notes: Collection[str]) -> None:
        self._support = support
        self._plain = "the note" if support == missing[0] else f"the note {support.rel_path}"
        self._vaults = sorted(vaults_by_path(notes).get(support.rel_path, ()))

    def of(self, chunk: Chunk) -> str:
        """Name the note that a chunk is of."""
        if len(self._vaults) < 2:
            return self._plain
        if chunk.vault is not None:
            return f"{self._plain} of vault {chunk.vault}"
        note = "a note" if self._plain == "the note" else self._plain
        return f"{note} of this path (the API does not say which vault: {' or '.join(self._vaults)})"

    def of_section(self, chunk: Chunk) -> str:
        """Name the section of it that was expected, or the whole note."""
        note = self.of(chunk)
        if self._support.heading_path is None:
            return note
        return "the section" + (f" of {note}" if note != "the note" else "")
