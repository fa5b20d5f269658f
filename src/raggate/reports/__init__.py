"""What people and programs read. A report is one function of a Review; add its file and one line to REPORTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import Review
from raggate.reports import failure, markdown, metrics_file, trace_file, verdict_file

Report = Callable[[Review], str]
"""Pure: the same review gives the same bytes. Foreign text goes through `escape` only."""

REPORTS: dict[str, Report] = {
    "summary.md": markdown.render,
    "verdict.json": verdict_file.render,
}
"""File name in the run directory -> report."""

METRICS_REPORT: tuple[str, Callable[[Run, Scorecard, Mapping[str, Any]], str]] = ("metrics.json", metrics_file.render)
"""The one report that needs no verdict; it takes other systems' numbers too, empty where none are asked for."""

TRACE_REPORT: tuple[str, Callable[..., str]] = ("trace.jsonl", trace_file.render)
"""One line per retrieved chunk; takes the run, and `full_text` to keep whole texts."""

FAILURE_REPORTS: dict[str, Callable[[RunFailure, str], str]] = {
    "summary.md": failure.render_markdown,
    "verdict.json": failure.render_json,
}
"""The same files when there is no verdict; each takes the failure and the run id."""
