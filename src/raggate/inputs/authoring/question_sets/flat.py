"""Formats of one record a question, told by their keys: tables of anybody's, ragas, deepeval, Inspect and rag-ci."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from raggate.errors import UsageError
from raggate.inputs.authoring.question_sets import questions
from raggate.inputs.authoring.question_sets.questions import Needed, Placed, Question, first, texts


class Keys(NamedTuple):
    """The keys of a format, each list in order of preference. What an API answered or retrieved is no gold."""

    question: tuple[str, ...]
    answers: tuple[str, ...]
    contexts: tuple[str, ...]
    needed: Needed | None = None


ANYBODYS = Keys(
    ("question", "query", "user_input", "input", "prompt"),
    (
        *("answer", "expected_answer", "reference_answer", "ground_truth", "expected_output"),
        *("expected", "reference", "target", "ideal"),
    ),
    ("context", "reference_context", "reference_contexts", "gold_context", "passage", "evidence", "source_text"),
)
RAGAS = Keys(("user_input", "question"), ("reference", "ground_truth", "ground_truths"), ("reference_contexts",))
DEEPEVAL = Keys(("input",), ("expected_output",), ("context",))
INSPECT = Keys(("input",), ("target",), ())
RAG_CI = Keys(("question",), ("answer",), ("required_passages",), "all")


def read(path: Path, keys: Keys) -> Iterator[Question]:
    """Read the questions of a file.

    Raises:
        UsageError: naming the place, for a record without a question.
    """
    return map(partial(_question, keys=keys, joined=path.suffix.lower() in questions.TABLES), questions.read(path))


def _question(placed: Placed, keys: Keys, *, joined: bool) -> Question:
    place, record = placed
    asked = _asked(first(record, keys.question))
    if not asked.strip():
        raise UsageError(f"{place}: no question; expected one of the keys {', '.join(keys.question)}")
    own = first(record, ("id",))
    return Question(
        place=place,
        question=asked.strip(),
        answers=tuple(texts(first(record, keys.answers))),
        contexts=tuple(texts(first(record, keys.contexts))),
        needed=keys.needed,
        joined=joined,
        id=str(own) if isinstance(own, str | int) else "",
    )


def _asked(value: Any) -> str:
    """Return the text of a question; of a conversation what the user said last."""
    if isinstance(value, list):
        turns = [item for item in value if isinstance(item, Mapping) and item.get("role", "user") == "user"]
        value = turns[-1].get("content") if turns else None
    return value if isinstance(value, str) else ""
