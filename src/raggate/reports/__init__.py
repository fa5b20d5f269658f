"""What people and programs read: each report is a function of one value to text. Pure.

Add a report's file and one line to the table of what it is a report of. Terminal, comment, annotations, promotion and
history stand in no table: each is called by what shows it, which says how wide, how long and with which links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from raggate.models.gate_proof import GateProof
    from raggate.models.public_verdict import SideBySide
    from raggate.models.publication import RunFailure
    from raggate.models.run import Run
    from raggate.models.scorecard import Scorecard
    from raggate.models.verdict import Review

    Ended = Review | RunFailure
    """A verdict, or why there is none."""


T = TypeVar("T")
Report = Callable[[T], str | Iterator[str]]
"""The same value gives the same bytes. What grows with the number of questions comes in pieces."""
Reports = Mapping[str, Report[T]]
"""By file name in the run directory."""


class MeasuredRun(Struct, frozen=True, kw_only=True):
    """A run that was asked and scored, with other systems' numbers by system and mode; nothing is decided yet."""

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
OF_CHECK: Reports[Ended] = {
    "summary.md": lambda ended: _module("comment").render_whole(ended),
    "report.html": lambda ended: _module("page.report").render(ended),
    "verdict.json": lambda ended: _module("verdict_file").render(ended),
}
OF_DIFF: Reports[SideBySide] = {
    "diff.md": lambda both: _module("diff").render_markdown(both),
    "diff.json": lambda both: _module("diff").render_json(both),
}
OF_PROOF: Reports[GateProof] = {
    "proof.md": lambda proof: _module("proof").render(proof),
    "proof.json": lambda proof: _module("proof").render_json(proof),
}


class Format(NamedTuple):
    """A report for `--report NAME=FILE`: its second value stands before paths; `mark` matches no other file."""

    render: Callable[[Ended, str], str | Iterator[str]]
    mark: bytes


FORMATS: Mapping[str, Format] = {
    "junit": Format(lambda ended, _: _module("junit").render(ended), rb'\A<\?xml[^>]*>\s*<testsuites name="raggate" '),
    "sarif": Format(
        lambda ended, prefix: _module("sarif").render(ended, prefix),
        rb'\A\{\n  "\$schema": "[^"\n]*/sarif-schema-2\.1\.0\.json",\n(?s:.*)\n          "name": "raggate",\n',
    ),
    "markdown": Format(lambda ended, _: OF_CHECK["summary.md"](ended), rb"\A## [^ \n]+ raggate: "),
    # a line break cannot stand within a text, so this is a key of the whole document
    "json": Format(
        lambda ended, _: OF_CHECK["verdict.json"](ended), rb'\A\{\n  "(?s:.*)\n  "schema": "raggate/verdict/'
    ),
}
"""By name, as in `FORMAT_NAMES` of the command line."""


def is_report(data: bytes) -> bool:
    """Return whether the content of a file is a report that raggate wrote, in any format."""
    return any(re.search(form.mark, data) for form in FORMATS.values())
