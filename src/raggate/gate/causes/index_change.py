"""How the index of a run differs from the baseline's, in words: its documents, its chunks, or its versions. Pure.

Numbers are held against each other where both indexes are of the same notes.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from raggate.gate.causes.cause_wording import number
from raggate.models.fingerprint import Fingerprint
from raggate.text.numbers import counted
from raggate.text.quote import cut

WHOLE = 0.9
"""Share of the text, in tokens, that must still be there for other chunks to be another cut of the same notes."""

_LARGEST = 1e9


class IndexChange(Struct, frozen=True):
    """The indexes of two runs, by their fingerprints."""

    before: Fingerprint
    now: Fingerprint

    @property
    def documents(self) -> tuple[int, int] | None:
        """How many documents the two hold; None where that is not known."""
        documents = self._both("documents")
        return (int(documents[0]), int(documents[1])) if documents else None

    @property
    def lost(self) -> int:
        """How many documents fewer it holds; negative for more, 0 where that is not known."""
        return self.documents[0] - self.documents[1] if self.documents else 0

    @property
    def hollowed(self) -> int:
        """How many documents more it holds that have no chunk; negative for fewer, 0 where that is not known."""
        empty = self._both("empty_documents")
        return int(empty[1] - empty[0]) if empty else 0

    @property
    def other_chunks(self) -> float:
        """By how many the chunks it holds of the same notes differ in number; 0 where that is not known."""
        chunks = self._both("chunks")
        return abs(chunks[1] - chunks[0]) if chunks else 0

    @property
    def recut(self) -> bool:
        """Whether it says that it holds other chunks of the same notes, or is of another version."""
        keys = ("chunks", "chunk_tokens", "index_version", "chunker_version")
        return self._same_notes and any(
            None is not self.before.get(key) != self.now.get(key) is not None for key in keys
        )

    @property
    def same_size(self) -> str:
        """Say that it holds as much, as far as its API counts; empty where not, and where one side counts otherwise."""
        sides = (self.before, self.now)
        nouns = [noun for noun in ("documents", "chunks") if any(side.get(noun) is not None for side in sides)]
        sizes = [self._both(noun) for noun in nouns]
        if not sizes or any(pair is None or pair[0] != pair[1] for pair in sizes):
            return ""
        return "of the same size" if len(nouns) > 1 else f"with as many {nouns[0]}"

    @property
    def documents_words(self) -> str:
        """Say that it holds fewer documents, or more; empty where not."""
        if not self.documents or not self.lost:
            return ""
        return f"the index has {counted(self.documents[1], 'document')} of the same notes, {self.documents[0]} before"

    @property
    def chunks_words(self) -> str:
        """Say that it holds other chunks, and that these are cut otherwise where next to no text is gone.

        Fewer chunks of fewer documents, and more of more, are what is to be expected, and not said.
        """
        chunks, tokens = self._both("chunks"), self._both("chunk_tokens")
        expected = self.lost > 0 and chunks is not None and chunks[1] < chunks[0]
        if not chunks or chunks[0] == chunks[1] or self.lost < 0 or expected:
            return ""
        length = f", mean length {number(tokens[0])} → {number(tokens[1])} tokens" if tokens else ""
        texts = [count * mean for count, mean in zip(chunks, tokens, strict=True)] if self.documents and tokens else []
        if texts and texts[1] >= WHOLE * texts[0]:
            return f"the same notes are cut into other chunks ({number(chunks[0])} → {number(chunks[1])}{length})"
        now = f"{number(chunks[1])} {'chunk' if chunks[1] == 1 else 'chunks'}"
        return f"the index has {now} of the same notes, {number(chunks[0])} before{length}"

    @property
    def versions(self) -> Iterator[str]:
        """Say which of its versions are others."""
        for key, noun in (("index_version", "index"), ("chunker_version", "chunker")):
            was, is_now = self.before.get(key), self.now.get(key)
            if was is not None and is_now is not None and was != is_now:
                yield f"the {noun} is another version ({cut(was, limit=40)} → {cut(is_now, limit=40)})"

    def _both(self, key: str) -> tuple[float, float] | None:
        """Return a number that both sides know of an index of the same notes."""
        values = [side.get(key) for side in (self.before, self.now)]
        numbers = [
            float(value)
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
        ]
        return (numbers[0], numbers[1]) if self._same_notes and len(numbers) == 2 else None

    @property
    def _same_notes(self) -> bool:
        return self.before.get("vault") is not None and self.before.get("vault") == self.now.get("vault")
