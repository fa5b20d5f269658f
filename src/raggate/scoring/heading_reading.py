"""By which rule headings were compared in a run, and how many answers only that rule counts: a run -> fingerprint keys.

Headings are compared as people read them. Versions before that compared them letter by letter, so what an answer of now
gets by the new rule alone must not be held against a baseline of theirs.
"""

from __future__ import annotations

from msgspec.structs import replace

from raggate.models.provenance import Fingerprint
from raggate.models.run import LabelledResult
from raggate.scoring.metrics.citations import cited_supports
from raggate.text.headings import covers_as_written

KEY = "headings_as_read"
"""How many answers score otherwise because headings are compared as people read them; absent where they are not."""


class Reading:
    """Counts the answers of a run one by one."""

    def __init__(self) -> None:
        self._count = 0
        self._as_read = True

    def add(self, item: LabelledResult) -> None:
        """Count one more answer."""
        self._as_read &= item.labels.as_read
        self._count += self._as_read and _differs(item)

    def stored(self) -> Fingerprint:
        """Return the key and its number; nothing for a run whose headings were compared letter by letter."""
        return {KEY: self._count} if self._as_read else {}


def read_otherwise(before: Fingerprint, now: Fingerprint) -> int:
    """Return how many answers of a run a baseline would not have counted, by the rule it was scored by."""
    count = now.get(KEY)
    return count if KEY not in before and isinstance(count, int) else 0


def _differs(item: LabelledResult) -> bool:
    """Return whether an answer would be scored otherwise letter by letter."""
    chunks = item.result.chunks
    supports = item.case.gold_supports
    for chunk, matches in zip(chunks, item.labels.matches, strict=True):
        paths = [path for index in matches if (path := supports[index].heading_path) is not None]
        if not all(covers_as_written(path, chunk.heading_path) for path in paths):
            return True
    response = item.result.response
    if response is None or not (response.references or response.answer):
        return False
    letters = replace(item, labels=replace(item.labels, as_read=False))
    return cited_supports(item) != cited_supports(letters)
