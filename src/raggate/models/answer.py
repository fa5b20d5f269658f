"""What a command ends with: an exit code for whoever waits for it, and a result for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

Results = Mapping[str, Any]
"""JSON values, paths and dataclasses by name. Foreign text stands in it as it came."""


class Answer(int):
    """An exit code that carries the result of its command, which `--json` prints.

    Attributes:
        result: what the command tells programs; its keys are an interface, and stand in the schema of the output.
    """

    result: Results

    def __new__(cls, result: Results, exit_code: int = 0) -> Self:
        """Make one of a result and an exit code; see `raggate.errors.ExitCode`."""
        answer = super().__new__(cls, exit_code)
        answer.result = result
        return answer
