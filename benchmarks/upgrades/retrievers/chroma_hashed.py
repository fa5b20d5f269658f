"""Chroma over the sections of the notes, embedded by hashing."""

import json
from collections.abc import Callable
from pathlib import Path

import chromadb
from passages import Hit, hashed, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    collection = chromadb.EphemeralClient().create_collection("notes", metadata={"hnsw:space": "cosine"})
    collection.add(
        ids=[str(place) for place in range(len(own))],
        embeddings=[hashed(f"{' '.join(section['headings'])} {section['text']}") for section in own],
        metadatas=[{"section": json.dumps(section)} for section in own],
    )

    def search(question: str, k: int) -> list[Hit]:
        found = collection.query(query_embeddings=[hashed(question)], n_results=k)
        pairs = zip(found["metadatas"][0], found["distances"][0], strict=True)
        return [{**json.loads(stored["section"]), "score": 1 - distance} for stored, distance in pairs]

    return search
