"""The reports that are written where somebody asks for them, by name: `--report junit=FILE`.

Each is two functions: of a verdict, and of a run without one. Both also take what stands before the paths of files,
which are relative to the configuration. To add one, add its file and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports import ctrf, failure, junit, markdown, otel, sarif_verdict, verdict_file


class Format(NamedTuple):
    """How a verdict is written, how a run without one is, and for whom."""

    of_review: Callable[[Review, str], str]
    of_failure: Callable[[RunFailure, str], str]
    readers: str


FORMATS: Mapping[str, Format] = {
    "junit": Format(junit.render, junit.render_failure, "JUnit XML: Jenkins, GitLab, Buildkite and most others"),
    "sarif": Format(sarif_verdict.render, sarif_verdict.render_failure, "SARIF 2.1.0: code scanning, editors"),
    "ctrf": Format(ctrf.render, ctrf.render_failure, "Common Test Report Format: dashboards, comments"),
    "otel": Format(otel.render, otel.render_failure, "OpenTelemetry events as OTLP JSON lines: a collector"),
    "markdown": Format(
        lambda review, _: markdown.render(review),
        lambda failed, _: failure.render_markdown(failed),
        "Markdown: the text of summary.md",
    ),
    "json": Format(
        lambda review, _: verdict_file.render(review),
        lambda failed, _: failure.render_json(failed),
        "JSON: the document of verdict.json",
    ),
}
