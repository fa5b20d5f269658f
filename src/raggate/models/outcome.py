"""How a run that was measured can end, and with which exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from raggate.errors import ExitCode

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
