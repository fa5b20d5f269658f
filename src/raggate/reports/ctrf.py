"""A verdict in the Common Test Report Format (ctrf.io), which many dashboards and comments read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports.parts.outcomes import Outcome, of_failure, of_review
from raggate.text.dates import NO_TIME, milliseconds
from raggate.text.escape import plain
from raggate.text.jsonio import pieces

VERSION = "0.0.0"
"""Of the format, in whose schema every report of it says so."""

_STATUS = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}


def render(review: Review, prefix: str = "") -> Iterator[str]:
    """Render a verdict and every question, in pieces; `prefix` stands before paths of files."""
    run, verdict = review.run, review.verdict
    start = milliseconds(run.started)
    extra = {"outcome": verdict.outcome, "exit_code": int(verdict.exit_code), "run_id": plain(run.run_id)}
    times = (start, start + round(run.duration_s * 1000))
    return _document(of_review(review), run.suite, times, run.provenance.raggate_version or "", prefix, extra)


def render_failure(failure: RunFailure, prefix: str = "") -> Iterator[str]:
    """Render why there is no verdict, as a test that failed."""
    extra = {"outcome": failure.label, "exit_code": failure.exit_code, "run_id": plain(failure.run_id)}
    return _document(of_failure(failure), failure.suite or "", (NO_TIME, NO_TIME), "", prefix, extra)


def _document(
    outcomes: Sequence[Outcome], suite: str, times: tuple[int, int], version: str, prefix: str, extra: dict[str, Any]
) -> Iterator[str]:
    count = Counter(_STATUS[outcome.status] for outcome in outcomes)
    summary = {status: count[status] for status in ("passed", "failed", "skipped")}
    tool = {"name": "raggate", **({"version": plain(version)} if version else {})}
    results = {
        "tool": tool,
        "summary": {
            "tests": len(outcomes),
            **summary,
            "pending": 0,
            "other": 0,
            "start": times[0],
            "stop": times[1],
            "extra": extra,
        },
        "tests": (_test(outcome, plain(suite), prefix) for outcome in outcomes),
    }
    document = {"reportFormat": "CTRF", "specVersion": VERSION, "generatedBy": "raggate", "results": results}
    return pieces(document)


def _test(outcome: Outcome, suite: str, prefix: str) -> dict[str, Any]:
    place = {"filePath": plain(f"{prefix}{outcome.file}", limit=2000), "line": outcome.line} if outcome.file else {}
    trace = {"extra": {"trace_id": outcome.trace_id}} if outcome.trace_id else {}
    return {
        "name": outcome.name or outcome.group,
        "status": _STATUS[outcome.status],
        "rawStatus": outcome.kind or outcome.status,
        "duration": round(outcome.seconds * 1000),
        "suite": [part for part in ("raggate", suite, outcome.group) if part],
        "message": outcome.message,
        **({"trace": "\n".join(outcome.details)} if outcome.details else {}),
        "retries": outcome.retries,
        **place,
        **trace,
    }
