"""One decision of a person, as a line of the journal; and what it is about."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from raggate.base.errors import UsageError
from raggate.base.files import reading, writing
from raggate.base.jsonio import dumps, loads
from raggate.base.quote import first_problem
from raggate.inputs.golden import place_key
from raggate.models.golden import Support

GRADES = {
    0: "does not answer",
    1: "answers",
    2: "answers well",
    3: "best answer",
}
"""What a grade says. From 1 on, which a gold support without a grade has, the place is gold; 0: `not_relevant`."""

LONGEST_NAME = 60

Kind = Literal["grade", "settle", "written"]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\p{Cc}]*[^\s\p{Cc}][^\p{Cc}]*$")]
_Label = Annotated[str, Field(max_length=200)]

MAX_BYTES = 256 << 20
Row = TypeVar("Row", bound=BaseModel)


class Where(BaseModel):
    """A place of the notes, or the id of a chunk or document, as the golden set names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rel_path: str = ""
    heading_path: str | None = None
    vault: str | None = None
    chunk_id: str | None = None
    doc_id: str | None = None

    @classmethod
    def of(cls, support: Support) -> Where:
        """Name what a support names."""
        return cls(**{name: getattr(support, name) for name in cls.model_fields})

    def support(self, grade: int) -> Support:
        """Return the support of some grade that names it."""
        return Support(grade=grade, **self.model_dump())

    @property
    def id(self) -> str:
        """Twelve hex digits that tell it from other places."""
        return sha256(dumps(place_key(self.support(1)))).hexdigest()[:12]


def words_of(question: str) -> str:
    """Return eight hex digits that tell the words of a question from others."""
    return sha256(question.encode()).hexdigest()[:8]


class Decision(BaseModel):
    """What one person did.

    Attributes:
        at: when, ISO 8601 in UTC.
        by: who.
        do: `grade` a passage (none takes a grade back), or `settle` what people grade differently; `written` stands
            where all before it went into the golden set.
        case: the id of the question.
        asked: eight hex digits of its words at that time; see `words_of`.
        where: the passage.
        grade: 0 to 3.
        misleading: whether the passage looks like an answer and is none.
        text: the snippet that a chunk must hold; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: str
    by: Name
    do: Kind
    case: _Label = ""
    asked: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""
    where: Where | None = None
    grade: Annotated[int, Field(ge=0, le=3)] | None = None
    misleading: bool = False
    text: Annotated[str, Field(max_length=20_000)] = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Decision:
        if self.do != "written" and (not self.case or self.where is None):
            raise ValueError(f"{self.do}: needs case and where")
        if self.do == "settle" and self.grade is None:
            raise ValueError("settle: needs a grade")
        return self


class Journal:
    """An append-only file of decisions that one process has open.

    A line that a kill cut off was acknowledged to nobody: it is removed when the journal is opened again.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # a link could lead anywhere
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(path, flags, 0o644)
        self._path = path
        try:
            self._lock()
            self.decisions = self._read()
            _sync_folder(path.parent)
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others open it."""
        os.close(self._handle)

    def append(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions: all are on disk afterwards, or none."""
        data = b"".join(_line(decision) for decision in decisions)
        with writing(self._path):
            size = os.fstat(self._handle).st_size
            try:
                _write_all(self._handle, data)
                os.fsync(self._handle)
            except OSError:
                os.ftruncate(self._handle, size)
                raise
        self.decisions.extend(decisions)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{self._name}: another `raggate label` has it open",
                hint="Open its page instead: several people can judge there, each under their own name.",
            ) from None

    def _read(self) -> list[Decision]:
        with reading(self._path):
            size = os.fstat(self._handle).st_size
            if size > MAX_BYTES:
                raise UsageError(f"{self._name}: larger than {MAX_BYTES} bytes", hint="Move it away: see docs.")
            data = os.pread(self._handle, size, 0)
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                os.ftruncate(self._handle, whole)
        lines = data[:whole].split(b"\n")[:-1]
        hint = "Remove the line to continue without it. The others stay."
        return [read_as(Decision, line, f"{self._name}:{number}", hint) for number, line in enumerate(lines, 1)]


def read_as(model: type[Row], data: bytes, place: str, hint: str = "") -> Row:
    """Read JSON as a row of a kind; `place` names it in errors."""
    try:
        return model.model_validate(loads(data), strict=True)
    except ValueError as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else error
        raise UsageError(f"{place}: {problem}", hint=hint) from None


def _line(decision: Decision) -> bytes:
    return decision.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    """Make sure that the name of a new file is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
