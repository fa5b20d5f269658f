"""The noun of how far the answers of a mode come: to the right notes, to their sections, to a match. Frozen."""

from __future__ import annotations

from msgspec import Struct

from raggate.text.numbers import counted


class Reach(Struct, frozen=True, kw_only=True):
    """How far the answers of a mode come, of the questions that something of the vault answers.

    Attributes:
        mode: the mode.
        questions: how many there are, without those that were never asked.
        notes: to how many of them some chunk of a right note came back.
        sections: to how many some chunk that tells a right section, or any of a note that is right as a whole.
        matches: to how many some chunk that counts.
        why: what most of the others have in common, in words; empty where nothing shows.
    """

    mode: str
    questions: int
    notes: int
    sections: int
    matches: int
    why: str = ""

    @property
    def sentence(self) -> str:
        """It in words, without a full stop; a step at which nothing is lost is told by the next one."""
        parts = [f"the right note came back for {self.notes} of {counted(self.questions, 'question')}"]
        if self.sections < self.notes:
            parts.append(f"its section for {self.sections}")
        if self.matches < self.sections:
            parts.append(f"its passage for {self.matches}")
        return "; ".join(filter(None, (", ".join(parts), self.why)))
