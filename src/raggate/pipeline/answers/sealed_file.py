"""A file of kept answers: sole owner of its layout. A header, a line for each answer, and a seal over all of it.

The seal is over its name too, which says what the answers depend on: no file of one image becomes that of another.

It is written whole or not at all, and believed whole or not at all.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.models.provenance import KeptFrom
from raggate.models.run import Result
from raggate.models.run_packing import RESULTS
from raggate.pipeline.shards import shard_directory
from raggate.text import versions
from raggate.text.jsonio import dumps, parse_object, write_atomic
from raggate.text.long_sequence import LongSequence
from raggate.text.problems import first_problem
from raggate.text.shapes import Shape, Stored
from raggate.text.struct_fields import as_dict

SCHEMA = "raggate/answers/1"
MOST_BYTES = 256 << 20
MOST_LINE = 32 << 20

_SEAL = b"seal "
"""Begins the last line, and what is sealed, which so is the mark of no request."""


class Header(Stored, frozen=True, kw_only=True):
    """Of which run the answers are, and what its API told of its index then: documents and chunks, where it did."""

    origin: KeptFrom
    index: Mapping[str, int] = field(default_factory=dict)


class KeptFile(Struct, frozen=True, kw_only=True):
    """What stands in such a file: results, and by the mark of a request the place of its result."""

    header: Header
    results: Sequence[Result]
    places: Mapping[str, int]

    def at(self, mark: str | None) -> Result | None:
        """Give the answer to a request; None where there is none."""
        place = None if mark is None else self.places.get(mark)
        return None if place is None else self.results[place]


_HEADER: Shape[Header] = Shape(Header)


def write(path: Path, secret: bytes, header: Header, answers: Iterable[tuple[str, Result]]) -> None:
    """Write answers, each with the mark of its request.

    Raises:
        OSError: when it cannot be written.
    """
    write_atomic(path, _sealed(path.name, secret, header, answers))


def _sealed(name: str, secret: bytes, header: Header, answers: Iterable[tuple[str, Result]]) -> Iterator[bytes]:
    seal = _begun(name, secret)
    first = dumps({"schema": SCHEMA, **as_dict(header)}) + b"\n"
    # in place of the question's id, which may be another one in a later run
    rows = (shard_directory.row(replace(result, case_id=mark)) for mark, result in answers)
    for line in (first, *rows):
        seal.update(line)
        yield line
    yield _SEAL + seal.hexdigest().encode() + b"\n"


def _begun(name: str, secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, _SEAL + name.encode() + b"\n", sha256)


def read(path: Path, secret: bytes) -> KeptFile | None:
    """Read such a file; None where there is none. Nothing in it is believed before all of it is.

    Raises:
        UsageError: saying in one sentence why it is not believed.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path.name}: {error.strerror or error}") from None
    with ExitStack() as stack:
        stack.callback(os.close, handle)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path.name}: no file")
        if status.st_size > MOST_BYTES:
            raise UsageError(f"{path.name}: larger than {MOST_BYTES} bytes")
        return _read(stack.enter_context(os.fdopen(handle, "rb", closefd=False)), path.name, secret)


def _read(stream: BinaryIO, name: str, secret: bytes) -> KeptFile:
    lines = _vouched(stream, name, secret)
    header = _header(next(lines, b""), name)
    places: dict[str, int] = {}
    results = LongSequence(RESULTS)
    for line in lines:
        (result,) = shard_directory.rows([line], name)
        places[result.case_id] = len(results)
        results.append(result)
    return KeptFile(header=header, results=results, places=places)


def _vouched(stream: BinaryIO, name: str, secret: bytes) -> Iterator[bytes]:
    """Give the lines that the seal is over, all of them once it was seen to fit."""
    seal, lines = _begun(name, secret), list[bytes]()
    while (line := stream.readline(MOST_LINE)).endswith(b"\n"):
        if line.startswith(_SEAL):
            if not hmac.compare_digest(line[len(_SEAL) : -1], seal.hexdigest().encode()):
                raise UsageError(f"{name}: its seal is not that of this key: it was changed, renamed or made elsewhere")
            if stream.read(1):
                raise UsageError(f"{name}: it goes on behind its seal: it was changed")
            return iter(lines)
        seal.update(line)
        lines.append(line)
    raise UsageError(f"{name}: it ends without its seal: it was cut, or is none")


def _header(line: bytes, name: str) -> Header:
    stored = parse_object(line, name)
    if problem := versions.problem(stored.pop("schema", None), SCHEMA):
        raise UsageError(f"{name}: {problem}")
    try:
        return _HEADER.validate_python(stored)
    except ValidationError as error:
        # its seal fits, so that it is as who wrote it wanted it
        raise UsageError(f"{name}: {versions.ANOTHER}: {first_problem(error)}") from None
