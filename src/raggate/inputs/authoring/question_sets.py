"""Files of questions from elsewhere, by format: each record becomes a question with its answers and contexts.

A reader is a function of a path; add it and one line to READERS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from raggate.base import plugins, yamlio
from raggate.base.csv_table import decode, parse_json, read_table
from raggate.base.errors import UsageError
from raggate.base.files import read_file
from raggate.base.jsonio import loads, parse
from raggate.base.quote import cut

Needed = Literal["any", "all"]
Record = Mapping[str, Any]
Placed = tuple[str, Record]
"""`file:line` or `file: item n`, and what stands there."""

MAX_BYTES = 64 << 20
MAX_RECORDS = 100_000
HOLDERS = ("data", "tests", "goldens", "samples", "examples", "questions", "test_cases")
"""Keys of an object below which its records are."""

QUESTIONS = ("question", "query", "user_input", "input", "prompt")
"""Keys of a question, in order of preference."""

EXPECTED = (
    *("ground_truth", "ground_truths", "reference", "reference_answer", "expected_output", "expected_answer"),
    *("expected", "target", "ideal"),
)
"""Keys of an answer that was expected. Beside any of them, `answer` is what a service said."""

CONTEXTS = (
    *("context", "reference_context", "reference_contexts", "gold_context", "required_passages", "passage"),
    *("evidence", "source_text"),
)
ASSERTIONS = frozenset(
    ("equals", "contains", "icontains", "contains-all", "icontains-all", "similar", "factuality", "context-recall")
)
"""Assertions of promptfoo whose value is text of an answer; others describe one, run code, or forbid something."""

_TYPED = re.compile(r"(?P<type>(?:not-)?[a-z][a-z-]*)(?:\([^()]*\))?:\s*(?P<value>.*)", re.DOTALL)
_LITERAL = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
# numpy leaves the commas out
_LIST = re.compile(rf"\[\s*(?:(?:{_LITERAL})(?:\s*,\s*|\s*))*\]", re.DOTALL)


class Question(Struct, frozen=True, kw_only=True):
    """A question from elsewhere, and where it stands, for messages.

    Each of its answers is one by itself. Its contexts hold the answer, each with a grade and the name of its document
    if the file has these. `needed` and `impossible` are what the file says.
    """

    place: str
    question: str
    answers: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    grades: tuple[int, ...] = ()
    documents: tuple[str, ...] = ()
    needed: Needed | None = None
    impossible: bool = False
    id: str = ""


def read(path: Path, form: str) -> Iterator[Question]:
    """Read the questions of a file, or of a folder in a format of another package."""
    reader = READERS[form] if form in READERS else plugins.load(plugins.GOLDEN_FORMATS, form).read
    return reader(path)


def detect(path: Path) -> str:
    """Name the format of a file or folder by its keys."""
    for form in plugins.names(plugins.GOLDEN_FORMATS):
        if plugins.load(plugins.GOLDEN_FORMATS, form).recognises(path):
            return form
    if path.is_dir():
        known = " or ".join(plugins.names(plugins.GOLDEN_FORMATS))
        raise UsageError(f"{path}: expected a file{f', or a folder of the format {known}' if known else ''}")
    keys = _keys(records(path)[0][1])
    if "vars" in keys or any(key.startswith("__expected") for key in keys):
        return "promptfoo"
    if "paragraphs" in keys or {"question", "context", "answers"} <= keys:
        return "squad"
    if keys.isdisjoint(QUESTIONS) or keys.isdisjoint(("answer", *EXPECTED, *CONTEXTS)):
        raise UsageError(
            f"{path}: cannot tell the format by the keys {cut(', '.join(sorted(keys)))}",
            hint="Name it with --from, or call the columns `question`, `answer` and `context`.",
        )
    return "csv"


def _flat(path: Path) -> Iterator[Question]:
    """Read one question a record, by the keys of spreadsheets, ragas, deepeval, Inspect and rag-ci."""
    for place, record in records(path):
        asked = _asked(first(record, QUESTIONS))
        if not asked.strip():
            raise UsageError(f"{place}: no question. Expected one of the keys {', '.join(QUESTIONS)}")
        keys, own = _keys(record), first(record, ("id",))
        yield Question(
            place=place,
            question=asked.strip(),
            answers=tuple(texts(first(record, ("answer",) if keys.isdisjoint(EXPECTED) else EXPECTED))),
            contexts=tuple(texts(first(record, CONTEXTS))),
            needed="all" if "required_passages" in keys else None,
            id=str(own) if isinstance(own, str | int) else "",
        )


def _keys(record: Record) -> set[str]:
    return {key.strip().casefold() for key in record}


def _asked(value: Any) -> str:
    """Return the text of a question; of a conversation what the user said last."""
    if isinstance(value, list):
        turns = [item for item in value if isinstance(item, Mapping) and item.get("role", "user") == "user"]
        value = turns[-1].get("content") if turns else None
    return value if isinstance(value, str) else ""


def _promptfoo(path: Path) -> Iterator[Question]:
    for place, test in records(path):
        values = test.get("vars")
        # of a row of a table, all columns that promptfoo has no meaning for
        columns = {
            key: value for key, value in test.items() if not key.startswith("__") and key not in {"assert", "vars"}
        }
        variables = values if isinstance(values, Mapping) else columns
        asked = first(variables, QUESTIONS)
        if asked is None and len(variables) == 1:
            asked = next(iter(variables.values()))
        if not isinstance(asked, str) or not asked.strip():
            names = ", ".join(QUESTIONS)
            raise UsageError(f"{place}: no question. Expected a variable named {names}, or only one")
        yield Question(
            place=place,
            question=asked.strip(),
            answers=tuple(filter(_is_itself, _asserted(test))),
            contexts=tuple(filter(_is_itself, texts(first(variables, ("context",))))),
        )


def _asserted(test: Record) -> Iterator[str]:
    asserted = test.get("assert")
    for item in asserted if isinstance(asserted, list) else ():
        if isinstance(item, Mapping) and item.get("type") in ASSERTIONS:
            yield from texts(item.get("value"))
    for key, value in test.items():
        if key.startswith("__expected") and isinstance(value, str) and value.strip():
            typed = _TYPED.fullmatch(value.strip())
            if typed is None:
                yield value
            elif typed["type"] in ASSERTIONS:
                yield from texts(typed["value"])


def _is_itself(text: str) -> bool:
    """Return whether a text is neither the name of a file nor a template."""
    return bool(text.strip()) and not text.startswith("file://") and "{{" not in text


def _squad(path: Path) -> Iterator[Question]:
    for place, record in records(path):
        if "paragraphs" not in record:
            yield _of_paragraph(place, record, record.get("context"))
            continue
        for paragraph in _objects(record, place, "paragraphs"):
            for asked in _objects(paragraph, place, "qas"):
                yield _of_paragraph(place, asked, paragraph.get("context"))


def _objects(record: Record, place: str, key: str) -> list[Record]:
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UsageError(f"{place}: {key}: expected a list of objects")
    return value


def _of_paragraph(place: str, asked: Record, context: Any) -> Question:
    question, own, answers = asked.get("question"), asked.get("id"), asked.get("answers")
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"{place}: a question without text")
    given = tuple(dict.fromkeys(texts(answers)))
    return Question(
        place=place,
        question=question.strip(),
        answers=given,
        contexts=(context,) if isinstance(context, str) and context.strip() else (),
        # of one that is impossible the list is empty, if no key says so
        impossible=asked.get("is_impossible") is True or (answers is not None and not given),
        id=own if isinstance(own, str) else "",
    )


READERS: Mapping[str, Callable[[Path], Iterator[Question]]] = {"csv": _flat, "promptfoo": _promptfoo, "squad": _squad}
"""Each takes a file. `csv` is a question with an answer or a context, whatever the suffix."""


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
    """Read a cell that holds a list, as JSON or as Python shows it; any other is one text."""
    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        with suppress(ValueError):
            return [item for item in loads(stripped) if isinstance(item, str)]
        if _LIST.fullmatch(stripped):
            return [*map(_literal, _LITERALS.findall(stripped))]
    return [text]


def _literal(written: str) -> str:
    try:
        return str(ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return written[1:-1]


def records(path: Path) -> list[Placed]:
    """Read the records of a file, whose suffix says what it is."""
    data, name, suffix = read_file(path, most_bytes=MAX_BYTES), str(path), path.suffix.lower()
    placed: Iterable[Placed]
    if suffix in {".csv", ".tsv"}:
        header = decode(data, name).split("\n", 1)[0]
        # what spreadsheets write where a comma is the decimal mark
        comma = ";" if header.count(";") > header.count(",") else ","
        placed = ((row.place, row.values) for row in read_table(data, name, "\t" if suffix == ".tsv" else comma).rows)
    elif suffix == ".jsonl":
        placed = _lines(data, name)
    elif suffix in {".yaml", ".yml"}:
        placed = _items(yamlio.parse(data, name, max_bytes=yamlio.MAX_SUITE_BYTES).value, name)
    elif suffix == ".json":
        placed = _items(parse_json(data, name), name)
    else:
        raise UsageError(f"{name}: expected a file .csv, .tsv, .json, .jsonl or .yaml, or a BEIR folder")
    result = list(islice(placed, MAX_RECORDS + 1))
    if not result:
        raise UsageError(f"{name}: no records")
    if len(result) > MAX_RECORDS:
        raise UsageError(f"{name}: more than {MAX_RECORDS} records")
    return result


def _lines(data: bytes, name: str) -> Iterable[Placed]:
    for number, line in enumerate(decode(data, name).split("\n"), 1):
        if line.strip():
            place = f"{name}:{number}"
            yield place, _object(parse(line, place), place)


def _items(value: Any, name: str) -> Iterable[Placed]:
    if isinstance(value, dict):
        value = next((value[key] for key in HOLDERS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        keys = ", ".join(HOLDERS)
        raise UsageError(f"{name}: expected a list of records, or one below one of the keys {keys}")
    for number, item in enumerate(value, 1):
        place = f"{name}: item {number}"
        yield place, _object(item, place)


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected an object, found {yamlio.one_line(value, limit=40)}")
    return value
