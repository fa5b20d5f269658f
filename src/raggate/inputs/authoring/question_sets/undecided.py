"""Undecided questions -> JSON Lines for a person: why, what was given, and passages that may hold the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from raggate.inputs.authoring.passages import Passage
from raggate.inputs.authoring.question_sets.anchored import Undecided
from raggate.text.jsonio import dumps
from raggate.text.quote import cut

SHOWN = 300
"""Characters of a text that is only to be recognised."""


def lines(undecided: Iterable[Undecided]) -> bytes:
    """Write them, a line each. `anchor` is what `raggate golden add --anchor` takes."""
    return b"".join(dumps(_row(item), in_order=True) + b"\n" for item in undecided)


def _row(item: Undecided) -> dict[str, Any]:
    return {
        "question": _text(item.question.question),
        "why": _text(item.reason),
        "candidates": [{"anchor": _text(_anchor(passage)), "text": _text(passage.text)} for passage in item.candidates],
        "answers": [_text(answer) for answer in item.question.answers],
        "contexts": [_text(context) for context in item.question.contexts],
        "from": _text(item.question.place),
    }


def _anchor(passage: Passage) -> str:
    return f"{passage.vault}/{passage.rel_path}{passage.heading_path or ''}"


def _text(text: str) -> str:
    # YAML can hold half a character, which JSON cannot
    return cut(text, limit=SHOWN).encode(errors="replace").decode()
