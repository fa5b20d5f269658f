"""The splitter of LangChain, imported from where it was."""

from collections.abc import Callable
from pathlib import Path

from langchain.text_splitter import MarkdownHeaderTextSplitter
from passages import Hit, notes_in, ranking

LEVELS = [("#" * level, f"Header {level}") for level in range(1, 7)]


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    splitter = MarkdownHeaderTextSplitter(LEVELS)
    return ranking(
        [
            {"path": path, "headings": list(part.metadata.values()), "text": part.page_content}
            for path, text in notes_in(notes)
            for part in splitter.split_text(text)
        ]
    )
