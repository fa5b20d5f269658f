"""Whoosh over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, sections
from whoosh.analysis import StemmingAnalyzer
from whoosh.fields import STORED, TEXT, Schema
from whoosh.filedb.filestore import RamStorage
from whoosh.qparser import OrGroup, QueryParser


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    index = RamStorage().create_index(Schema(text=TEXT(analyzer=StemmingAnalyzer()), section=STORED))
    writer = index.writer()
    for section in sections(notes):
        writer.add_document(text=section["text"], section=section)
    writer.commit()
    searcher = index.searcher()
    parser = QueryParser("text", index.schema, group=OrGroup, plugins=[])

    def search(question: str, k: int) -> list[Hit]:
        return [{**hit["section"], "score": hit.score} for hit in searcher.search(parser.parse(question), limit=k)]

    return search
