"""One question asked to try an API out, and what its answer filled. Frozen."""

from __future__ import annotations

from msgspec import Struct

from raggate.base.errors import ExitCode
from raggate.models.golden import Case
from raggate.models.run import Result


class FilledField(Struct, frozen=True, kw_only=True):
    """One part of what raggate reads, and how an answer filled it.

    Attributes:
        name: what raggate calls it.
        source: where in the answer it is read from; empty where no path is configured for it.
        filled: how many of `of` told it; `of` is the number of chunks, or 1 for what stands in an answer once. None
            where that cannot be seen in what is kept of an answer.
        first: the first that did. Untrusted text, empty when none did.
        cost: what is lost where it is not told at all; empty where nothing is.
    """

    name: str
    source: str
    filled: int | None
    of: int
    first: str = ""
    cost: str = ""


class SmokeTest(Struct, frozen=True, kw_only=True):
    """What came of one question.

    Attributes:
        fields: what the answer filled, in the order of raggate's own nouns.
        rank: where the first gold support stands; None when it is not in the list, or the case has no labels.
        unknown: what keeps the answer from being judged at all, a sentence each.
        broken: what would break the gate, a sentence each.
        hints: what is worth knowing besides, a sentence each.
    """

    case: Case
    result: Result
    fields: tuple[FilledField, ...] = ()
    rank: int | None = None
    unknown: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code: 3 if nothing was measured, 4 if the answer breaks an invariant."""
        if self.unknown:
            return ExitCode.CANNOT_TELL
        return ExitCode.INVARIANT if self.broken else ExitCode.PASS
