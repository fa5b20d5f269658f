"""What people and programs read: the files of a run directory, each a function of one value to text.

Add a report's file and one line to REPORTS. What is shown elsewhere is no file and stands in no registry: terminal,
comment, annotations, promotion and history are each called by what shows them, which says how wide, how long and with
which links. What they are all made of is in `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import Review
from raggate.reports import failure, markdown, metrics_file, trace_file, verdict_file


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A run that was asked and scored; nothing is decided yet.

    Attributes:
        run: the run.
        scorecard: its scores.
        compat: other systems' numbers of it, by system and mode; empty where none are asked for.
        full_text: whether whole texts are kept.
    """

    run: Run
    scorecard: Scorecard
    compat: Mapping[str, Any]
    full_text: bool


Report = Callable[[Any], str]
"""Takes what it is a report of. Pure: the same value gives the same bytes. Foreign text goes through `escape` only."""

REPORTS: dict[type, dict[str, Report]] = {
    MeasuredRun: {
        "trace.jsonl": lambda measured: trace_file.render(measured.run, full_text=measured.full_text),
        "metrics.json": lambda measured: metrics_file.render(measured.run, measured.scorecard, measured.compat),
    },
    Review: {"summary.md": markdown.render, "verdict.json": verdict_file.render},
    RunFailure: {"summary.md": failure.render_markdown, "verdict.json": failure.render_json},
}
"""What there is to report of -> file name in the run directory -> report."""


def render_all(value: MeasuredRun | Review | RunFailure) -> Iterator[tuple[str, str]]:
    """Render every report of a value, one after the other: its file name and its text."""
    for name, render in REPORTS[type(value)].items():
        yield name, render(value)
