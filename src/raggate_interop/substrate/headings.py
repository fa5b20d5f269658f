"""substrate's three measures of heading dominance, and heading-only hits: result lists in, rates out.

An entry tells `heading_only` (the question meets its heading and no word of its body), `body_text` (its text without
the heading) and `scores` by channel, each only if it is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

Row = Mapping[str, Any]

LEXICAL = ("fts", "retrieval")
"""Channels that heading words dominate."""


class Fields(Struct, frozen=True, kw_only=True):
    """What the results of a run tell at all; what no result tells is not measured, rather than 0."""

    heading_only: bool
    bodies: bool

    @classmethod
    def of(cls, lists: Sequence[Sequence[Row]]) -> Fields:
        """Look through all result lists of a run."""
        entries = [entry for results in lists for entry in results]
        return cls(
            heading_only=any(entry.get("heading_only") is not None for entry in entries),
            bodies=any(entry.get("body_text") is not None for entry in entries),
        )


def dominance_of_query(results: Sequence[Row], fields: Fields) -> float | None:
    """(a) The specification: 1 if the first result is a heading-only match, else 0; 0 for an empty list.

    None where that is not told of the first result, or of any result of the run.
    """
    if not fields.heading_only:
        return None
    if not results:
        return 0.0
    flag = results[0].get("heading_only")
    return None if flag is None else float(flag)


def dominance_of_results(lists: Sequence[Sequence[Row]], mode: str, k: int, threshold: float) -> float:
    """(b) `build_metrics.py`: share of all results in the first k of which the lexical channel makes up the score.

    That is max(fts, retrieval) / score >= threshold; without scores by channel every result of bm25 counts. A score of
    0 or less never counts. 0 for no results.
    """
    entries = [entry for results in lists for entry in results[:k]]
    return sum(is_dominated(entry, mode, threshold) for entry in entries) / len(entries) if entries else 0.0


def is_dominated(entry: Row, mode: str, threshold: float) -> bool:
    """Return whether the lexical channel makes up the score of a result."""
    scores = entry.get("scores")
    if not scores:
        return mode == "bm25"
    total = entry.get("score") or 0.0
    return total > 0 and bool(max(scores.get(channel, 0.0) for channel in LEXICAL) / total >= threshold)


def dominance_of_documents(results: Sequence[Row], k: int, fields: Fields) -> float | None:
    """(c) `heading_bias.py`: share, among documents with several chunks in the first k, whose first chunk has no body.

    0 where no document has several. None where bodies are not told.
    """
    first = results[:k]
    if not _has_bodies(first, fields):
        return None
    chunks: dict[str, list[Row]] = {}
    for entry in first:
        chunks.setdefault(entry["doc_id"], []).append(entry)
    several = [entries for entries in chunks.values() if len(entries) > 1]
    return sum(_bodiless(entries[0]) for entries in several) / len(several) if several else 0.0


def heading_only_hits(results: Sequence[Row], k: int, fields: Fields) -> float | None:
    """`heading_bias.py`: share of the first k results without a body; 0 for an empty list, None where not told."""
    first = results[:k]
    if not _has_bodies(first, fields):
        return None
    return sum(_bodiless(entry) for entry in first) / len(first) if first else 0.0


def _has_bodies(results: Sequence[Row], fields: Fields) -> bool:
    return fields.bodies and all(entry.get("body_text") is not None for entry in results)


def _bodiless(entry: Row) -> bool:
    return not str(entry["body_text"]).strip()
