"""LlamaIndex's SentenceSplitter over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from llama_index.core.node_parser import SentenceSplitter
from passages import Hit, ranking, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    splitter = SentenceSplitter(chunk_size=96, chunk_overlap=16)
    return ranking([{**own, "text": part} for own in sections(notes) for part in splitter.split_text(own["text"])])
