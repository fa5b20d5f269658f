"""Sections of Markdown notes, searched by BM25 with LangChain."""

from langchain_community.retrievers import BM25Retriever
from langchain_text_splitters import MarkdownHeaderTextSplitter

LEVELS = [("#" * level, f"Header {level}") for level in range(1, 7)]


def build(notes):
    """Return a retriever of the notes in a directory."""
    sections = []
    for note in sorted(notes.rglob("*.md")):
        for section in MarkdownHeaderTextSplitter(LEVELS, strip_headers=False).split_text(note.read_text()):
            section.metadata["source"] = str(note)
            sections.append(section)
    return BM25Retriever.from_documents(sections, k=10, preprocess_func=lambda text: text.lower().split())
