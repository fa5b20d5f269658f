"""minsearch over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from minsearch import Index
from passages import Hit, sections


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    index = Index(text_fields=["text"], keyword_fields=["path"])
    index.fit(sections(notes))
    return lambda question, k: index.search(question, num_results=k)
