"""Which questions of a golden set are asked: what a command line says, and what that comes to. Frozen."""

from __future__ import annotations

import shlex

from msgspec import Struct

from raggate.text.numbers import counted
from raggate.text.shapes import Stored

MOST_NAMED = 20
"""Questions that a command line names one by one."""


class Choice(Struct, frozen=True, kw_only=True):
    """What a command line says of the questions to ask; empty: all of them. All that is said must hold.

    Attributes:
        matching: an expression of words over id, question, tags and category (`-k`).
        cases: ids (`--case`); any of them.
        tags: tags (`--tag`); any of them.
        slices: slices as in reports, `difficulty=hard` (`--slice`); any of those of one dimension, in every dimension.
        failed: whether those that were broken when they were last asked (`--failed`).
        limit: at most so many of them, in the order of the golden set (`--limit`).
    """

    matching: str | None = None
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    failed: bool = False
    limit: int | None = None

    @property
    def words(self) -> str:
        """The options as they are typed."""
        given = [] if self.matching is None else ["-k", self.matching]
        for option, values in (("--case", self.cases), ("--tag", self.tags), ("--slice", self.slices)):
            given += [word for value in values for word in (option, value)]
        given += ["--failed"] if self.failed else []
        given += [] if self.limit is None else ["--limit", str(self.limit)]
        return " ".join(map(shlex.quote, given))


EVERYTHING = Choice()
"""All questions are asked."""


class Selection(Stored, frozen=True, kw_only=True):
    """The questions that a partial run asks: `asked` by id, of so many questions, and the options that said so."""

    asked: tuple[str, ...]
    of: int
    words: str

    @property
    def sentence(self) -> str:
        """Say that a run is partial, whatever came of the questions, without an end mark."""
        choice = f" ({self.words})" if self.words else ""
        return f"partial: {len(self.asked)} of {counted(self.of, 'question')} chosen{choice}"


def naming(cases: tuple[str, ...]) -> str:
    """Write the options that ask these questions by id; empty for none, or for too many to name."""
    return Choice(cases=cases).words if len(cases) <= MOST_NAMED else ""
