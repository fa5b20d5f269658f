"""simplemma's English lemmas over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

import simplemma
from passages import Hit, ranking, sections, words_of


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    return ranking(sections(notes), lambda text: [simplemma.lemmatize(word, lang="en") for word in words_of(text)])
