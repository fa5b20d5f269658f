"""Several suites of one command -> the last lines on a terminal: one for each, worst first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.models.suites import SuiteOutcome, ranked, worst
from raggate.reports import suites
from raggate.text.escape import log_line

_HEADLINE = 160


def render(outcomes: Sequence[SuiteOutcome]) -> str:
    """Render the overview that ends a command of several suites; its last line is that of one suite alone.

    Args:
        outcomes: how each ended; at least one.
    """
    code = worst(outcome.code for outcome in outcomes)
    verdicts = max(len(outcome.verdict) for outcome in outcomes)
    names = max(len(log_line(outcome.suite, limit=suites.NAME)) for outcome in outcomes)
    rows = (
        f"  {log_line(outcome.verdict):{verdicts}}  {log_line(outcome.suite, limit=suites.NAME):{names}}  "
        f"{log_line(outcome.headline, limit=_HEADLINE)}".rstrip()
        for outcome in ranked(outcomes)
    )
    verdict = log_line(suites.overall(outcomes))
    return "\n".join([f"{suites.summed(outcomes)}", *rows, "", f"verdict: {verdict} (exit {code}), that of the worst"])
