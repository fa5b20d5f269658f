"""Result lists: one JSON object per line in, ranked document ids per query out, one list at a time.

    {"query_id": "q1", "doc_ids": ["d3", "d1"]}

`qid` and `id` are read as `query_id`; `docs` and `results` as `doc_ids`. An entry is an id or an object with `doc_id`,
`docid` or `id`. Rank is the position; scores are not read. Ids may be numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

from raggate.errors import UsageError
from raggate.text.quote import quoted
from raggate_interop.trec_beir.grades import open_binary

QUERY_KEYS = ("query_id", "qid", "id")
LIST_KEYS = ("doc_ids", "docs", "results")
ENTRY_KEYS = ("doc_id", "docid", "id")


class _Usual(Struct, gc=False):
    """A line as most are written, read and checked at once; further keys are passed over, whatever they hold."""

    query_id: str
    doc_ids: list[str]


class Ranking(NamedTuple):
    """What came back for one query, best first, each document once.

    Attributes:
        query_id: the query.
        ranks: the documents in the order that counts, each with its rank from 1.
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
    """Read result lists one by one; of a document that occurs twice in a list the first counts.

    Raises:
        UsageError: naming file and line, for a line that is not such an object.
    """
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
