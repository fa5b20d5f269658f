"""LanceDB's full text search over the sections of the notes."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import lancedb
from passages import Hit, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    table = lancedb.connect(tempfile.mkdtemp()).create_table(
        "notes", [{"text": section["text"], "section": json.dumps(section)} for section in sections(notes)]
    )
    table.create_fts_index("text", use_tantivy=False)

    def search(question: str, k: int) -> list[Hit]:
        found = table.search(" ".join(words_of(question)), query_type="fts").limit(k).to_list()
        return [{**json.loads(row["section"]), "score": row["_score"]} for row in found]

    return search
