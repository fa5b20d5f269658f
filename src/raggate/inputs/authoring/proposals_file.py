"""The file of proposed questions: those that wait for a person, and those that were rejected and do not come again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raggate.errors import UsageError
from raggate.inputs import golden
from raggate.inputs.authoring.proposals import Proposal, Source
from raggate.text.jsonio import dumps, loads
from raggate.text.quote import first_problem

MAX_BYTES = 16 << 20

State = Literal["waiting", "rejected"]


class Kept(NamedTuple):
    """A proposal, and whether it waits or was rejected."""

    proposal: Proposal
    state: State = "waiting"


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    state: State
    source: Source
    answer: str
    case: dict[str, Any]


def load(data: bytes, name: str) -> list[Kept]:
    """Read the file.

    Raises:
        UsageError: naming the line that is not as it was written.
    """
    kept: dict[str, Kept] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = _Row.model_validate(loads(line), strict=True)
            case = golden.read_case(dumps(row.case), number)
        except ValidationError as error:
            raise _damaged(name, number, first_problem(error)) from None
        except (ValueError, TypeError) as error:
            raise _damaged(name, number, str(error)) from None
        kept[row.id] = Kept(Proposal(row.id, row.source, row.answer, case), row.state)
    return list(kept.values())


def write(kept: Iterable[Kept]) -> bytes:
    """Write the file: a line for each, in order."""
    return b"".join(dumps(_row(item), in_order=True) + b"\n" for item in kept)


def _row(item: Kept) -> dict[str, Any]:
    proposal = item.proposal
    return {
        "id": proposal.id,
        "state": item.state,
        "source": proposal.source,
        "answer": proposal.answer.encode(errors="replace").decode(),
        "case": loads(golden.write_case(proposal.case)),
    }


def _damaged(name: str, number: int, problem: str) -> UsageError:
    hint = "Remove the line, or the file: `raggate golden propose` writes a new one."
    return UsageError(f"{name}:{number}: {problem}", hint=hint)
