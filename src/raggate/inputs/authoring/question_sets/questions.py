"""The noun of question sets from elsewhere: a question with what is given as its answer. And values as texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from raggate.text.jsonio import loads

Needed = Literal["any", "all"]
Record = Mapping[str, Any]
Placed = tuple[str, Record]
"""`file:line` or `file: item n`, and what stands there."""

_LITERAL = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
# numpy leaves the commas out
_LIST = re.compile(rf"\[\s*(?:(?:{_LITERAL})(?:\s*,\s*|\s*))*\]", re.DOTALL)


class Question(Struct, frozen=True, kw_only=True):
    """A question from elsewhere.

    Attributes:
        place: where it stands, for messages.
        question: what is asked.
        answers: texts that answer it, each by itself.
        contexts: passages that hold the answer; with a grade each, where there are grades.
        documents: the name of the document of each context, where the file has names for them.
        needed: whether any or all of the contexts are needed; None where the file does not say.
        joined: whether a context may be several, in one cell with a mark between them.
        impossible: whether it is said to have no answer.
        id: its own id, if any.
    """

    place: str
    question: str
    answers: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    grades: tuple[int, ...] = ()
    documents: tuple[str, ...] = ()
    needed: Needed | None = None
    joined: bool = False
    impossible: bool = False
    id: str = ""


def texts(value: object) -> Iterator[str]:
    """Yield the texts of a value: one, a list of them as JSON, YAML or Python writes it, or objects with a `text`."""
    if isinstance(value, str):
        yield from (text for text in _listed(value) if text.strip())
    elif isinstance(value, Mapping):
        yield from texts(value.get("text"))
    elif isinstance(value, Sequence):
        for item in value:
            yield from texts(item) if not isinstance(item, list) else ()


def first(record: Record, keys: Sequence[str]) -> Any:
    """Return the value of the first of some keys that a record has; upper and lower case count alike."""
    by_name = {key.strip().casefold(): value for key, value in record.items()}
    return next((by_name[key] for key in keys if by_name.get(key) not in (None, "")), None)


def _listed(text: str) -> list[str]:
    """Read a cell that holds a list; any other is one text."""
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return [text]
    try:
        value = loads(stripped)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else [text]
    except ValueError:
        # as Python, and libraries that write tables by it, show a list
        return [*map(_literal, _LITERALS.findall(stripped))] if _LIST.fullmatch(stripped) else [text]


def _literal(written: str) -> str:
    try:
        return str(ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return written[1:-1]
