"""Work on foreign text -> the same work, or an error when it takes longer than its size allows.

Size, depth and number bound what is read, and what is raggate's own is linear in it. The parsers of YAML and Markdown
are not, and nobody can list every text that shows it: whatever they meet, they are stopped.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from raggate.errors import CannotTell, RaggateError
from raggate.text.numbers import counted, fixed

ANSWERS_S, PER_ANSWER_S = 120.0, 1.0
"""Seconds that labelling, scoring, comparing and telling may take each, and further ones per answer."""

LINT_S, LINT_PER_MIB_S, LINT_PER_THOUSAND_S = 60.0, 20.0, 2.0
"""Seconds that holding questions against notes may take, and further ones per MiB of notes and per 1,000 questions."""

_AGAIN = 0.25
"""Seconds after which the alarm comes again: what it raises while an object is dropped is swallowed there."""


_running: list[RaggateError] = []
"""What the one deadline raises that counts; empty outside."""


class _TimeUp(BaseException):
    """The alarm. No parser that lives through every exception may live through it."""


def after_asking(answers: int) -> contextlib.AbstractContextManager[None]:
    """Return the deadline of one stage after asking; beyond it nobody can tell."""
    seconds = ANSWERS_S + PER_ANSWER_S * answers
    hint = "Some text in them, or in the notes, is made to take long; the results of the run and the notes have it."
    late = f"{counted(answers, 'answer')} could not be judged within {fixed(seconds, 0)} s"
    return within(seconds, CannotTell(late, hint=hint))


def beside_notes(size: int, questions: int) -> float:
    """Return the seconds that holding questions against notes of so many characters may take."""
    return LINT_S + LINT_PER_MIB_S * size / (1 << 20) + LINT_PER_THOUSAND_S * questions / 1000


@contextlib.contextmanager
def within(seconds: float, late: RaggateError) -> Iterator[None]:
    """Stop the work inside after so many seconds of wall time, and raise `late`.

    The alarm is SIGALRM, so SIGINT and SIGTERM mean inside what they mean outside. It reaches Python code, and waits
    for a call into C to return: what is given to one must be bounded by its size. Inside another deadline the outer
    one counts; in another thread than the main one, which gets no signals, there is none.

    Raises:
        RaggateError: `late`.
    """
    if _running or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        if _running:
            raise _TimeUp

    begun = time.monotonic()
    previous = signal.signal(signal.SIGALRM, ring)
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    try:
        try:
            _running.append(late)
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            yield
        finally:
            _running.clear()
    except _TimeUp:
        raise late from None
    finally:
        # it may have rung before the line that says that nothing is running any more
        _running.clear()
        # an alarm that somebody else had set goes on
        later = max(remaining - (time.monotonic() - begun), 0.001) if remaining else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if previous is None else previous)
        signal.setitimer(signal.ITIMER_REAL, later, interval)
