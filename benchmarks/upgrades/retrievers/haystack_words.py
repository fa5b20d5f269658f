"""Haystack's DocumentSplitter by words, over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from haystack import Document
from haystack.components.preprocessors import DocumentSplitter
from passages import Hit, ranking, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    splitter = DocumentSplitter(split_by="word", split_length=60, split_overlap=10)
    if hasattr(splitter, "warm_up"):
        splitter.warm_up()
    documents = [
        Document(content=own["text"], meta={"path": own["path"], "headings": own["headings"]})
        for own in sections(notes)
    ]
    return ranking(
        [
            {"path": part.meta["path"], "headings": part.meta["headings"], "text": part.content}
            for part in splitter.run(documents=documents)["documents"]
        ]
    )
