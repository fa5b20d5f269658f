"""How metrics are named: `<family>_at_<k>` where one takes a cut-off, else by the family alone."""

from __future__ import annotations

from collections.abc import Iterable

from raggate.base.numbers import counted

HIT = "hit"
RECALL_ALL = "recall_all"
ABSTENTION_ACCURACY = "abstention_accuracy"
FALSE_ABSTENTION_RATE = "false_abstention_rate"
HEADING_DOMINANCE = "heading_dominance_rate"
UNJUDGED = "unjudged"
CONTEXT_CHARS = "context_chars"
"""The metric of how much text comes back: an amount, whose values have no upper end."""
SCOPE_MISS = "scope_miss_rate"
ABSTENTION = frozenset((ABSTENTION_ACCURACY, FALSE_ABSTENTION_RATE))
"""The metrics of whether the API abstained where it should, which have no ranks."""

_AT = "_at_"


def at_depth(family: str, k: int) -> str:
    """Name a metric of a family at a cut-off."""
    return f"{family}{_AT}{k}"


def depth(metric: str) -> int | None:
    """Return the cut-off of a metric; None where it has none."""
    k = metric.partition(_AT)[2]
    return int(k) if k.isascii() and k.isdigit() and len(k) < 10 else None


def family(metric: str) -> str:
    """Return what a metric is called at any cut-off."""
    return metric.partition(_AT)[0]


def counted_metrics(places: Iterable[tuple[str, str, str]], noun: str = "gated metric") -> str:
    """Count metrics by name, and say how often they stand for it where that is more often than once each.

    Args:
        places: metric, mode and slice of each time.
    """
    times = {*places}
    names, modes, slices = ({place[part] for place in times} for part in range(3))
    if len(times) == len(names):
        return counted(len(names), noun)
    among = f" in {len(modes)} modes" if len(modes) > 1 else ""
    sliced = ", slices included" if len(slices) > 1 else ""
    return f"{counted(len(names), noun)} ({len(times)} times{among}{sliced})"


def at_parts(metric: str) -> tuple[str, str]:
    """Split a name into its family and its cut-off, which is empty for a metric that takes none."""
    name, _, depth = metric.partition(_AT)
    return (name, depth) if depth.isascii() and depth.isdigit() else (metric, "")
