"""How much text comes back with a question: what the model that answers has to read, and what people pay for."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.models.run import LabelledResult
from raggate.scoring.metrics.ranking import once


def context_chars(item: LabelledResult, k: int) -> float | None:
    """Characters of the texts of the first k chunks. Fewer are cheaper, and no better by themselves.

    Formula: sum of the characters of the texts of the first k chunks.
    Null: lists without any text, lists that were stored with cut texts only, and failed calls.
    Also: nobody else.
    Source: raggate.
    """
    lengths = lengths_of(item)
    return None if lengths is None else float(sum(lengths[:k]))


@once
def lengths_of(item: LabelledResult) -> Sequence[int] | None:
    """Return the characters of each chunk's whole text; None where they are not known."""
    response, labels = item.result.response, item.labels
    if response is None or (labels.truncated and not labels.lengths):
        return None
    lengths = labels.lengths or [len(chunk.text) for chunk in response.chunks]
    return None if lengths and not any(lengths) else lengths
