"""Texts as their words -> which pairs of them are nearly the same, without comparing every pair. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil


def alike(texts: Sequence[Sequence[str]], least: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of texts that have so many of their words in common (Jaccard), by position, the earlier first.

    Two such texts share one of their rarest words: of so few of them that most pairs are never looked at.

    Args:
        texts: the words of each; one without any is like no other.
        least: the share of all words of both that both have, above 0 and up to 1.
    """
    sets = [frozenset(text) for text in texts]
    count = Counter(word for text in sets for word in text)
    holders: dict[str, list[int]] = {}
    for position, text in enumerate(sets):
        rare = sorted(text, key=lambda word: (count[word], word))
        prefix = rare[: len(text) - ceil(least * len(text) - 1e-9) + 1]
        for other in sorted({earlier for word in prefix for earlier in holders.get(word, ())}):
            common = len(text & sets[other])
            if common >= least * (len(text) + len(sets[other]) - common) - 1e-9:
                yield other, position
        for word in prefix:
            holders.setdefault(word, []).append(position)
