"""Chonkie's SentenceChunker over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from chonkie import SentenceChunker
from passages import Hit, ranking, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    chunker = SentenceChunker("character", chunk_size=250, chunk_overlap=0)
    return ranking([{**own, "text": part.text} for own in sections(notes) for part in chunker.chunk(own["text"])])
