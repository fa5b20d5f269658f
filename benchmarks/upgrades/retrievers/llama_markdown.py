"""LlamaIndex's MarkdownNodeParser, with the headings that it tells."""

from collections.abc import Callable
from pathlib import Path

from llama_index.core import Document
from llama_index.core.node_parser import MarkdownNodeParser
from passages import Hit, notes_in, ranking


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    documents = [Document(text=text, metadata={"file_path": path}) for path, text in notes_in(notes)]
    nodes = MarkdownNodeParser.from_defaults().get_nodes_from_documents(documents)
    search = ranking([{"text": node.text, "node": node} for node in nodes])
    return lambda question, k: [hit["node"] for hit in search(question, k)]
