"""Sections of Markdown notes, searched by BM25 with LlamaIndex."""

from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.retrievers.bm25 import BM25Retriever


def build(notes):
    """Return a retriever of the notes in a directory."""
    documents = SimpleDirectoryReader(notes, recursive=True, required_exts=[".md"]).load_data()
    nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10)
