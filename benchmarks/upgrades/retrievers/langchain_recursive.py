"""LangChain's RecursiveCharacterTextSplitter for Markdown, over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
from passages import Hit, ranking, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    splitter = RecursiveCharacterTextSplitter.from_language(Language.MARKDOWN, chunk_size=300, chunk_overlap=40)
    return ranking([{**own, "text": part} for own in sections(notes) for part in splitter.split_text(own["text"])])
