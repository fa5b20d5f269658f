"""The directory of one shard: sole owner of its layout. What is asked is added line by line; the receipt comes last.

Answers stand in it as they came, with whole texts and without labels: whoever merges labels all of them by the trusted
inputs, as the process does that asks everything itself. A process that is killed leaves the answers it had, and no
receipt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.models.run import ProbeAnswer, Result
from raggate.models.shards import Plan, Receipt
from raggate.pipeline import result_rows
from raggate.pipeline.result_rows import check_result, parse_row
from raggate.text import files, jsonio
from raggate.text.files import read_file, stored_lines, write_atomic
from raggate.text.jsonio import Shape, as_dict, dump_line, dumps, parse_object
from raggate.text.quote import first_problem

SCHEMA = "raggate/shard/1"
RECEIPT = "receipt.json"
RESULTS = "results.jsonl"
AGAIN = "again.jsonl"
PROBES = result_rows.FILE
FILES = (RESULTS, AGAIN, PROBES)
"""What a receipt can vouch for; where it names no such file, nothing of that was asked. Nothing else is read."""

MOST_ATTEMPTS = 1000
MOST_RECEIPT = 4 << 20
_RESULT: Shape[Result] = Shape(Result)
_RECEIPT: Shape[Receipt] = Shape(Receipt)
_NAME = re.compile(r"shard-([0-9]{1,9})-of-[0-9]{1,9}(?:-attempt-[0-9]{1,9})?")


_MERGED = "Name what `raggate run --plan plan.json --shard i/n` left, or the directory that all of them lie in."


class ShardAnswers(Struct, frozen=True, kw_only=True):
    """What stands in the directory of a shard: answers in the order they came in, with what the receipt says."""

    receipt: Receipt
    results: Sequence[Result]
    again: tuple[Result, ...]
    probes: Sequence[ProbeAnswer]


class Journal:
    """A file that results are added to as they come, each with its line break; `digest` is that of all of it.

    Args:
        path: the file; there must be none, unless it `goes_on`.
        goes_on: whether to add to what is there; a last line without its end goes.
    """

    def __init__(self, path: Path, *, goes_on: bool = False) -> None:
        self._path = path
        self._goes_on = goes_on
        self._stream: BinaryIO | None = None
        self._hash = sha256()

    def __enter__(self) -> Self:
        if not self._goes_on:
            self._stream = self._path.open("xb", buffering=0)
            return self
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        self._stream = stream = os.fdopen(handle, "r+b", buffering=0)
        whole = 0
        for line in _whole_lines(self._path):
            self._hash.update(line)
            whole += len(line)
        stream.truncate(whole)
        stream.seek(whole)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def add(self, result: Result) -> None:
        """Add a result; once this returns, a process that is killed has it.

        Raises:
            OSError: naming the file, when there is no space left for it.
        """
        line = row(result)
        self._hash.update(line)
        left = memoryview(line)
        try:
            while self._stream is not None and left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            raise files.naming(error, self._path) from error

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._hash.hexdigest()


def name(plan: Plan, shard: int, attempt: int) -> str:
    """Name the directory of a shard, from 1."""
    return f"shard-{shard}-of-{len(plan.shards)}" + (f"-attempt-{attempt}" if attempt > 1 else "")


def create(parent: Path, plan: Plan, shard: int, first: int) -> tuple[Path, int]:
    """Make a fresh directory for a shard below `parent`. Returns it, and which attempt it is, `first` or a later one.

    Raises:
        UsageError: when it cannot be made.
    """
    for attempt in range(first, MOST_ATTEMPTS):
        path = parent / name(plan, shard, attempt)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(
                f"cannot make the directory {path}: {error.strerror}", hint="--out names the directory it is made in."
            ) from None
        return path, attempt
    raise UsageError(f"{parent}: shard {shard} was begun {MOST_ATTEMPTS} times there")


def row(result: Result) -> bytes:
    """Write a result as a line, with whole texts."""
    return dump_line(result)


def rows(lines: Iterable[bytes], place: str) -> Iterator[Result]:
    """Parse results from lines, each with its end. Nothing in them is trusted.

    Raises:
        UsageError: naming the line that holds none, or more than a row of a run may.
    """
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            raise UsageError(f"{place}:{number}: cut short: a line without its end")
        yield _result(parse_row(line, f"{place}:{number}"), f"{place}:{number}")


def lines_of(path: Path) -> Iterator[Result]:
    """Read one by one the results that a process has written which was ended, perhaps in the middle of a line.

    Raises:
        UsageError: as `rows`.
    """
    return rows(_whole_lines(path), str(path))


def _whole_lines(path: Path) -> Iterator[bytes]:
    return (line for line in stored_lines(path) if line.endswith(b"\n"))


def _result(stored: Mapping[str, Any], place: str) -> Result:
    try:
        result = _RESULT.validate_python(stored)
    except ValidationError as error:
        raise UsageError(f"{place}: not a result: {first_problem(error)}") from None
    check_result(result, place)
    return result


def complete(directory: Path, receipt: Receipt, again: list[Result], probes: list[ProbeAnswer], results: str) -> None:
    """Write what was asked beside the questions, and then the receipt.

    Args:
        receipt: what the shard says it has done, but for the files.
        again: second answers.
        results: SHA-256 of the results.
    """
    beside = {AGAIN: b"".join(map(row, again)), PROBES: result_rows.write(probes, full_text=True)}
    hashes = {RESULTS: results}
    for file, content in beside.items():
        if content:
            write_atomic(directory / file, content)
            hashes[file] = sha256(content).hexdigest()
    write_atomic(directory / RECEIPT, receipt_bytes(replace(receipt, files=hashes)))


def receipt_bytes(receipt: Receipt) -> bytes:
    """Return the content of a `receipt.json`, which holds a hash of itself."""
    return dumps({**_stored(receipt), "hash": _digest(receipt)}, pretty=True)


def _stored(receipt: Receipt) -> dict[str, Any]:
    return {"schema": SCHEMA, **as_dict(receipt)}


def _digest(receipt: Receipt) -> str:
    return sha256(dumps(_stored(receipt))).hexdigest()


def read_receipt(directory: Path) -> Receipt:
    """Read what a shard says it has done.

    Raises:
        UsageError: when there is nothing, as after a process that was killed, or it was changed later.
    """
    content = read_file(directory / RECEIPT, most_bytes=MOST_RECEIPT, name=Path(RECEIPT), follow=False)
    stored = parse_object(content, RECEIPT)
    own = stored.pop("hash", None)
    if problem := jsonio.schema_problem(stored.pop("schema", None), SCHEMA):
        raise UsageError(f"{RECEIPT}: not a receipt: {problem}")
    try:
        receipt = _RECEIPT.validate_python(stored)
    except ValidationError as error:
        raise UsageError(f"{RECEIPT}: not a receipt: {first_problem(error)}") from None
    if _digest(receipt) != own:
        raise UsageError(f"{RECEIPT}: its content is not what its hash says: it was changed")
    return receipt


def read(directory: Path, receipt: Receipt, most: int) -> ShardAnswers:
    """Read the answers of a shard, which must be those that its receipt vouches for.

    Args:
        most: how many lines a file of it may have.

    Raises:
        UsageError: naming the file that is missing, was changed, is too long, or does not hold what it should.
    """
    lines = {file: _vouched(directory / file, receipt, most) if file in receipt.files else () for file in FILES}
    return ShardAnswers(
        receipt=receipt,
        results=tuple(rows(lines[RESULTS], str(directory / RESULTS))),
        again=tuple(rows(lines[AGAIN], str(directory / AGAIN))),
        probes=result_rows.read_probes(lines[PROBES], str(directory / PROBES)),
    )


def _vouched(path: Path, receipt: Receipt, most: int) -> Iterator[bytes]:
    whole = sha256()
    for number, line in enumerate(stored_lines(path), 1):
        if number > most:
            raise UsageError(f"{path}: more than {most} lines, one for each call that the plan gives this shard")
        whole.update(line)
    if whole.hexdigest() != receipt.files.get(path.name):
        raise UsageError(f"{path}: its SHA-256 is not that of the receipt: it was changed or cut")
    return stored_lines(path)


def number_of(directory: Path) -> int | None:
    """Return the shard that the name of a directory says it is of; None for another name."""
    match = _NAME.fullmatch(directory.name)
    return int(match[1]) if match else None


def of_shard(directory: Path) -> bool:
    """Return whether a directory is one of a shard: by what it holds, or by its name if it holds no run."""
    if (directory / RECEIPT).exists():
        return True
    return number_of(directory) is not None and not (directory / "config.json").exists()


def places(directory: Path) -> list[Path]:
    """Return the directories of shards that one is, or that lie up to two levels below it; links lead to none.

    Raises:
        UsageError: when there is none.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory", hint=_MERGED)
    below = places_below(directory)
    if not below:
        raise UsageError(f"{directory}: no directory of a shard, and none lies in it", hint=_MERGED)
    return below


def places_below(directory: Path) -> list[Path]:
    """Return them as `places` does; none where there are none, or no such directory."""
    levels = [directory] if directory.is_dir() else []
    below = []
    for _ in range(3):
        below += [path for path in levels if of_shard(path)]
        others = [path for path in levels if not of_shard(path)]
        levels = [path for parent in others for path in sorted(parent.iterdir()) if _is_folder(path)]
    return below


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
