"""TREC files: qrels (`query iteration document grade`) and runs (`query Q0 document rank score tag`), read and written.

Order in a run is by score descending as 64-bit float, ties by document id descending; the rank column only checks it.
This is trec_eval's rule but for its 32-bit scores: up to version 9 it takes 0.900000001 and 0.9 for a tie.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import isfinite, nan
from operator import gt, itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate_interop.trec_beir.rankings import Grades, QueryGrades, Ranking, bad_grade, open_binary, ranked, write_whole

QRELS = ("query", "iteration", "document", "grade")
RUN = ("query", "Q0", "document", "rank", "score", "tag")
_RANK = re.compile(r"[+-]?[0-9]{1,18}")
_MANY = 500
"""So many scores are worth loading the parser of JSON; the last block of a longer file, or a short file, has fewer."""

BLOCK_BYTES = 1 << 15  # what a block splits into still fits into the cache of a core; 1 MiB is three times slower
MAX_LINE_BYTES = 1 << 20
_LINE_END = "\0"
# str.split() takes more characters for white space than the format does
_UNUSUAL = (b"\0", b"\x1c", b"\x1d", b"\x1e", b"\x1f")


class _Group(NamedTuple):
    """Lines of a run that stand together and are of one query."""

    query_id: str
    doc_ids: list[str]
    ranks: list[str]
    scores: list[float]
    line: int

    def extend(self, other: _Group) -> None:
        """Append the lines of another group of the same query."""
        self.doc_ids.extend(other.doc_ids)
        self.ranks.extend(other.ranks)
        self.scores.extend(other.scores)


def iter_qrels(path: Path, *, keep_first: bool = False) -> Iterator[QueryGrades]:
    """Read judgements query by query. A query whose lines do not stand together comes more than once.

    The documents of a query keep the order of the file.

    Args:
        keep_first: of several judgements of a document for a query count the first.
    """
    name, parsed = str(path), Grades()
    query_id, grades, line = None, dict[str, int](), 0
    for block in read_blocks(path, QRELS):
        queries, doc_ids = block.column(0), block.column(2)
        try:
            values = list(map(parsed.__getitem__, block.column(3)))
        except ValueError as error:
            at = block.lines[block.column(3).index(str(error))]
            raise bad_grade(f"{name}:{at}", str(error)) from None
        for start, end in _spans(queries):
            if queries[start] != query_id:
                if query_id is not None:
                    yield QueryGrades(query_id, grades, line)
                query_id, grades, line = queries[start], {}, block.lines[start]
            before, expected = grades, len(grades) + end - start
            pairs = zip(doc_ids[start:end], values[start:end], strict=True)
            # the first judgement wins, and documents keep the order of the file
            grades = dict(pairs) if not grades else grades | dict(pairs) | grades
            if len(grades) != expected:
                if not keep_first:
                    raise _twice(path, QRELS, queries[start])
                for doc_id, grade in zip(reversed(doc_ids[start:end]), reversed(values[start:end]), strict=True):
                    if doc_id not in before:
                        grades[doc_id] = grade
    if query_id is not None:
        yield QueryGrades(query_id, grades, line)


def read_qrels(path: Path, *, keep_first: bool = False) -> dict[str, dict[str, int]]:
    """Read judgements whole: grade per document per query, both in the order of the file. See `iter_qrels`."""
    qrels: dict[str, dict[str, int]] = {}
    for query in iter_qrels(path, keep_first=keep_first):
        grades = qrels.setdefault(query.query_id, {})
        for doc_id, grade in query.grades.items():
            if doc_id in grades and not keep_first:
                raise _twice(path, QRELS, query.query_id)
            grades.setdefault(doc_id, grade)
    return qrels


def iter_run(path: Path, *, keep_first: bool = False) -> Iterator[Ranking]:
    """Read a run list by list. A query whose lines do not stand together comes more than once.

    Args:
        keep_first: of a document that occurs twice for a query count the better place.
    """
    last: _Group | None = None
    for group in _groups(path):
        if last is not None and last.query_id == group.query_id:
            last.extend(group)
            continue
        if last is not None:
            yield _ranking(last, path, keep_first=keep_first)
        last = group
    if last is not None:
        yield _ranking(last, path, keep_first=keep_first)


def read_run(path: Path, *, keep_first: bool = False) -> dict[str, Ranking]:
    """Read a run whole, in any order of lines. See `iter_run`."""
    groups: dict[str, _Group] = {}
    for group in _groups(path):
        if groups.setdefault(group.query_id, group) is not group:
            groups[group.query_id].extend(group)
    return {query_id: _ranking(group, path, keep_first=keep_first) for query_id, group in groups.items()}


def write_qrels(path: Path, qrels: Iterable[tuple[str, Mapping[str, int]]]) -> None:
    """Write judgements, one query after the other."""
    with write_whole(path) as stream:
        for query_id, grades in qrels:
            query = _token(query_id)
            stream.write(b"".join(b"%b 0 %b %d\n" % (query, _token(doc_id), grades[doc_id]) for doc_id in grades))


def write_run(path: Path, lists: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write different documents per query, best first. Scores fall down to 1, which keeps the order in every tool."""
    with write_whole(path) as stream:
        for query_id, doc_ids in lists:
            query = _token(query_id)
            for rank, doc_id in enumerate(doc_ids, 1):
                score = len(doc_ids) - rank + 1
                stream.write(b"%b Q0 %b %d %d.0 raggate\n" % (query, _token(doc_id), rank, score))


def _token(text: str) -> bytes:
    try:
        written = text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"id {quoted(text)} is not Unicode text") from None
    # a byte order mark at the very beginning of a file would be lost
    if written.split() != [written] or text.startswith("\ufeff"):
        raise UsageError(
            f"id {quoted(text)} is empty or contains white space, which TREC files cannot express",
            hint="Use JSON lines or a BEIR folder for such ids.",
        )
    return written


def _spans(values: list[str]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of every stretch of equal values."""
    start, size = 0, 1
    while start < len(values):
        value = values[start]
        end = start + size
        # lists are mostly as long as the one before, and counting is quicker than looking at each
        if values[start:end].count(value) != size or values[end : end + 1] == [value]:
            end = bisect_left(values, True, start, key=value.__ne__)  # where the next one begins, if none comes again
            if values[start:end].count(value) != end - start:
                end = next(at for at in range(start, end) if values[at] != value)
        yield start, end
        start, size = end, end - start


def _groups(path: Path) -> Iterator[_Group]:
    """Yield the lines of a run in stretches of one query; a stretch may go on in the next one."""
    for block in read_blocks(path, RUN):
        queries, doc_ids, ranks = block.column(0), block.column(2), block.column(3)
        scores = _scores(path, block)
        for start, end in _spans(queries):
            yield _Group(queries[start], doc_ids[start:end], ranks[start:end], scores[start:end], block.lines[start])


def _scores(path: Path, block: Block) -> list[float]:
    column = block.column(4)
    scores = _decimals(column) if len(column) >= _MANY else None
    if scores is not None:
        return scores
    # Python also reads 1_000 and the digits of other scripts, other tools do not
    together = "".join(column)
    if together.isascii() and "_" not in together:
        try:
            scores = list(map(float, column))
        except ValueError:
            scores = [nan]
        if isfinite(sum(scores)):
            return scores
    for line, written in zip(block.lines, column, strict=True):
        if not _is_finite(written):
            raise UsageError(f"{path}:{line}: score {quoted(written)}, expected a finite number")
    return list(map(float, column))  # each is finite, only their sum is not


def _decimals(column: list[str]) -> list[float] | None:
    """Read numbers by the parser of JSON, seven times as quick; None unless each is a number of JSON with a point.

    Without a point it would be an integer, which is compared with more digits than a float has.
    """
    import orjson

    together = ",".join(column)
    if together.count(".") != len(column):
        return None
    try:
        numbers: list[float] = orjson.loads(f"[{together}]")
        # what is no number cannot be summed, and as no number has two points, each has one
        usual = len(numbers) == len(column) and isfinite(sum(numbers))
    except (ValueError, TypeError):
        return None
    return numbers if usual else None


def _is_finite(written: str) -> bool:
    try:
        return written.isascii() and "_" not in written and isfinite(float(written))
    except ValueError:
        return False


def _ranking(group: _Group, path: Path, *, keep_first: bool) -> Ranking:
    query_id, doc_ids, scores = group.query_id, group.doc_ids, group.scores
    count = len(doc_ids)
    places = ranked(doc_ids)
    distinct = len(places) == count
    if not distinct and not keep_first:
        raise _twice(path, RUN, query_id)
    falls = all(map(gt, scores, scores[1:]))
    if distinct and falls and (group.ranks == _numbers(1, count) or group.ranks == _numbers(0, count)):
        return Ranking(query_id, places, group.line)
    ranks = _ranks(group, path)
    entries = sorted(zip(scores, doc_ids, ranks, strict=True), key=itemgetter(0, 1), reverse=True)
    kept: dict[str, tuple[float, int]] = {}
    for score, doc_id, rank in entries:
        kept.setdefault(doc_id, (score, rank))
    ordered = tuple(score for score, _ in kept.values())
    return Ranking(
        query_id,
        ranked(list(kept)),
        group.line,
        repeated=count - len(kept),
        tied=ordered if len(set(ordered)) < len(ordered) else (),
        rank_disagrees=any(rank >= after for (_, rank), (_, after) in pairwise(kept.values())),
    )


@lru_cache(maxsize=1000)
def _numbers(first: int, count: int) -> list[str]:
    """Return the rank column as it usually is; comparing text is much quicker than parsing it."""
    return [str(rank) for rank in range(first, first + count)]


def _ranks(group: _Group, path: Path) -> list[int]:
    if all(map(_RANK.fullmatch, group.ranks)):
        return [int(written) for written in group.ranks]
    # only now are lines looked up, by reading again; a pipe has nothing left to read
    for block in read_blocks(path, RUN):
        for line, written in zip(block.lines, block.column(3), strict=True):
            if not _RANK.fullmatch(written):
                raise UsageError(f"{path}:{line}: rank {quoted(written)}, expected an integer")
    raise UsageError(f"{path}: query {quoted(group.query_id)} has a rank that is not an integer")


def _twice(path: Path, columns: Sequence[str], query_id: str) -> UsageError:
    """Read the file again to say which document a query has twice, and in which lines."""
    seen: dict[str, int] = {}
    name, hint = str(path), "Remove one of them, or keep the first with --keep-first."
    for block in read_blocks(path, columns):
        for line, query, doc_id in zip(block.lines, block.column(0), block.column(2), strict=True):
            if query == query_id and seen.setdefault(doc_id, line) != line:
                problem = f"document {quoted(doc_id)} of query {quoted(query_id)} is already in line {seen[doc_id]}"
                return UsageError(f"{name}:{line}: {problem}", hint=hint)
    return UsageError(f"{name}: query {quoted(query_id)} has a document twice", hint=hint)


class Block(NamedTuple):
    """Some lines of a file: their numbers, and their fields one after the other, `stride` to a line."""

    lines: Sequence[int]
    fields: list[str]
    stride: int

    def column(self, index: int) -> list[str]:
        """Return a column, from 0, of all lines."""
        return self.fields[index :: self.stride]


def read_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    """Read a file, which may be a pipe, in blocks. Blank lines, CRLF, tabs and a byte order mark are tolerated."""
    name, line = str(path), 1
    with open_binary(path) as stream:
        for chunk in _chunks(stream, name):
            block = _split(chunk, line, len(columns)) or _split_lines(chunk, line, columns, name)
            line += chunk.count(b"\n")
            if block.lines:
                yield block


def _chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Cut a file into chunks of whole lines."""
    rest, first = b"", True
    while chunk := stream.read(BLOCK_BYTES):
        if first:
            chunk, first = chunk.removeprefix(b"\xef\xbb\xbf"), False
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
        if len(rest) > MAX_LINE_BYTES:
            raise UsageError(f"{name}: has a line of more than {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest + b"\n"


def _split(chunk: bytes, first: int, width: int) -> Block | None:
    """Split plain ASCII in one go; None when a line is unusual."""
    if not chunk.isascii() or any(character in chunk for character in _UNUSUAL):
        return None
    count, stride = chunk.count(b"\n"), width + 1
    fields = chunk.decode("ascii").replace("\n", f" {_LINE_END} ").split()
    # there are `count` line ends, so if each place for one holds one, each line has as many fields as it should
    if len(fields) != count * stride or fields[width::stride].count(_LINE_END) != count:
        return None
    return Block(range(first, first + count), fields, stride)


def _split_lines(chunk: bytes, first: int, columns: Sequence[str], name: str) -> Block:
    lines: list[int] = []
    fields: list[str] = []
    for number, raw in enumerate(chunk.split(b"\n")[:-1], first):
        parts = raw.split()
        if not parts:
            continue
        if len(parts) != len(columns):
            raise UsageError(
                f"{name}:{number}: {len(parts)} columns, expected {len(columns)}: {', '.join(columns)}",
                hint="White space separates columns, so an id cannot contain any.",
            )
        try:
            fields += [part.decode() for part in parts]
        except UnicodeDecodeError:
            raise UsageError(f"{name}:{number}: is not UTF-8") from None
        lines.append(number)
    return Block(lines, fields, len(columns))
