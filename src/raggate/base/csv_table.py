"""CSV bytes -> rows with their line numbers, JSON -> a value: what does not fit is an error that names its place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.jsonio import parse
from raggate.base.quote import cut, quoted

MAX_FIELD = 1_000_000
"""Characters of one field."""

_CONFLICT = re.compile(r"(<{7,}|>{7,}|\|{7,})(?: |$)|={7,}$")


class Row(Struct, frozen=True):
    """One row: its values by column, and `file:line` of where it starts."""

    place: str
    values: dict[str, str]

    def text(self, column: str) -> str:
        """Return a value that must not be blank."""
        value = self.values[column]
        if not value.strip():
            raise self.wrong(column, "is empty")
        return value

    def wrong(self, column: str, problem: str, *, hint: str = "") -> UsageError:
        """Make the error for a value, naming file, line and column."""
        return UsageError(f"{self.place}: column {cut(column)}: {problem}", hint=hint)


class Table(Struct, frozen=True):
    """A file: the name for messages, the columns in order, and the rows."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def decode(data: bytes, name: str) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8", hint="Save the file as UTF-8.") from None


def refuse_conflict(line: str, place: str) -> None:
    """Refuse a line that git left behind in a merge."""
    if _CONFLICT.match(line):
        raise UsageError(
            f"{place}: a merge-conflict marker ({cut(line, limit=20)})",
            hint="Resolve the merge in this file, then commit it again.",
        )


def parse_json(data: bytes, name: str) -> Any:
    """Parse a JSON file without conflict markers."""
    text = decode(data, name)
    for number, line in enumerate(text.split("\n"), 1):
        refuse_conflict(line.rstrip("\r"), f"{name}:{number}")
    return parse(text, name)


def read_table(data: bytes, name: str, delimiter: str = ",") -> Table:
    """Read a CSV file with a header; `delimiter` stands between fields.

    A conflict marker is refused where a row starts; inside a quoted text it may be meant.
    """
    lines = _records(decode(data, name), name, delimiter)
    first = next(lines, None)
    if first is None:
        raise UsageError(f"{name}: the file is empty", hint="Name a CSV file with a header.")
    columns = tuple(first[1])
    if columns[0].lstrip().startswith(("{", "[")):
        raise UsageError(f"{first[0]}: this is JSON, not CSV with a header", hint="Name a CSV file with a header.")
    for column in columns:
        if not column.strip() or columns.count(column) > 1:
            problem = "has no name" if not column.strip() else "occurs twice"
            raise UsageError(f"{first[0]}: column {quoted(column)} {problem}")
    rows = []
    for place, fields in lines:
        if len(fields) != len(columns):
            raise UsageError(
                f"{place}: {len(fields)} fields, but the header has {len(columns)} columns",
                hint="Put quotes around a text that contains a comma or a line break.",
            )
        rows.append(Row(place, dict(zip(columns, fields, strict=True))))
    if not rows:
        raise UsageError(f"{name}: no rows below the header")
    return Table(name, columns, tuple(rows))


def _records(text: str, name: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each record with its place; blank lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    # the limit belongs to the whole process: it is set for one record at a time
    while True:
        place = f"{name}:{reader.line_num + 1}"
        before = csv.field_size_limit(MAX_FIELD)
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise UsageError(
                f"{place}: not CSV: {error}",
                hint=f"Check the quotes of this row. A field has at most {MAX_FIELD:,} characters.",
            ) from None
        finally:
            csv.field_size_limit(before)
        if fields is None:
            return
        if fields:
            refuse_conflict(fields[0].partition("\n")[0], place)
            yield place, fields
