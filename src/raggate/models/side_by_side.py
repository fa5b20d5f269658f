"""Two builds that were asked the same questions, and what became of them. Frozen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from raggate.models.verdict import Review

SideKind = Literal["working tree", "revision", "image", "url", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Base and head, and the review of the head with the base in place of a baseline."""

    base: Side
    head: Side
    review: Review
