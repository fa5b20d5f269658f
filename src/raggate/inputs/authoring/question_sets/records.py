"""A file of records -> each with its place: CSV, TSV, JSON, JSON Lines or YAML, bounded, and never run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from raggate.errors import UsageError
from raggate.inputs.authoring.question_sets.questions import Placed
from raggate.text import yamlio
from raggate.text.csv_table import decode, parse_json, read_table
from raggate.text.files import read_file
from raggate.text.jsonio import loads

MAX_BYTES = 64 << 20
MAX_RECORDS = 100_000
YAML = frozenset((".yaml", ".yml"))
TABLES = frozenset((".csv", ".tsv"))
HOLDERS = ("data", "tests", "goldens", "samples", "examples", "questions", "test_cases")
"""Keys of an object below which its records are."""


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
