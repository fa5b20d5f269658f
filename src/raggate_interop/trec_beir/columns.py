"""Text files with columns set apart by white space: a path in, blocks of checked columns with line numbers out.

A block is split in one go, several times faster than line by line; only where that finds something
unusual is the block read again line by line, for the exact rule or the exact error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from raggate.errors import UsageError
from raggate_interop.trec_beir.grades import open_binary

BLOCK_BYTES = 1 << 15  # what a block splits into still fits into the cache of a core; 1 MiB is three times slower
MAX_LINE_BYTES = 1 << 20
_LINE_END = "\0"
# str.split() takes more characters for white space than the format does
_UNUSUAL = (b"\0", b"\x1c", b"\x1d", b"\x1e", b"\x1f")


class Block(NamedTuple):
    """Some lines of a file: their numbers, and their fields one after the other, `stride` to a line."""

    lines: Sequence[int]
    fields: list[str]
    stride: int

    def column(self, index: int) -> list[str]:
        """Return a column, from 0, of all lines."""
        return self.fields[index :: self.stride]


def read_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    """Read a file in blocks of about 32 KiB. Blank lines, CRLF, tabs and a byte order mark are tolerated.

    Args:
        path: the file, which may be a pipe, or a stretch of one.
        columns: what the columns are called, for messages; their number is the number expected.

    Raises:
        UsageError: naming file and line, for another number of columns or text that is not UTF-8.
    """
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
                hint="Columns are set apart by white space, so an id cannot hold any.",
            )
        try:
            fields += [part.decode() for part in parts]
        except UnicodeDecodeError:
            raise UsageError(f"{name}:{number}: is not UTF-8") from None
        lines.append(number)
    return Block(lines, fields, len(columns))
