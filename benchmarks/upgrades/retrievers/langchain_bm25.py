"""LangChain's BM25 over the sections of the notes."""

from pathlib import Path

from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from passages import sections


def build(notes: Path) -> BM25Retriever:
    """Index the notes."""
    documents = [
        Document(page_content=own["text"], metadata={"source": own["path"], "headings": own["headings"]})
        for own in sections(notes)
    ]
    return BM25Retriever.from_documents(documents, k=10)
