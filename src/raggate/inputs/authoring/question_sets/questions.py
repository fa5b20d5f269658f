"""The noun of question sets from elsewhere: a question with what is given as its answer. And values as texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from raggate.errors import UsageError
from raggate.text import yamlio
from raggate.text.csv_table import decode, parse_json, read_table
from raggate.text.files import read_file
from raggate.text.jsonio import loads

Needed = Literal["any", "all"]
Record = Mapping[str, Any]
Placed = tuple[str, Record]
"""`file:line` or `file: item n`, and what stands there."""

_LITERAL = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
# numpy leaves the commas out
_LIST = re.compile(rf"\[\s*(?:(?:{_LITERAL})(?:\s*,\s*|\s*))*\]", re.DOTALL)


MAX_BYTES = 64 << 20
MAX_RECORDS = 100_000
YAML = frozenset((".yaml", ".yml"))
TABLES = frozenset((".csv", ".tsv"))
HOLDERS = ("data", "tests", "goldens", "samples", "examples", "questions", "test_cases")
"""Keys of an object below which its records are."""


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


def read(path: Path) -> list[Placed]:
    """Read the records of a file, whose suffix says what it is.

    Raises:
        UsageError: naming file and line, for what cannot be read, is too large, or has no records.
    """
    data, name, suffix = read_file(path, most_bytes=MAX_BYTES), str(path), path.suffix.lower()
    if suffix in TABLES:
        records: Iterable[Placed] = _table(data, name, tabs=suffix == ".tsv")
    elif suffix == ".jsonl":
        records = _lines(data, name)
    elif suffix in YAML:
        records = _items(yamlio.parse(data, name, max_bytes=yamlio.MAX_SUITE_BYTES).value, name)
    elif suffix == ".json":
        records = _items(parse_json(data, name), name)
    else:
        raise UsageError(f"{name}: expected a file .csv, .tsv, .json, .jsonl or .yaml, or a BEIR folder")
    result = list(records)
    if not result:
        raise UsageError(f"{name}: no records")
    if len(result) > MAX_RECORDS:
        raise UsageError(f"{name}: {len(result)} records, expected at most {MAX_RECORDS}")
    return result


def _table(data: bytes, name: str, *, tabs: bool) -> Iterable[Placed]:
    header = decode(data, name).split("\n", 1)[0]
    # what spreadsheets write where a comma is the decimal mark
    semicolons = header.count(";") > header.count(",")
    return (
        (row.place, row.values) for row in read_table(data, name, "\t" if tabs else ";" if semicolons else ",").rows
    )


def _lines(data: bytes, name: str) -> Iterable[Placed]:
    for number, line in enumerate(decode(data, name).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            value = loads(line)
        except ValueError as error:
            raise UsageError(f"{place}: not valid JSON: {error}") from None
        yield place, _object(value, place)


def _items(value: Any, name: str) -> Iterable[Placed]:
    if isinstance(value, dict):
        held = next((value[key] for key in HOLDERS if isinstance(value.get(key), list)), None)
        if held is None:
            keys = ", ".join(HOLDERS)
            raise UsageError(f"{name}: expected a list of records, or one below one of the keys {keys}")
        value = held
    if not isinstance(value, list):
        raise UsageError(f"{name}: expected a list of records")
    for number, item in enumerate(value, 1):
        place = f"{name}: item {number}"
        yield place, _object(item, place)


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected an object, found {yamlio.one_line(value, limit=40)}")
    return value
