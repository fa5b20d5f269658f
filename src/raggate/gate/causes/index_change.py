"""How the index of a run differs from the baseline's, in words: its documents, its chunks, or its versions. Pure.

Numbers are held against each other where both indexes are of the same notes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from raggate.base.numbers import counted, percent
from raggate.base.quote import cut
from raggate.gate.causes.cause_wording import number
from raggate.models.comparison import Comparison
from raggate.models.provenance import Fingerprint
from raggate.models.verdict import Reason

WHOLE = 0.9
"""Share of the text, in tokens, that must still be there for other chunks to be another cut of the same notes."""

OTHER_LENGTH = 0.005
"""Share by which as many chunks must hold another number of tokens."""

_LARGEST = 1e9


_GROWING = "if it was still growing, raise api.ready.settle"
_ALLOWED = "with --allow-regression and a --reason"
_FIELDS = {"documents": "indexing_coverage.docs_processed", "chunks": "indexing_coverage.chunks_embedded"}
"""What an index may count -> the field of answers that counts it too."""


class IndexChange(Struct, frozen=True):
    """The indexes of two runs, by their fingerprints."""

    before: Fingerprint
    now: Fingerprint

    @property
    def documents(self) -> tuple[int, int] | None:
        """How many documents the two hold of the same notes; None where that is not known."""
        return self._counts("documents")

    @property
    def chunks(self) -> tuple[int, int] | None:
        """How many chunks the two hold of the same notes; None where that is not known."""
        return self._counts("chunks")

    def fewer(self, key: str) -> int:
        """Return by how many fewer it holds of a kind; negative for more, 0 where that is not known."""
        before, now = self._counts(key) or (0, 0)
        return before - now

    @property
    def lost(self) -> int:
        """How many documents fewer it holds."""
        return self.fewer("documents")

    @property
    def hollowed(self) -> int:
        """How many documents more it holds that have no chunk."""
        return -self.fewer("empty_documents")

    @property
    def text_left(self) -> float | None:
        """The share of the text, in tokens, that is still in the index; None where that is not known."""
        chunks, tokens = self.chunks or (0, 0), self._both("chunk_tokens") or (0, 0)
        before = chunks[0] * tokens[0]
        return chunks[1] * tokens[1] / before if before else None

    @property
    def is_whole(self) -> bool:
        """Whether all notes are there, by their number, their text or another version of the index."""
        if self.text_left is not None and self.text_left < WHOLE:
            return False
        if self.documents is not None:
            return self.lost <= 0 and self.hollowed <= 0
        return self.text_left is not None or self._differs("index_version", "chunker_version")

    def _differs(self, *keys: str) -> bool:
        sides = [(self.before.get(key), self.now.get(key)) for key in keys]
        return any(None is not was != now is not None for was, now in sides)

    @property
    def recut(self) -> bool:
        """Whether it says that it holds other chunks of the same notes, or is of another version."""
        return self._same_notes and self._differs("chunks", "chunk_tokens", "index_version", "chunker_version")

    @property
    def same_size(self) -> str:
        """The sentence for an index of equal counts; empty if they differ or cannot be compared."""
        sides = (self.before, self.now)
        nouns = [noun for noun in ("documents", "chunks") if any(side.get(noun) is not None for side in sides)]
        sizes = [self._both(noun) for noun in nouns]
        if not sizes or any(pair is None or pair[0] != pair[1] for pair in sizes):
            return ""
        return "of the same size" if len(nouns) > 1 else f"with as many {nouns[0]}"

    @property
    def uncounted(self) -> bool:
        """Whether neither side reports how many documents or chunks it has."""
        return all(side.get(noun) is None for side in (self.before, self.now) for noun in ("documents", "chunks"))

    @property
    def documents_words(self) -> str:
        """The sentence for an index with fewer or more documents; otherwise empty."""
        if not self.documents or not self.lost:
            return ""
        return f"the index has {counted(self.documents[1], 'document')} of the same notes, {self.documents[0]} before"

    @property
    def chunks_words(self) -> str:
        """The sentence for an index with other chunks; they are called re-chunked if almost no text is gone.

        Fewer chunks of fewer documents, and more of more, are what is to be expected, and not said.
        """
        chunks, tokens, left = self.chunks, self._both("chunk_tokens"), self.text_left
        if chunks is None or self.lost < 0 or (self.lost > 0 and chunks[1] < chunks[0]):
            return ""
        length = f"mean length {number(tokens[0])} → {number(tokens[1])} tokens" if tokens else ""
        passages = f"the index has {counted(chunks[1], 'passage')} of the same notes"
        if chunks[0] == chunks[1]:
            text = f"{'less' if (left or 1) < 1 else 'more'} text ({length})"
            return f"{passages}, as before, with {text}" if left and abs(1 - left) >= OTHER_LENGTH else ""
        if self.is_whole or (left or 0.0) >= WHOLE:
            counts = f"{chunks[0]} → {chunks[1]}"
            return f"the same notes are cut into other passages ({', '.join(filter(None, (counts, length)))})"
        return ", ".join(filter(None, (passages, f"{chunks[0]} before", length)))

    @property
    def versions(self) -> Iterator[str]:
        """Yield the versions that differ."""
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

    def _counts(self, key: str) -> tuple[int, int] | None:
        both = self._both(key)
        return (int(both[0]), int(both[1])) if both else None

    @property
    def _same_notes(self) -> bool:
        return self.before.get("vault") is not None and self.before.get("vault") == self.now.get("vault")


def documents(comparison: Comparison, *, promoting: bool) -> Iterator[Reason]:
    """Yield the warning for an index of the same notes with fewer documents, also of notes without questions.

    Unlike chunks, which may be cut otherwise, documents are only fewer where some are missing. One that is counted and
    has no chunk is missing as well.
    """
    index = _index(comparison)
    lost: list[tuple[str, str]] = []
    if index is not None and index.documents and index.lost > 0:
        now = counted(index.documents[1], "document")
        words = f"the index has {now} of the same notes, {index.documents[0]} in the baseline's run, and what it lacks"
        lost.append((words, "if notes are left out on purpose, promote a run without them"))
    if index is not None and index.hollowed > 0:
        more = counted(index.hollowed, "more document")
        words = (
            f"{more} of the index without any passage than in the baseline's run, of the same notes, and what has none"
        )
        lost.append((words, "if they have nothing to be found, promote a run of this index"))
    for words, way in lost:
        purpose = "" if promoting else f"; {way}, {_ALLOWED}"
        yield Reason("index-smaller", f"{words} is found by no question; {_GROWING}{purpose}")


def chunks(comparison: Comparison, *, whole: bool) -> Iterator[Reason]:
    """Yield that an index of the same notes holds fewer chunks than the baseline's.

    With `whole` where all notes are cut otherwise, which can be judged; else where notes or text may be missing.
    """
    index = _index(comparison)
    chunks = index and index.chunks
    if index is None or not chunks or chunks[1] >= chunks[0] or index.is_whole != whole:
        return
    was, is_now = chunks
    if whole:
        message = f"the same notes are cut into {counted(is_now, 'passage')}, {was} in the baseline's run"
        yield Reason("index-recut", message)
        return
    share = index.text_left
    lacks = "nothing shows that all of them are in it" if share is None else f"{percent(share)} of their text is in it"
    message = f"the index has {counted(is_now, 'passage')} of the same notes, {was} in the baseline's run, and {lacks}"
    yield Reason("index-smaller", f"{message}; {_GROWING}")


def counts(comparison: Comparison, vanished: Collection[str]) -> Iterator[Reason]:
    """Yield the warning for index counts that the API no longer reports: a smaller index would pass unseen."""
    index = _index(comparison)
    if index is None:
        return
    for noun, field in _FIELDS.items():
        if type(index.before.get(noun)) is int and type(index.now.get(noun)) is not int and field not in vanished:
            name = noun.replace("chunks", "passages")
            message = (
                f"the API counted the {name} of its index in the baseline's run and does not now, so an index that "
                "lost some is not noticed"
            )
            yield Reason("field-vanished", message)


def _index(comparison: Comparison) -> IndexChange | None:
    if comparison.baseline is None or comparison.incomparable:
        return None
    return IndexChange(comparison.baseline.scorecard.fingerprint, comparison.scorecard.fingerprint)
