"""What people and programs read: the files of a run directory, each a function of one value to text.

Add a report's file and one line to the table of what it is a report of. What is shown elsewhere is no file and stands
in no table: terminal, comment, annotations, promotion and history are each called by what shows them, which says how
wide, how long and with which links. What they are all made of is in `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from raggate.models.gate_proof import GateProof
    from raggate.models.public_verdict import SideBySide
    from raggate.models.publication import RunFailure
    from raggate.models.run import Run
    from raggate.models.scorecard import Scorecard
    from raggate.models.verdict import Review


T = TypeVar("T")
Reports = Mapping[str, Callable[[T], str | Iterator[str]]]
"""By file name in the run directory: takes what it is a report of. Pure: the same value gives the same bytes.

What grows with the number of questions comes in pieces, which are never in memory all at once.

Foreign text goes through `escape` only.
"""


class MeasuredRun(Struct, frozen=True, kw_only=True):
    """A run that was asked and scored; nothing is decided yet.

    Attributes:
        run: the run.
        scorecard: its scores.
        compat: other systems' numbers of it, by system and mode; empty where none are asked for.
    """

    run: Run
    scorecard: Scorecard
    compat: Mapping[str, Any]


def encoded(report: str | Iterator[str]) -> Iterator[bytes]:
    """Return the bytes of a report, in its pieces."""
    return (piece.encode() for piece in ((report,) if isinstance(report, str) else report))


def _module(name: str) -> Any:
    # no command makes all of these reports, and each is loaded for the first one made
    return import_module(f"raggate.reports.{name}")


OF_RUN: Reports[MeasuredRun] = {
    "metrics.json": lambda measured: _module("metrics_file").render(measured.run, measured.scorecard, measured.compat),
}
OF_REVIEW: Reports[Review] = {
    "summary.md": lambda review: _module("comment").render_whole(review),
    "report.html": lambda review: _module("page.report").render(review),
    "verdict.json": lambda review: _module("verdict_file").render(review),
}
OF_FAILURE: Reports[RunFailure] = {
    "summary.md": lambda failed: _module("failure").render_markdown(failed),
    "report.html": lambda failed: _module("page.report").render_failure(failed),
    "verdict.json": lambda failed: _module("failure").render_json(failed),
}
OF_DIFF: Reports[SideBySide] = {
    "diff.md": lambda both: _module("diff").render_markdown(both),
    "diff.json": lambda both: _module("diff").render_json(both),
}
OF_PROOF: Reports[GateProof] = {
    "proof.md": lambda proof: _module("proof").render(proof),
    "proof.json": lambda proof: _module("proof").render_json(proof),
}
