"""Snowball's English stems over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

import snowballstemmer
from passages import Hit, ranking, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    stemmer = snowballstemmer.stemmer("english")
    return ranking(sections(notes), lambda text: stemmer.stemWords(words_of(text)))
