"""By what a run that can go on is asked, as a file holds it beside its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct
from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, hash_of_list, places_of
from raggate.models.provenance import Checkout
from raggate.models.run import Asking
from raggate.models.shards import Plan
from raggate.pipeline.request import Request
from raggate.pipeline.shards import planning
from raggate.text import jsonio
from raggate.text.files import read_file
from raggate.text.jsonio import Shape, as_dict, dumps, parse_object
from raggate.text.quote import first_problem

SCHEMA = "raggate/asking/1"
ANEW = "Start again without --resume."
_MOST_BYTES = 4 << 20
_ASKING: Shape[Asking] = Shape(Asking)
_WORDS = {
    "command": "the command",
    "plan": "the plan",
    "questions": "which questions are asked",
    "commit": "the commit that is checked out",
    "against": "the commit of --against",
}


def asking(
    request: Request,
    inputs: Inputs,
    cases: Sequence[Case],
    command: str,
    started: str,
    checkout: Checkout,
    plan: Plan | None = None,
) -> Asking:
    """Return by what is asked here and now.

    Args:
        started: when, ISO 8601.
        checkout: what is checked out here and now.
        plan: the plan that these are a shard of; None for a whole run.
    """
    return Asking(
        means=planning.means(request, inputs, checkout) if plan is None else plan.means,
        command=command,
        plan="" if plan is None else plan.hash,
        questions=hash_of_list(case.id for case in cases),
        commit=checkout.commit or "",
        against=inputs.against or "",
        started=started,
    )


def refuse_other(before: Asking, here: Asking, directory: Path) -> None:
    """Refuse to go on by other means than before, or by means of which nobody knows.

    Raises:
        UsageError: naming what differs.
    """
    differing = planning.differences(before.means, here.means)
    differing += [word for key, word in _WORDS.items() if getattr(before, key) != getattr(here, key)]
    if differing:
        raise UsageError(
            f"{directory}: it cannot go on, as it was asked by other means: {', '.join(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}",
            hint=f"Give the same files and flags as before. {ANEW}",
        )
    if before.means.api.kind == "source" and not before.means.api.id:
        raise UsageError(
            f"{directory}: outside git nothing tells whether the API's source is still the same", hint=ANEW
        )


def read(path: Path) -> Asking:
    """Read it; nothing in it is trusted.

    Raises:
        UsageError: when it does not hold what it should.
    """
    stored = parse_object(read_file(path, ANEW, most_bytes=_MOST_BYTES), str(path))
    if problem := jsonio.schema_problem(stored.pop("schema", None), SCHEMA):
        raise UsageError(f"{path}: {problem}", hint=ANEW)
    try:
        return _ASKING.validate_python(stored)
    except ValidationError as error:
        raise UsageError(f"{path}: damaged at {first_problem(error, whole='the top')}", hint=ANEW) from None


def written(kept: Asking) -> bytes:
    """Return the content of the file."""
    return dumps({"schema": SCHEMA, **as_dict(kept)}, pretty=True)


class QuestionNumbers(Struct, frozen=True):
    """Gives each question, for each time that it is asked, a number from 0."""

    cases: Mapping[str, int]
    modes: Mapping[str, int]
    repeat: int

    @classmethod
    def of(cls, asking: Asking, cases: Sequence[Case]) -> Self:
        """Number these cases, in the modes and as often as they are asked."""
        modes = dict.fromkeys(asking.means.modes)
        return cls(places_of(cases), {mode: number for number, mode in enumerate(modes)}, asking.means.repeat)

    def __len__(self) -> int:
        return len(self.cases) * len(self.modes) * self.repeat

    def place(self, case_id: str, mode: str, repeat: int) -> int | None:
        """Return the number of one; None for one that is not asked."""
        known, at = self.cases.get(case_id), self.modes.get(mode)
        if known is None or at is None or not 1 <= repeat <= self.repeat:
            return None
        return ((repeat - 1) * len(self.modes) + at) * len(self.cases) + known
