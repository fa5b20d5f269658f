"""substrate's absolute limits: minima by retriever and difficulty, heading maxima, and scenario targets."""

from __future__ import annotations

from collections.abc import Mapping

Limits = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By mode, then by difficulty or `overall`, then by metric."""

_HITS = ("hit_at_1", "hit_at_3", "hit_at_5", "hit_at_10")


def _floors(*values: float) -> dict[str, float]:
    return dict(zip(_HITS, values, strict=True))


EVAL_THRESHOLDS: Limits = {
    "bm25": {
        "easy": _floors(0.70, 0.80, 0.85, 0.90),
        "medium": _floors(0.50, 0.65, 0.75, 0.85),
        "hard": _floors(0.30, 0.45, 0.55, 0.70),
        "fusion": _floors(0.40, 0.55, 0.65, 0.75),
    },
    "vector": {
        "easy": _floors(0.50, 0.60, 0.70, 0.80),
        "medium": _floors(0.40, 0.55, 0.65, 0.75),
        "hard": _floors(0.25, 0.40, 0.50, 0.65),
        "fusion": _floors(0.35, 0.50, 0.60, 0.70),
    },
    "hybrid": {
        "easy": _floors(0.75, 0.85, 0.90, 0.95),
        "medium": _floors(0.55, 0.70, 0.80, 0.90),
        "hard": _floors(0.35, 0.50, 0.60, 0.75),
        "fusion": _floors(0.45, 0.60, 0.70, 0.80),
    },
}
"""The least share of hits, as the catalog's `eval golden --check` demands it."""

HEADING_BIAS_THRESHOLDS: Mapping[str, float] = {
    "heading_only_hit_rate": 0.20,
    "duplicate_doc_rate": 0.30,
    "heading_dominance_rate": 0.15,
}
"""The most that `heading_bias.py` accepts; its dominance is that of documents."""

SCENARIOS: Limits = {
    "heading_bias": {
        "bm25": {"hit_at_3": 0.80, "heading_dominance_rate": 0.30},
        "vector": {"hit_at_3": 0.80},
        "hybrid": {"hit_at_3": 0.90, "heading_dominance_rate": 0.20},
    },
    "exact_match": {
        "bm25": {"hit_at_1": 0.85, "mrr_at_10": 0.85},
        "hybrid": {"hit_at_3": 0.70, "mrr_at_10": 0.70},
    },
    "semantic_para": {
        "vector": {"hit_at_3": 0.80, "mrr_at_10": 0.70},
        "hybrid": {"hit_at_5": 0.70, "mrr_at_10": 0.60},
        "bm25": {"hit_at_3": 0.30},
    },
    "near_duplicate": {
        "bm25": {"diversity_rate": 0.60},
        "vector": {"diversity_rate": 0.60},
        "hybrid": {"diversity_rate": 0.60, "hit_at_5": 0.70},
    },
}
"""Targets by scenario, then by mode: minima, and maxima for rates of which less is better."""
