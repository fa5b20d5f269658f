"""rank-bm25 over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, sections, words_of
from rank_bm25 import BM25Okapi


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    index = BM25Okapi([words_of(section["text"]) for section in own])

    def search(question: str, k: int) -> list[Hit]:
        scores = index.get_scores(words_of(question))
        return [{**own[place], "score": float(scores[place])} for place in (-scores).argsort(kind="stable")[:k]]

    return search
