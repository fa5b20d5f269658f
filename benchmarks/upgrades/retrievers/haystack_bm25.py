"""Haystack's BM25 over the sections of the notes."""

from pathlib import Path

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from passages import sections


def build(notes: Path) -> InMemoryBM25Retriever:
    """Index the notes."""
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(content=own["text"], meta={"path": own["path"], "headings": own["headings"]})
            for own in sections(notes)
        ]
    )
    return InMemoryBM25Retriever(store)
