"""The label file, `<golden set>.labels.jsonl`: who gave which passage of which question which grade. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raggate.errors import UsageError
from raggate.labelling.decisions import Name, Where
from raggate.labelling.grades import Vote
from raggate.text.jsonio import dumps, loads
from raggate.text.problems import first_problem

MAX_BYTES = 128 << 20


class Unit(NamedTuple):
    """A passage of a question: the case's id, and the place."""

    case: str
    where: Where


Labels = dict[Unit, dict[str, Vote]]
"""Per passage of a question, the vote of each person."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    by: Name
    grade: Annotated[int, Field(ge=0, le=3)]
    misleading: bool = False
    at: str = ""
    asked: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""
    rel_path: str = ""
    heading_path: str | None = None
    vault: str | None = None
    chunk_id: str | None = None
    doc_id: str | None = None


def read(data: bytes, name: str) -> Labels:
    """Read a label file.

    Raises:
        UsageError: naming the line that is none, or that grades again what its person graded already.
    """
    labels: Labels = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = _Row.model_validate(loads(line), strict=True)
        except ValidationError as error:
            raise UsageError(f"{name}:{number}: {first_problem(error)}") from None
        except ValueError as error:
            raise UsageError(f"{name}:{number}: {error}") from None
        place = Where(**{key: getattr(row, key) for key in Where.model_fields})
        votes = labels.setdefault(Unit(row.case, place), {})
        if row.by in votes:
            hint = "Keep one line for each person and passage; a merge of two branches may have left both."
            raise UsageError(f"{name}:{number}: {row.by!r} has graded this passage in an earlier line", hint=hint)
        votes[row.by] = Vote(row.grade, row.misleading, row.at, row.asked)
    return labels


def write(labels: Mapping[Unit, Mapping[str, Vote]]) -> bytes:
    """Write a label file: a line for each vote, in an order that the order of judging does not change."""
    rows = sorted(
        ((unit.case, dumps(unit.where.model_dump(exclude_none=True)), name), _line(unit, name, vote))
        for unit, votes in labels.items()
        for name, vote in votes.items()
    )
    return b"".join(line for _, line in rows)


def _line(unit: Unit, name: str, vote: Vote) -> bytes:
    place = {key: value for key, value in unit.where.model_dump(exclude_none=True).items() if value}
    row = {"case": unit.case, **place, "by": name, "grade": vote.grade}
    flags = {"misleading": True} if vote.misleading else {}
    words = {"asked": vote.asked} if vote.asked else {}
    return dumps({**row, **flags, "at": vote.at, **words}, in_order=True) + b"\n"
