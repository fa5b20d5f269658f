"""What of an answer stands in the vault: labels per chunk, made on the full text and kept without it. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from raggate.inputs.note_titles import NoteTitles
from raggate.inputs.note_words import NoteWords, has_text
from raggate.models.golden import Vault
from raggate.models.run import Chunk, LabelledResult

JUDGED_CHUNKS = 100
"""Of an answer, no more than so many are looked up; cut-offs are far above that rank."""


class Notes:
    """The notes of a vault, to look answers up in. A note is indexed when the first chunk says it is from there."""

    def __init__(self, vault: Vault) -> None:
        """Take the notes the API was given."""
        self._vault = vault
        # the same chunks come back for many questions
        self._heading_stands = cache(lambda note, heading_path: self._titles(note).holds(heading_path))
        self._text_stands = cache(self._find_text)
        self._titles = cache(lambda note: NoteTitles(vault.texts[note], *note))
        self._words = cache(lambda note: NoteWords(vault.texts[note], self._titles(note).names()))

    def label(self, item: LabelledResult) -> LabelledResult:
        """Note which chunks of a result have no text, and which tell a heading or a text that their note has not.

        A chunk of a note that is not in the vault is not looked up: what it tells cannot stand anywhere.
        """
        response = item.result.response
        everything = response.chunks if response else ()
        empty = tuple(position for position, chunk in enumerate(everything) if not has_text(chunk.text))
        placed = [
            (position, chunk, notes)
            for position, chunk in enumerate(everything[:JUDGED_CHUNKS])
            if (notes := self._places(chunk))
        ]
        labels = replace(
            item.labels,
            empty=empty,
            strange_headings=tuple(
                position
                for position, chunk, notes in placed
                if not any(self._heading_stands(note, chunk.heading_path) for note in notes)
            ),
            strange_texts=tuple(
                position
                for position, chunk, notes in placed
                if position not in empty and not any(self._text_stands(note, chunk.text) for note in notes)
            ),
        )
        return replace(item, labels=labels)

    def _places(self, chunk: Chunk) -> tuple[tuple[str, str], ...]:
        """Give the notes a chunk may be from: where the API does not tell the vault, all of that path."""
        vaults = self._vault.directories if chunk.vault is None else (chunk.vault,)
        return tuple((name, chunk.rel_path) for name in vaults if (name, chunk.rel_path) in self._vault.texts)

    def _find_text(self, note: tuple[str, str], text: str) -> bool:
        words = self._words(note)
        return not words.checkable or words.holds(text)
