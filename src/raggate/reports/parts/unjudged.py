"""How much of what came back nobody has judged: the line beside every retrieval metric. Pure."""

from __future__ import annotations

from raggate.models.metric_names import UNJUDGED, at_depth, depth
from raggate.models.scorecard import OVERALL, Scorecard
from raggate.text.numbers import percent


def sentence(scorecard: Scorecard) -> str:
    """Say which share of the passages at each cut-off is unjudged; nothing where all are judged or none came back."""
    parts = [part for mode in scorecard.slices if (part := _of_mode(scorecard, mode))]
    if not parts:
        return ""
    return f"{'; '.join(parts)}: passages that nobody judged count as misses."


def _of_mode(scorecard: Scorecard, mode: str) -> str:
    values = scorecard.slices[mode].get(OVERALL, {})
    depths = sorted(k for metric in values if (k := depth(metric)) and metric == at_depth(UNJUDGED, k))
    shares = {k: share for k in depths if (share := values[at_depth(UNJUDGED, k)].value) is not None}
    if not any(shares.values()):
        return ""
    several = f"{mode} " if scorecard.several_modes else ""
    return several + " · ".join(f"unjudged@{k} {percent(share)}" for k, share in shares.items())
