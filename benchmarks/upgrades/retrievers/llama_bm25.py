"""LlamaIndex's BM25 over the sections of the notes."""

from pathlib import Path

from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from passages import sections


def build(notes: Path) -> BM25Retriever:
    """Index the notes."""
    nodes = [
        TextNode(text=own["text"], metadata={"file_path": own["path"], "headings": " > ".join(own["headings"])})
        for own in sections(notes)
    ]
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10)
