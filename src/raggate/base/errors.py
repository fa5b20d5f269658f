"""Every way to end without a verdict: a message, a hint and an exit code.

RaggateError
├── UsageError     2    nothing was measured: the message says what to change
│   ├── FileError       a file cannot be read
│   ├── SettingError    a key of the configuration names what is not there
│   └── FileProblems    places of files that are wrong
├── CannotTell     3    not measured well enough to say
└── Interrupted    130  cancelled by a signal

The verdicts themselves (0 pass, 1 regression, 3 cannot tell, 4 invariant broken, 5 partial) are decided in
`gate/verdict.py`.
A crash of raggate itself is 70 (`EX_SOFTWARE`): it is not an exception of this tree, the entry point maps it.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

NO_MEMORY = (
    b"raggate: internal error: too little memory, or no thread left\n"
    b"  Give raggate more (`ulimit -v`, the limits of the container or the job), or split the questions: "
    b"`raggate run --shard 1/2`.\n"
)
"""Written as it is to standard error: making a text takes memory."""


class ExitCode(IntEnum):
    """The process exit codes, which are a stable interface; 125 and above (but 130) belong to docker and shells."""

    PASS = 0
    REGRESSION = 1
    USAGE = 2
    CANNOT_TELL = 3
    INVARIANT = 4
    PARTIAL = 5
    INTERNAL = 70
    INTERRUPTED = 130


def out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, says that the system gives no more memory."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if isinstance(error, ImportError) and ("map segment" in str(error) or "allocate memory" in str(error)):
            return True
        # a stack is memory, too
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


class RaggateError(Exception):
    """An expected way to end early.

    Args:
        message: what happened and where, one or two sentences: a text is exactly one line, and several lines are a
            sequence of texts. It may hold foreign values as they are: whoever shows it makes it harmless.
        hint: what to do about it; empty when the message says it already.
        log: the last lines of the API's own log, when they help to see the cause. Untrusted text.

    Attributes:
        lines: the message, as lines. A line break within a text came with a foreign value, and is a space in them.
    """

    exit_code: ExitCode = ExitCode.INTERNAL
    label: str = "error"

    def __init__(self, message: str | Sequence[str], *, hint: str = "", log: tuple[str, ...] = ()) -> None:
        texts = (message,) if isinstance(message, str) else message
        self.lines = tuple(" ".join(text.splitlines()) for text in texts)
        super().__init__(self.message)
        self.hint = hint
        self.log = log

    def __str__(self) -> str:
        return self.message

    @property
    def message(self) -> str:
        """The lines, one below the other."""
        return "\n".join(self.lines)


class UsageError(RaggateError):
    """The configuration, the golden set, a flag or a file is wrong. Nothing was measured."""

    exit_code = ExitCode.USAGE
    label = "usage error"


class FileError(UsageError):
    """A file cannot be read, or does not hold what it should."""

    def __init__(self, place: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{place}: {problem}", hint=hint)
        self.place = place
        self.problem = problem


class SettingError(UsageError):
    """A key of the configuration names what is not there; which line it is in, whoever raises this does not know."""

    def __init__(self, key: str, problem: str, *, hint: str) -> None:
        super().__init__(f"{key}: {problem}", hint=hint)
        self.key = key


class Problem(NamedTuple):
    """What is wrong at a place of a file: its line, from 1, or 0 for all of it, and the key where it is known."""

    file: str
    line: int
    text: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class FileProblems(UsageError):
    """Places of files that are wrong, as many as are shown."""

    def __init__(self, check: str, problems: Sequence[Problem], *, more: int = 0, hint: str = "") -> None:
        rest = [f"… and {more} more"] if more else []
        super().__init__([*map(str, problems), *rest], hint=hint)
        self.check = check
        self.problems = tuple(problems)
        self.more = more


class CannotTell(RaggateError):
    """The API could not be measured well enough for a verdict. Never green."""

    exit_code = ExitCode.CANNOT_TELL
    label = "cannot tell"


class Interrupted(RaggateError):
    """A signal ended the run; partial results were kept and everything was torn down."""

    exit_code = ExitCode.INTERRUPTED
    label = "interrupted"
