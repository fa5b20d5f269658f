"""Whether an API generated an answer although only retrieval was asked for, told by what came back."""

from __future__ import annotations

from collections.abc import Mapping

NOTICEABLE_MS = 1.0
"""Milliseconds from which on something was generated; to skip it takes a few microseconds at most."""


def generated(answer: object, latency: Mapping[str, float], *, abstained: bool) -> bool:
    """Return whether an answer to a retrieval-only question was generated.

    Args:
        answer: what stands where answers stand; anything that is not text is none.
        latency: steps in milliseconds, as the API tells them.
        abstained: whether the API declined to answer, for which it may have a standing phrase.
    """
    has_answer = type(answer) is str and bool(answer.strip()) and not abstained
    return has_answer or latency.get("generation_ms", 0.0) >= NOTICEABLE_MS
