"""promptfoo's test cases -> questions: variables of a prompt, and assertions that say what an answer holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from raggate.errors import UsageError
from raggate.inputs.authoring.question_sets import questions
from raggate.inputs.authoring.question_sets.flat import ANYBODYS
from raggate.inputs.authoring.question_sets.questions import Question, Record, first, texts

SAYING = frozenset(
    ("equals", "contains", "icontains", "contains-all", "icontains-all", "similar", "factuality", "context-recall")
)
"""Assertions whose value is text of an answer; others describe one, run code, or say what must not be there."""

_TYPED = re.compile(r"(?P<type>(?:not-)?[a-z][a-z-]*)(?:\([^()]*\))?:\s*(?P<value>.*)", re.DOTALL)


def read(path: Path) -> Iterator[Question]:
    """Read the tests of a configuration, or of a file of tests.

    Raises:
        UsageError: naming the place, for a test whose question cannot be told.
    """
    for place, test in questions.read(path):
        values = test.get("vars")
        variables = values if isinstance(values, Mapping) else _columns(test)
        asked = first(variables, ANYBODYS.question)
        if asked is None and len(variables) == 1:
            asked = next(iter(variables.values()))
        if not isinstance(asked, str) or not asked.strip():
            names = ", ".join(ANYBODYS.question)
            raise UsageError(f"{place}: no question; expected a variable of the name {names}, or only one")
        yield Question(
            place=place,
            question=asked.strip(),
            answers=tuple(text for text in _answers(test) if _literal(text)),
            contexts=tuple(text for text in texts(first(variables, ("context",))) if _literal(text)),
        )


def _columns(test: Record) -> dict[str, Any]:
    """Return the variables of a row of a table: all columns that promptfoo has no meaning for."""
    return {key: value for key, value in test.items() if not key.startswith("__") and key not in {"assert", "vars"}}


def _answers(test: Record) -> Iterator[str]:
    asserted = test.get("assert")
    for item in asserted if isinstance(asserted, list) else ():
        if isinstance(item, Mapping) and item.get("type") in SAYING:
            yield from texts(item.get("value"))
    for key, value in test.items():
        if key.startswith("__expected") and isinstance(value, str) and value.strip():
            typed = _TYPED.fullmatch(value.strip())
            if typed is None:
                yield value
            elif typed["type"] in SAYING:
                yield from texts(typed["value"])


def _literal(text: str) -> bool:
    """Return whether a text is itself, and not the name of a file or a template."""
    return bool(text.strip()) and not text.startswith("file://") and "{{" not in text
