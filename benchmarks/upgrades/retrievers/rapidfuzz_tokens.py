"""RapidFuzz over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, sections
from rapidfuzz import fuzz, process


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    texts = [f"{' '.join(section['headings'])} {section['text']}" for section in own]

    def search(question: str, k: int) -> list[Hit]:
        found = process.extract(question, texts, scorer=fuzz.token_set_ratio, limit=k)
        return [{**own[place], "score": score} for _, score, place in found]

    return search
