"""What several runs returned -> per question the passages that nobody has judged, each once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from raggate.base.numbers import lot
from raggate.inputs.authoring.passages import Passage, of_chunk, passages
from raggate.inputs.golden import place_key
from raggate.labelling.decisions import Where
from raggate.models.golden import Case, Golden, Support, Vault
from raggate.models.run import Chunk
from raggate.scoring.score import judged_places

MOST_TEXT = 20_000
"""Characters of a passage that are shown."""


class Pooled(Struct, frozen=True, kw_only=True):
    """A passage to judge: the place that the golden set would name, and what stands there.

    `line` is where it begins in its note, from 1; 0 where that is not known.
    """

    where: Where
    vault: str
    text: str
    line: int = 0


class Pool(Struct, frozen=True, kw_only=True):
    """Per question the passages to judge, best first; and how many returned ones stand in no note that is there."""

    passages: Mapping[str, tuple[Pooled, ...]]
    unplaced: int = 0


class Places:
    """The notes, to look up where a retrieved chunk stands."""

    def __init__(self, vault: Vault, *, by_heading: bool) -> None:
        self._vault = vault
        self._by_heading = by_heading
        self._notes: dict[str, list[Passage]] = {}
        for passage in passages(vault):
            self._notes.setdefault(passage.rel_path, []).append(passage)

    def of_notes(self, vault: Vault) -> Places:
        """Index other notes in the same way."""
        return Places(vault, by_heading=self._by_heading)

    def of(self, chunk: Chunk, case: Case) -> Pooled | None:
        """The place that a chunk is from, as the question's golden labels name places; None where it has none."""
        named = case.gold_supports[0] if case.gold_supports else None
        if named is not None and not named.rel_path:
            return _by_id(chunk, named)
        return self._section(chunk) if self._by_heading else self._note(chunk)

    def _section(self, chunk: Chunk) -> Pooled | None:
        passage = of_chunk(chunk, self._notes.get(chunk.rel_path, ()), self._vault)
        if passage is None:
            return None
        where = Where.of(passage.support(self._vault))
        text = _cut(passage.text or chunk.text)
        return Pooled(where=where, vault=passage.vault, text=text, line=passage.line)

    def _note(self, chunk: Chunk) -> Pooled | None:
        names = [name for name, path in self._vault.texts if path == chunk.rel_path and chunk.vault in {None, name}]
        if len(names) != 1:
            return None
        several = sum(path == chunk.rel_path for _, path in self._vault.texts) > 1
        where = Where(rel_path=chunk.rel_path, vault=names[0] if several else None)
        return Pooled(where=where, vault=names[0], text=_cut(self._vault.texts[names[0], chunk.rel_path]), line=1)

    def text_of(self, support: Support) -> str:
        """Return what stands at a place of the golden set; empty where it is not there any more."""
        key = place_key(support)
        for passage in self._notes.get(support.rel_path, ()):
            own = passage.support(self._vault)
            if place_key(own)[1:] == key[1:] and support.vault in {None, passage.vault}:
                return _cut(passage.text)
        return ""


def _cut(text: str) -> str:
    more = len(text) - MOST_TEXT
    return text if more <= 0 else f"{text[:MOST_TEXT]}\n[… {more} more characters, not shown here]"


def _by_id(chunk: Chunk, named: Support) -> Pooled | None:
    document = chunk.document
    name = chunk.chunk_id if named.chunk_id is not None else document
    if not name:
        return None
    where = Where(chunk_id=name) if named.chunk_id is not None else Where(doc_id=name)
    return Pooled(where=where, vault=chunk.vault or "", text=_cut(chunk.text))


def pool(
    golden: Golden,
    lists: Mapping[str, Sequence[Sequence[Chunk]]],
    places: Places,
    depth: int,
    *,
    again: bool = False,
) -> Pool:
    """Pool what was returned for each answerable question.

    Args:
        golden: the questions. A passage that matches a gold support or stands in `not_relevant` is judged.
        lists: by the id of a case, the lists that runs returned, best first.
    """
    pooled: dict[str, tuple[Pooled, ...]] = {}
    unplaced = 0
    for case in golden.cases:
        own: dict[str, Pooled] = {}
        nowhere: set[tuple[str, str, str]] = set()
        for chunk in _in_turns(lists.get(case.id, ()) if case.answerable else (), depth):
            place = places.of(chunk, case)
            if place is None:
                nowhere.add((chunk.chunk_id, chunk.rel_path, chunk.heading_path))
            elif again or not is_judged(place, case):
                own.setdefault(place.where.id, place)
        unplaced += len(nowhere)
        pooled[case.id] = tuple(own.values())
    return Pool(passages=pooled, unplaced=unplaced)


def is_judged(place: Pooled, case: Case) -> bool:
    """Return whether the golden set judges a place, as a metric would see it."""
    where = place.where
    chunk = Chunk(
        chunk_id=where.chunk_id or "",
        rel_path=where.rel_path,
        heading_path=where.heading_path or "",
        text="",
        vault=place.vault or None,
        doc_id=where.doc_id,
    )
    return bool(judged_places([chunk], [()], case))


def _in_turns(lists: Sequence[Sequence[Chunk]], depth: int) -> Iterable[Chunk]:
    for rank in range(depth):
        yield from (chunks[rank] for chunks in lists if rank < len(chunks))


def shuffled(case_id: str, pooled: Iterable[Pooled], annotator: str) -> list[Pooled]:
    """Put passages into an order that looks random, is the same every time, and another one for each person.

    Neither rank nor run shows through, so that nobody grades what the API thinks of a passage.
    """
    return sorted(pooled, key=lambda place: lot(annotator, case_id, place.where.id))
