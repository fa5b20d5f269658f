"""What a command ends with: an exit code for whoever waits for it, and a result for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, Self, TypeVar

from raggate.base.errors import ExitCode

ResultT_co = TypeVar("ResultT_co", covariant=True)


VerdictKind = Literal[
    "pass", "regression", "cannot tell", "invariant broken", "interrupted", "partial", "failed in part"
]
"""The last two are those of a run that asked a part of the questions: nothing of it got worse, or something did."""
EXIT_CODES: Mapping[VerdictKind, ExitCode] = {
    "pass": ExitCode.PASS,
    "regression": ExitCode.REGRESSION,
    "cannot tell": ExitCode.CANNOT_TELL,
    "invariant broken": ExitCode.INVARIANT,
    "interrupted": ExitCode.INTERRUPTED,
    "partial": ExitCode.PARTIAL,
    "failed in part": ExitCode.REGRESSION,
}


class Answer(int, Generic[ResultT_co]):
    """An exit code that carries the result of its command, which `--json` prints. Foreign text stands there as it came.

    The type of the result stands in the signature of the command; schema and documentation are made of it.
    """

    result: ResultT_co

    def __new__(cls, result: ResultT_co, exit_code: int = 0) -> Self:
        answer = super().__new__(cls, exit_code)
        answer.result = result
        return answer
