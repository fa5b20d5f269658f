"""Two builds that were asked the same questions, and what became of them. Frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from raggate.models.public_verdict import Verdict
from raggate.models.verdict import Review

SideKind = Literal["working tree", "revision", "image", "url", "run"]


class Side(Struct, frozen=True, kw_only=True):
    """One of the two: what it is, as it was named, its commit where that is known, its run, and where that is."""

    kind: SideKind
    name: str
    commit: str | None
    run_id: str
    directory: Path

    @property
    def title(self) -> str:
        """Name it in a few words, its commit included."""
        if self.kind == "working tree":
            return "the working tree"
        commit = f" ({self.commit[:12]})" if self.commit and self.kind == "revision" else ""
        return f"{self.kind} {self.name}{commit}"


class SideRow(Struct, frozen=True, kw_only=True):
    """One of two builds, as programs get it.

    Attributes:
        kind: what it is.
        name: as it was named.
        commit: its commit; null where that is not known.
        run_id: its run.
    """

    kind: SideKind
    name: str
    commit: str | None
    run_id: str


class MatrixCell(Struct, frozen=True, kw_only=True):
    """A gated metric of one mode in both builds, as programs get it. Values are rounded to four decimals.

    Attributes:
        mode: the retrieval mode.
        metric: its name, such as `hit_at_5`.
        base: its value there; null where it does not apply.
        head: its value there, over the same questions.
        delta: head minus base.
        n: over how many questions the value of head is.
        status: what was decided of it.
    """

    mode: str
    metric: str
    base: float | None
    head: float | None
    delta: float | None
    n: int
    status: str


class DiffDocument(Struct, frozen=True, kw_only=True):
    """Two builds, one held against the other, as programs get it.

    Attributes:
        schema: `raggate/diff/1`.
        base: the first build.
        head: the second build.
        matrix: each gated metric in each mode.
        verdict: as of `check`, with base in place of the baseline.
    """

    schema: str
    base: SideRow
    head: SideRow
    matrix: tuple[MatrixCell, ...]
    verdict: Verdict


class SideBySide(Struct, frozen=True, kw_only=True):
    """Base and head, and the review of the head with the base in place of a baseline."""

    base: Side
    head: Side
    review: Review
