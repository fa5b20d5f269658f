"""Lunr over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from lunr import lunr
from passages import Hit, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    index = lunr(
        ref="place",
        fields=("text",),
        documents=[{"place": str(place), "text": section["text"]} for place, section in enumerate(own)],
    )

    def search(question: str, k: int) -> list[Hit]:
        found = index.search(" ".join(words_of(question)))[:k]
        return [{**own[int(hit["ref"])], "score": hit["score"]} for hit in found]

    return search
