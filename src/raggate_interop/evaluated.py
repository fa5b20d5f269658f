"""What `raggate evaluate` tells programs with `--json`; it starts without the rest of raggate. Frozen."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from raggate_interop.totals import Counts


class EvaluatedMean(Struct, frozen=True, kw_only=True):
    """A mean over queries.

    Attributes:
        value: the mean; null where it applies to none.
        n: over how many queries it is.
    """

    value: float | None
    n: int


class Evaluated(Struct, frozen=True, kw_only=True):
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
