"""Tantivy over the sections of the notes."""

import json
from collections.abc import Callable
from pathlib import Path

import tantivy
from passages import Hit, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    schema.add_text_field("section", stored=True)
    index = tantivy.Index(schema.build())
    writer = index.writer()
    for section in sections(notes):
        document = tantivy.Document()
        document.add_text("text", section["text"])
        document.add_text("section", json.dumps(section))
        writer.add_document(document)
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(question: str, k: int) -> list[Hit]:
        query = index.parse_query(" ".join(words_of(question)), ["text"])
        return [
            {**json.loads(searcher.doc(address)["section"][0]), "score": score}
            for score, address in searcher.search(query, k).hits
        ]

    return search
