"""What `raggate evaluate` tells programs with `--json`; it starts without the rest of raggate. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raggate.interop.totals import Counts


@dataclass(frozen=True, kw_only=True)
class EvaluatedMean:
    """A mean over queries.

    Attributes:
        value: the mean; null where it applies to none.
        n: over how many queries it is.
    """

    value: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Result lists, scored by judgements.

    Attributes:
        cutoffs: the cut-offs.
        counts: queries, and what is odd about them.
        metrics: by name.
        per_query: by query and metric, with --per-query; else empty.
    """

    cutoffs: tuple[int, ...]
    counts: Counts
    metrics: Mapping[str, EvaluatedMean]
    per_query: Mapping[str, Mapping[str, float | None]]
