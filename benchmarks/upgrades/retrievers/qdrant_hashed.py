"""Qdrant's local mode over the sections of the notes, embedded by hashing."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, hashed, sections
from qdrant_client import QdrantClient, models


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    client = QdrantClient(":memory:")
    client.create_collection("notes", models.VectorParams(size=512, distance=models.Distance.COSINE))
    client.upsert(
        "notes",
        [
            models.PointStruct(
                id=place, vector=hashed(f"{' '.join(section['headings'])} {section['text']}"), payload=section
            )
            for place, section in enumerate(sections(notes))
        ],
    )

    def search(question: str, k: int) -> list[Hit]:
        found = client.search("notes", hashed(question), limit=k)
        return [{**point.payload, "score": point.score} for point in found]

    return search
