"""Looks at an index while it is built -> whether it is as complete as it gets. Pure but for the clock it is given."""

from __future__ import annotations

from msgspec import Struct

from raggate.models.service import IndexState


class Expected(Struct, frozen=True, kw_only=True):
    """What a complete index holds.

    Attributes:
        documents: notes with text in the vault.
        chunks: of the index that the baseline was measured with, where that was of the same notes; None where that is
            not known.
    """

    documents: int
    chunks: int | None = None


class Growth:
    """Decides from one state after the other whether the index is final.

    An index that was never seen to grow and holds all that is expected is final at the second look. Any other has to
    stay as it is for a while: some APIs count a note before they embed it, and say meanwhile that they are done. An
    empty one is never final, however long it stays so, unless the baseline was measured with one that counts so too.

    `grew` tells whether two looks saw different numbers, `settling` whether it had to stay as it is for that while.

    Args:
        expected: what a complete index holds.
        settle: seconds for which one that grew, or is not known to be complete, must not change.
    """

    def __init__(self, expected: Expected, settle: float) -> None:
        self._expected = expected
        self._settle = settle
        self._seen: tuple[int | None, ...] | None = None
        self._since = 0.0
        self.grew = False
        self.settling = False

    def finished(self, state: IndexState | None, now: float) -> bool:
        """Take the state of one look, None for none, at `now` seconds on any clock that only goes forward."""
        if state is None or not state.healthy or state.indexing:
            self._seen = None
            return False
        numbers = (state.documents, state.chunks, state.empty)
        if numbers != self._seen:
            self.grew |= self._seen is not None
            self._seen, self._since = numbers, now
            return False
        if self.is_empty(state):
            return False
        self.settling = self.grew or not self._complete(state)
        return not self.settling or now - self._since >= self._settle

    def is_empty(self, state: IndexState) -> bool:
        """Return whether an index holds no document or no chunk, though there are notes with text."""
        return self._expected.documents > 0 and (
            state.documents == 0 or (state.chunks == 0 and self._expected.chunks != 0)
        )

    def _complete(self, state: IndexState) -> bool:
        if state.documents is None and state.chunks is None:
            # an API that does not count is believed at once, unless something kept it from counting
            return not state.detail
        if state.empty or (state.documents is not None and state.documents < self._expected.documents):
            return False
        return state.chunks is None or (self._expected.chunks is not None and state.chunks >= self._expected.chunks)
