"""kebab's SQLite file, read only: runs, what is indexed and where chunks stand. The file is foreign, maybe hostile."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.jsonio import parse
from raggate.base.quote import cut, quoted
from raggate_interop.kebab.rows import StoredRun, check_row

MAGIC = b"SQLite format 3\0"
MAX_VALUE_BYTES = 64 << 20
SECONDS = 30.0
"""How long one file may be read, waiting for a writer included."""

BUSY_SECONDS = 2.0
_STEPS = 10_000  # of SQLite's machine, between looks at the clock
_RUN_COLUMNS = ("run_id", "suite", "config_snapshot_json", "aggregate_json", "commit_hash", "created_at")

_NO_SIDE_FILE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


class RunLine(Struct, frozen=True, kw_only=True):
    """One line of `eval_runs`, and how many queries the run holds."""

    run_id: str
    suite: str
    created_at: str
    queries: int


class Store:
    """An open file; `open_store` makes it. Every method raises UsageError when the file is not as it should be."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def runs(self) -> tuple[RunLine, ...]:
        """List the runs, oldest first."""
        rows = self._rows(
            "SELECT run_id, suite, created_at, (SELECT count(*) FROM eval_query_results q WHERE q.run_id = r.run_id)"
            " FROM eval_runs r ORDER BY created_at, run_id"
        )
        return tuple(
            RunLine(run_id=self._text(a), suite=self._text(b or ""), created_at=self._text(c or ""), queries=int(n))
            for a, b, c, n in rows
        )

    def run(self, run_id: str) -> StoredRun:
        """Read one run with its rows, ordered by query."""
        records = self._rows(f"SELECT {', '.join(_RUN_COLUMNS)} FROM eval_runs WHERE run_id = ?", run_id)  # noqa: S608
        if not records:
            raise UsageError(
                f"{self._name}: no run {quoted(run_id)}", hint="`raggate kebab runs FILE` lists the runs of a file."
            )
        values = dict(zip(_RUN_COLUMNS, records[0], strict=True))
        rows = []
        for query_id, stored in self._rows(
            "SELECT query_id, result_json FROM eval_query_results WHERE run_id = ? ORDER BY query_id", run_id
        ):
            place = f"{self._name}: run {cut(run_id)}, query {cut(self._text(query_id))}"
            row = check_row(parse(self._text(stored), place), place)
            if row["query_id"] != query_id:
                raise UsageError(f"{place}: the result is of query {quoted(row['query_id'])}")
            rows.append(row)
        return StoredRun(
            run_id=run_id,
            rows=tuple(rows),
            suite=self._text(values["suite"] or ""),
            created_at=self._text(values["created_at"] or ""),
            commit_hash=None if values["commit_hash"] is None else self._text(values["commit_hash"]),
            snapshot=self._object(values["config_snapshot_json"], "config_snapshot_json"),
            aggregate=self._object(values["aggregate_json"], "aggregate_json"),
        )

    def has_index(self) -> bool:
        """Return whether the file tells what is indexed: it has the tables `documents` and `chunks`."""
        tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('documents', 'chunks')"
        return len(self._rows(tables)) == 2

    def documents(self) -> dict[str, str]:
        """Map the id of every indexed document to its path."""
        return {self._text(a): self._text(b) for a, b in self._rows("SELECT doc_id, workspace_path FROM documents")}

    def chunk_ids(self) -> frozenset[str]:
        """Return the id of every indexed chunk."""
        return frozenset(self._text(row[0]) for row in self._rows("SELECT chunk_id FROM chunks"))

    def spans(self, chunk_ids: Iterable[str]) -> dict[str, tuple[str, Any]]:
        """Map those of the chunks that are indexed to their document and their `source_spans_json`, parsed."""
        by_chunk = {}
        for chunk_id in sorted(set(chunk_ids)):
            query = "SELECT doc_id, source_spans_json FROM chunks WHERE chunk_id = ?"
            for doc_id, spans in self._rows(query, chunk_id):
                by_chunk[chunk_id] = (self._text(doc_id), self._json(spans, "source_spans_json"))
        return by_chunk

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            raise UsageError(f"{self._name}: expected text in a column, found {type(value).__name__}")
        return value

    def _json(self, value: object, column: str) -> Any:
        return parse(self._text(value), f"{self._name}: {column}")

    def _object(self, value: object, column: str) -> dict[str, Any]:
        content = {} if value is None else self._json(value, column)
        if not isinstance(content, dict):
            raise UsageError(f"{self._name}: {column}: expected a JSON object")
        return content


def is_store(path: Path) -> bool:
    """Return whether a file is an SQLite file, by how it begins."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@contextmanager
def open_store(path: Path, *, seconds: float = SECONDS, busy: float = BUSY_SECONDS) -> Iterator[Store]:
    """Open a file of kebab's for so many seconds in all, `busy` of them for a lock; nothing is ever written to it."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    end = time.monotonic() + seconds
    try:
        connection = _connect(path, busy)
        try:
            # functions in a schema could do harm, and a value could be of any size
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
            yield Store(connection, str(path))
        finally:
            connection.close()
    except (sqlite3.Error, OverflowError, MemoryError) as error:
        raise UsageError(f"{path}: cannot be read: {_reason(error)}", hint=_hint(error)) from None


def _connect(path: Path, busy: float) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=busy, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_SIDE_FILE or (log.is_file() and log.stat().st_size):
            raise
        # with a write-ahead log a reader makes a file beside the database, which a read-only directory does not allow;
        # where the log is empty there is nothing that it would add
        return sqlite3.connect(f"{address}&immutable=1", uri=True, timeout=busy, isolation_level=None)
    return connection


def _reason(error: BaseException) -> str:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        return "it takes too long"
    return cut(error) or type(error).__name__


def _hint(error: BaseException) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "Another process writes to it. Wait until it has finished, or copy the file."
    return "Expected the SQLite file of kebab, in its data directory."
