"""Golden sets from one format to another: a source and a target in, a written file and a list of what was lost out.

What a format cannot say is found by going there and back: whatever of a case does not return the same is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.models.golden import Case
from raggate.text.scratch import scratch_directory
from raggate_interop.golden_formats import FORMATS, Format, Options, read_pragmata, rows_of
from raggate_interop.golden_rows import Note, Row, differences

PRAGMATA = "pragmata"
"""What can only be read."""


class Conversion(Struct, frozen=True, kw_only=True):
    """What came of a conversion: how many cases were read and are in the files, what was lost, and which files."""

    cases: int
    written: int
    notes: tuple[Note, ...]
    files: tuple[Path, ...]

    @property
    def lost(self) -> tuple[Note, ...]:
        """What the way back cannot restore."""
        return tuple(note for note in self.notes if note.lost)


def convert(
    source: Path, target: Path, *, from_format: str, to_format: str, options: Options, strict: bool, overwrite: bool
) -> Conversion:
    """Convert a golden set. Every target is read back before it is put in its place.

    Args:
        from_format: a key of `FORMATS`, or `PRAGMATA`.
        to_format: a key of `FORMATS`.
        strict: write nothing when anything is lost; the notes say what.

    Raises:
        UsageError: for a source that cannot be read, a target that exists already, and cases it cannot hold.
        OSError: when the target cannot be written.
    """
    writer = FORMATS[to_format](options)
    files = writer.files(target)
    there = [path for path in files if path.exists()]
    if there and not overwrite:
        raise UsageError(f"{there[0]} exists already", hint="--force replaces it.")
    cases, notes = read(source, from_format, options)
    native, losses = through(writer, cases)
    notes = (*notes, *losses)
    if strict and any(entry.lost for entry in notes):
        return Conversion(cases=len(cases), written=0, notes=notes, files=())
    _check(native, target, to_format, options)
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.save(native, target)
    return Conversion(cases=len(cases), written=len(writer.decode(native)), notes=notes, files=files)


def read(source: Path, name: str, options: Options) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
    """Read a golden set of a format; also tell what cases cannot hold of it.

    Raises:
        UsageError: when it cannot be read, or there is no case in it.
    """
    if name == PRAGMATA:
        return read_pragmata(source, options)
    reader = FORMATS[name](options)
    native, notes = reader.load(source)
    cases = reader.decode(native)
    if not cases:
        raise UsageError(f"{source}: no case is left that has a label")
    return cases, (*notes, *compared(reader.rows(native), reader.rows(reader.encode(cases))))


def through(writer: Format, cases: tuple[Case, ...]) -> tuple[Any, tuple[Note, ...]]:
    """Return what a format can say of cases, and tell what it cannot.

    Raises:
        UsageError: when it can say nothing of any of them.
    """
    native = writer.encode(cases)
    back = writer.decode(native)
    if not back:
        raise UsageError(
            "no case has a label that the target format can express", hint="docs/convert.md says what each can."
        )
    return native, (*writer.asides(cases), *compared(rows_of(cases), rows_of(back)))


def compared(before: Mapping[str, Row], after: Mapping[str, Row]) -> tuple[Note, ...]:
    """Hold two sets of rows against each other, case by case."""
    return tuple(note for name, row in before.items() for note in differences(name, row, after.get(name)))


def _check(native: Any, target: Path, name: str, options: Options) -> None:
    """Write to a place of its own and read it back, so that nothing is written that its own reader refuses."""
    with scratch_directory() as directory:
        path, topics = directory / (target.name or "target"), directory / "raggate-topics"
        form = FORMATS[name](replace(options, topics=topics, topics_out=topics))
        form.save(native, path)
        try:
            back, _ = form.load(path)
        except UsageError as error:
            message = error.message.replace(str(path), str(target))
            raise UsageError(
                f"what would be written is refused by its own reader: {message}", hint=error.hint
            ) from None
        if form.rows(back) != form.rows(native):
            raise UsageError(f"{target}: what would be written does not read back the same")
