"""bm25s over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

import bm25s
from passages import Hit, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    index = bm25s.BM25()
    index.index(bm25s.tokenize([section["text"] for section in own], stopwords="en"))

    def search(question: str, k: int) -> list[Hit]:
        places, scores = index.retrieve(bm25s.tokenize([question], stopwords="en"), k=k)
        return [{**own[place], "score": float(score)} for place, score in zip(places[0], scores[0], strict=True)]

    return search
