"""Which runs become a baseline by what made them: those of the suite's own commands, others only where that is said."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from raggate.errors import UsageError
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.text.quote import cut, quoted

OF_THE_SUITE: frozenset[RunCommand] = frozenset({"check", "run"})
"""Commands that ask the whole suite once, of the build that is gated."""

OTHERS: tuple[RunCommand, ...] = tuple(name for name in get_args(RunCommand) if name not in OF_THE_SUITE)
"""Commands whose runs become a baseline only where that is said."""

_MADE = {
    "calibrate": "several equal runs in one, whose means it has",
    "diff": "one of two builds that were held against each other",
    "prove": "what faults were put into",
}


def refuse_other_origin(run: Run, accepted: Collection[str]) -> None:
    """Refuse a run of another command than `check` and `run`, or of another build, unless its command is accepted.

    A run that does not say what made it, as of earlier versions and other systems, passes.

    Raises:
        UsageError: naming command and build, with how it is promoted all the same.
    """
    command, build = run.provenance.command, run.provenance.build
    if command is None or command in OF_THE_SUITE or command in accepted:
        return
    what = f"{cut(build, limit=80)}, {_MADE[command]}" if build else _MADE[command]
    raise UsageError(
        f"run {quoted(run.run_id)} is one of `raggate {command}`: {what}",
        hint=f"Promote one of `raggate check` or `raggate run`; or, if you mean this one, add --from {command}.",
    )
