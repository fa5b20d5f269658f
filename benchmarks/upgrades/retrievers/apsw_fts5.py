"""SQLite's FTS5, in the version that apsw brings, over the sections of the notes."""

import json
from collections.abc import Callable
from pathlib import Path

import apsw
from passages import Hit, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    database = apsw.Connection(":memory:")
    cursor = database.cursor()
    cursor.execute("create virtual table own using fts5(text, section unindexed, tokenize='porter unicode61')")
    for section in sections(notes):
        cursor.execute("insert into own values (?, ?)", (section["text"], json.dumps(section)))

    def search(question: str, k: int) -> list[Hit]:
        words = " OR ".join(f'"{word}"' for word in words_of(question))
        query = "select section, -rank from own where own match ? order by rank limit ?"
        return [{**json.loads(section), "score": score} for section, score in cursor.execute(query, (words, k))]

    return search
