"""Where two files of one evaluation can be cut so that each part of the one needs only its part of the other.

Files in the same order can, which most are. A cut is a guess: what is read of the parts tells whether a query is in
two of them (`evaluate_parts`).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from raggate.errors import UsageError
from raggate_interop.trec_beir.evaluation_files import Files
from raggate_interop.trec_beir.rankings import query_of
from raggate_interop.trec_beir.stretches import Stretch

_READ_BYTES = 1 << 20
_SAMPLES = 16
"""So many queries are looked up: where few of them have the same order in both files, cutting would be in vain."""
_MISSING = _SAMPLES // 4


def parts(files: Files, count: int) -> list[Files]:
    """Cut files into at most so many parts of about the same size; into one where they cannot be cut or read.

    Args:
        files: judgements as a TREC file, and result lists; neither may be a pipe.
        count: how many parts, from 1 to 8.
    """
    results, judgements = files.run or files.lists, files.qrels
    if not isinstance(results, Path) or not isinstance(judgements, Path) or not files.can_be_read_again():
        return [files]
    try:
        with results.open("rb") as stream, judgements.open("rb") as searched:
            places = _places(stream, searched, trec=files.run is not None)
            size, end = results.stat().st_size, judgements.stat().st_size
    except OSError:
        return [files]
    chosen = [(0, 0), *(places[len(places) * number // count] for number in range(1, count) if places), (size, end)]
    return [
        _part(files, Stretch(results, begin, stop), Stretch(judgements, first, last))
        for (begin, first), (stop, last) in pairwise(dict.fromkeys(chosen))
    ]


def _places(stream: BinaryIO, judgements: BinaryIO, *, trec: bool) -> list[tuple[int, int]]:
    """Return where queries begin in both files, in the order of both; none where too few of the samples are in it."""
    size, missing = stream.seek(0, 2), 0
    places = [(0, 0)]
    for number in range(1, _SAMPLES):
        stream.seek(size * number // _SAMPLES)
        place, query = _next_group(stream) if trec else _next_line(stream)
        at = None if query is None or place <= places[-1][0] else _find(judgements, query, places[-1][1])
        if at is not None:
            places.append((place, at))
            continue
        missing += 1
        if missing > _MISSING:
            return []
    return places[1:]


def _part(files: Files, results: Stretch, judgements: Stretch) -> Files:
    if files.run is None:
        return replace(files, lists=results, qrels=judgements)
    return replace(files, run=results, qrels=judgements)


def _next_line(stream: BinaryIO) -> tuple[int, bytes | None]:
    """Return where the next line of JSON begins, and its query."""
    begun = stream.readline(_READ_BYTES)
    place = stream.tell()
    try:
        return place, query_of(stream.readline(_READ_BYTES)).encode() if begun.endswith(b"\n") else None
    except (UsageError, UnicodeEncodeError):
        return place, None


def _next_group(stream: BinaryIO) -> tuple[int, bytes | None]:
    """Return where the next query of a run begins, and its id."""
    line = stream.readline(_READ_BYTES)
    place, first = stream.tell(), b""
    stop = place + _READ_BYTES
    while line.endswith(b"\n") and place < stop:
        line = stream.readline(_READ_BYTES)
        query = b"".join(line.split(None, 1)[:1])
        first = first or query
        if query != first:
            return place, query or None
        place += len(line)
    return place, None


def _find(stream: BinaryIO, query: bytes, begin: int) -> int | None:
    """Find where the first line of a query begins, behind the line that begins at an offset."""
    needle, text, end = b"\n" + query, b"", stream.seek(begin)
    while chunk := stream.read(_READ_BYTES):
        text += chunk
        end += len(chunk)
        at = text.find(needle)
        while at >= 0 and at + len(needle) < len(text):
            if text[at + len(needle)] in b" \t":
                return end - len(text) + at + 1
            at = text.find(needle, at + 1)
        # a line that begins at the very end goes on in the next chunk
        text = text[-len(needle) :]
    return None
