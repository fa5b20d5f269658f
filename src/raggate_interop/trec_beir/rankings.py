"""Result lists: one JSON object per line in, ranked document ids per query out, one list at a time.

    {"query_id": "q1", "doc_ids": ["d3", "d1"]}

`qid` and `id` are read as `query_id`; `docs` and `results` as `doc_ids`. An entry is an id or an object with `doc_id`,
`docid` or `id`. Rank is the position; scores are not read. Ids may be numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

from raggate.base import files
from raggate.base.errors import UsageError
from raggate.base.files import reading
from raggate.base.quote import quoted

MAX_GRADE = 1000
"""The largest grade, up or down: twice this power of two would no longer be a float."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")

QUERY_KEYS = ("query_id", "qid", "id")
LIST_KEYS = ("doc_ids", "docs", "results")
ENTRY_KEYS = ("doc_id", "docid", "id")


class QueryGrades(NamedTuple):
    """The judgements of one query that stand together in a file: grade per document id, and their first line."""

    query_id: str
    grades: Mapping[str, int]
    line: int = 0


class Grades(dict[str, int]):
    """Grades by how they are written. A file has few different ones, so each is parsed once."""

    def __missing__(self, written: str) -> int:
        """Parse a grade."""
        if not _INTEGER.fullmatch(written) or abs(int(written)) > MAX_GRADE:
            raise ValueError(written)
        grade = int(written)
        if len(self) <= MAX_GRADE:
            self[written] = grade
        return grade


def open_binary(path: Path) -> BinaryIO:
    """Open a file, which may be a pipe, to read bytes."""
    with reading(path):
        return path.open("rb")


def bad_grade(place: str, written: str) -> UsageError:
    """Return the error for a grade that is none."""
    return UsageError(f"{place}: grade {quoted(written)}, expected an integer from {-MAX_GRADE} to {MAX_GRADE}")


class _Usual(Struct, gc=False):
    """A line as most are written, read and checked at once; further keys are passed over, whatever they hold."""

    query_id: str
    doc_ids: list[str]


class Ranking(NamedTuple):
    """What came back for one query, best first, each document once.

    Attributes:
        line: where the list begins in its file, from 1.
        repeated: how many entries were left out because the document stands further up.
        tied: scores in the same order, only where two of them are equal; else empty.
        rank_disagrees: the file numbers its ranks in another order.
    """

    query_id: str
    ranks: dict[str, int]
    line: int
    repeated: int = 0
    tied: tuple[float, ...] = ()
    rank_disagrees: bool = False


def ranked(doc_ids: Sequence[str]) -> dict[str, int]:
    """Return documents their ranks from 1; of one that comes again the first place counts, and the rest move up."""
    ranks = dict(zip(doc_ids, count(1), strict=False))
    return ranks if len(ranks) == len(doc_ids) else ranked(list(dict.fromkeys(doc_ids)))


def iter_lists(path: Path) -> Iterator[Ranking]:
    """Read result lists one by one; of a document that occurs twice in a list the first counts."""
    name = str(path)
    decode = Decoder(_Usual).decode
    with open_binary(path) as stream:
        for number, line in enumerate(stream, 1):
            query_id, doc_ids = "", list[str]()
            try:
                row = decode(line)
                query_id, doc_ids = row.query_id, row.doc_ids
            except (ValueError, RecursionError):  # JSON of another shape, or none
                pass
            if not query_id:
                if not line.strip():
                    continue
                query_id, doc_ids = _read_other(line, f"{name}:{number}")
            ranks = ranked(doc_ids)
            yield Ranking(query_id, ranks, number, len(doc_ids) - len(ranks))


def _read_other(line: bytes, place: str) -> tuple[str, list[str]]:
    """Read a line that is written in another way than the usual one, or say what is wrong with it."""
    import orjson

    try:
        # a byte order mark may stand at the beginning of the file
        row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise UsageError(f"{place}: is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise UsageError(f"{place}: {quoted(row, limit=60)}, expected a JSON object")
    query_id = _id(_first(row, QUERY_KEYS))
    if query_id is None:
        raise UsageError(f"{place}: no query id, expected a text or a number under {' or '.join(QUERY_KEYS)}")
    entries = _first(row, LIST_KEYS)
    if not isinstance(entries, list):
        raise UsageError(f"{place}: no list of documents, expected one under {' or '.join(LIST_KEYS)}")
    doc_ids = []
    for position, entry in enumerate(entries, 1):
        doc_id = _id(_first(entry, ENTRY_KEYS) if isinstance(entry, dict) else entry)
        if doc_id is None:
            raise UsageError(
                f"{place}: entry {position} is {quoted(entry, limit=60)}, "
                f"expected an id or an object with {' or '.join(ENTRY_KEYS)}"
            )
        doc_ids.append(doc_id)
    return query_id, doc_ids


def _first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


@contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write bytes; it appears under its name only when the block ends well."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent, delete=False) as stream:
        place = Path(stream.name)
        try:
            yield stream
            stream.close()
            # temporary files are private; what is written here is meant to be read by the next step
            place.chmod(0o644)
            place.replace(path)
        except BaseException as error:
            place.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename is None:
                raise files.naming(error, path) from error
            raise
