"""What people and programs read: the files of a run directory, each a function of one value to text.

Add a report's file and one line to the table of what it is a report of. What is shown elsewhere is no file and stands
in no table: terminal, comment, annotations, promotion and history are each called by what shows them, which says how
wide, how long and with which links. What they are all made of is in `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from raggate.models.gate_proof import GateProof
from raggate.models.judging_bias import JudgeBias
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.side_by_side import SideBySide
from raggate.models.verdict import Review
from raggate.reports import (
    diff,
    failure,
    judge_bias,
    judge_bias_file,
    markdown,
    metrics_file,
    proof,
    proof_file,
    trace_file,
    verdict_file,
)
from raggate.reports.page import failure as failure_page, report


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


T = TypeVar("T")
Reports = Mapping[str, Callable[[T], str]]
"""By file name in the run directory: takes what it is a report of. Pure: the same value gives the same bytes.

Foreign text goes through `escape` only.
"""

OF_RUN: Reports[MeasuredRun] = {
    "trace.jsonl": lambda measured: trace_file.render(measured.run, full_text=measured.full_text),
    "metrics.json": lambda measured: metrics_file.render(measured.run, measured.scorecard, measured.compat),
}
OF_REVIEW: Reports[Review] = {
    "summary.md": markdown.render,
    "report.html": report.render,
    "verdict.json": verdict_file.render,
}
OF_FAILURE: Reports[RunFailure] = {
    "summary.md": failure.render_markdown,
    "report.html": failure_page.render,
    "verdict.json": failure.render_json,
}
OF_DIFF: Reports[SideBySide] = {"diff.md": diff.render_markdown, "diff.json": diff.render_json}
OF_BIAS: Reports[JudgeBias] = {"judge_bias.md": judge_bias.render_markdown, "judge_bias.json": judge_bias_file.render}
OF_PROOF: Reports[GateProof] = {
    "proof.md": proof.render,
    "proof.json": proof_file.render_json,
    "badge.json": proof_file.render_badge,
}
