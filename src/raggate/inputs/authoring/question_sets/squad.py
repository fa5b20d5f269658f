"""SQuAD 1.1 and 2.0 -> questions: paragraphs with their questions, or one row a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from raggate.errors import UsageError
from raggate.inputs.authoring.question_sets import questions
from raggate.inputs.authoring.question_sets.questions import Question, Record, texts


def read(path: Path) -> Iterator[Question]:
    """Read the questions of a file, each with its paragraph.

    Raises:
        UsageError: naming the place, for what has another shape.
    """
    for place, record in questions.read(path):
        if "paragraphs" not in record:
            yield _question(place, record, record.get("context"))
            continue
        for paragraph in _objects(record["paragraphs"], place, "paragraphs"):
            for asked in _objects(paragraph.get("qas"), place, "qas"):
                yield _question(place, asked, paragraph.get("context"))


def _objects(value: Any, place: str, key: str) -> Iterator[Record]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UsageError(f"{place}: {key}: expected a list of objects")
    yield from value


def _question(place: str, asked: Record, context: Any) -> Question:
    question, own, answers = asked.get("question"), asked.get("id"), asked.get("answers")
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"{place}: a question without text")
    # rows hold lists of texts and places in one object, paragraphs a list of such objects
    given = tuple(dict.fromkeys(texts(answers)))
    # of one that is impossible the list is empty, where no key says so
    impossible = asked.get("is_impossible") is True or (answers is not None and not given)
    return Question(
        place=place,
        question=question.strip(),
        answers=given,
        contexts=(context,) if isinstance(context, str) and context.strip() else (),
        impossible=impossible,
        id=own if isinstance(own, str) else "",
    )
