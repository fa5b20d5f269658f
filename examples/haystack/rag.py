"""Sections of Markdown notes, searched by BM25 with Haystack."""

from haystack import Document
from haystack.components.preprocessors import MarkdownHeaderSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore


def build(notes):
    """Return a retriever of the notes in a directory."""
    documents = [Document(content=note.read_text(), meta={"file_path": str(note)}) for note in notes.rglob("*.md")]
    store = InMemoryDocumentStore()
    store.write_documents(MarkdownHeaderSplitter(keep_headers=True).run(documents)["documents"])
    return InMemoryBM25Retriever(store, top_k=10)
