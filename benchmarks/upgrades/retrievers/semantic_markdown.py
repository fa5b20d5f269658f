"""The Markdown splitter of semantic-text-splitter over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, ranking, sections
from semantic_text_splitter import MarkdownSplitter


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    splitter = MarkdownSplitter(250)
    return ranking([{**own, "text": part} for own in sections(notes) for part in splitter.chunks(own["text"])])
