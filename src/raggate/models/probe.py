"""The nouns of questions that are asked after the suite, each to see whether an invariant holds. Frozen."""

from __future__ import annotations

from typing import Literal

from raggate.text.shapes import Stored

ProbeKind = Literal["control", "prefix", "spelling", "heading", "nonsense", "reindex", "private", "principal"]
"""What a probe is for. A `control` is a question of the suite as it is: by it noise is told from a broken invariant."""


class Probe(Stored, frozen=True):
    """A question of its own, and what it is held against.

    Attributes:
        kind: what it is for.
        mode: the retrieval mode it is asked in.
        question: what is asked.
        case_id: the question of the suite it is made of, whose answer it is held against; empty where it is of none.
        variant: what was changed of that question; empty where nothing was.
        principal: who asks; empty for whoever asks the suite.
        note: the note it is about, `vault/rel_path`; empty where it is about none.
        heading_path: the section of it.
    """

    kind: ProbeKind
    mode: str
    question: str
    case_id: str = ""
    variant: str = ""
    principal: str = ""
    note: str = ""
    heading_path: str = ""
