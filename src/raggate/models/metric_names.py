"""How metrics are named: `<family>_at_<k>` where one takes a cut-off, else by the family alone."""

from __future__ import annotations

HIT = "hit"
RECALL_ALL = "recall_all"
ABSTENTION_ACCURACY = "abstention_accuracy"
FALSE_ABSTENTION_RATE = "false_abstention_rate"
HEADING_DOMINANCE = "heading_dominance_rate"
UNJUDGED = "unjudged"
SCOPE_MISS = "scope_miss_rate"
ABSTENTION = frozenset((ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE))
"""The metrics of whether the API abstained where it should, which have no ranks."""

_AT = "_at_"


def at_depth(family: str, k: int) -> str:
    """Name a metric of a family at a cut-off."""
    return f"{family}{_AT}{k}"


def depth(metric: str) -> int | None:
    """Give the cut-off of a metric; None where it has none."""
    k = metric.partition(_AT)[2]
    return int(k) if k.isascii() and k.isdigit() and len(k) < 10 else None


def family(metric: str) -> str:
    """Give what a metric is called at any cut-off."""
    return metric.partition(_AT)[0]
