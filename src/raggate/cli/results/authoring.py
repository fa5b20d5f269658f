"""What the commands about questions and settings tell programs, and those that write notes. Frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct


class QuestionAdded(Struct, frozen=True, kw_only=True):
    """A question that was added.

    Attributes:
        golden: the golden set.
        case: the question as it stands there.
        written: false with --dry-run.
    """

    golden: Path
    case: dict[str, Any]
    written: bool


class Undecided(Struct, frozen=True, kw_only=True):
    """A question without a clear answer.

    Attributes:
        place: where it stands.
        reason: why it was not taken.
    """

    place: str
    reason: str


class QuestionsImported(Struct, frozen=True, kw_only=True):
    """Questions that were taken from a file.

    Attributes:
        format: the format of FILE.
        golden: the golden set.
        added: ids.
        known: how many were there already.
        undecided: the questions without a clear answer.
        written: false with --dry-run.
    """

    format: str
    golden: Path
    added: tuple[str, ...]
    known: int
    undecided: tuple[Undecided, ...]
    written: bool


class WaitingProposal(Struct, frozen=True, kw_only=True):
    """A proposed question.

    Attributes:
        id: its id.
        question: what it asks.
        answer: what the notes say to it.
        source: the passage that it is made of.
    """

    id: str
    question: str
    answer: str
    source: str


class QuestionsProposed(Struct, frozen=True, kw_only=True):
    """Proposed questions, and what was decided about them.

    Attributes:
        accepted: ids taken over.
        rejected: ids dropped.
        waiting: those to decide on.
        proposals: the file they wait in.
    """

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    waiting: tuple[WaitingProposal, ...]
    proposals: Path


class Labelled(Struct, frozen=True, kw_only=True):
    """How far labelling came.

    Attributes:
        golden: the golden set.
        open: passages that the person has not judged.
        unwritten: files that say less than was decided.
    """

    golden: str
    open: int
    unwritten: tuple[str, ...]
