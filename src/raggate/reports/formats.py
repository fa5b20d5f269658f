"""The reports that are written where somebody asks for them, by name: `--report junit=FILE`.

Each is two functions: of a verdict, and of a run without one. Both give a text, or its pieces where it grows with the
number of questions, and also take what stands before the paths of files, which are relative to the configuration. To
add one, add its file and a line here, with a pattern that nothing but such a report matches, and its name to the
`FORMAT_NAMES` of the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports import comment, failure, junit, sarif, verdict_file


class Format(NamedTuple):
    """How a verdict is written, how a run without one is, for whom, and the pattern that every such report matches."""

    of_review: Callable[[Review, str], str | Iterator[str]]
    of_failure: Callable[[RunFailure, str], str | Iterator[str]]
    readers: str
    mark: bytes


FORMATS: Mapping[str, Format] = {
    "junit": Format(
        junit.render,
        junit.render_failure,
        "JUnit XML: Jenkins, GitLab, Buildkite and most others",
        rb'\A<\?xml[^>]*>\s*<testsuites name="raggate" ',
    ),
    "sarif": Format(
        sarif.render,
        sarif.render_failure,
        "SARIF 2.1.0: code scanning, editors",
        rb'\A\{\n  "\$schema": "[^"\n]*/sarif-schema-2\.1\.0\.json",\n(?s:.*)\n          "name": "raggate",\n',
    ),
    "markdown": Format(
        lambda review, _: comment.render_whole(review),
        lambda failed, _: failure.render_markdown(failed),
        "Markdown: the text of summary.md",
        rb"\A## [^ \n]+ raggate: ",
    ),
    "json": Format(
        lambda review, _: verdict_file.render(review),
        lambda failed, _: failure.render_json(failed),
        "JSON: the document of verdict.json",
        # a line break cannot stand within a text, so this is a key of the whole document
        rb'\A\{\n  "(?s:.*)\n  "schema": "raggate/verdict/',
    ),
}


def is_report(data: bytes) -> bool:
    """Return whether the content of a file is a report that raggate wrote, in any format."""
    return any(re.search(form.mark, data) for form in FORMATS.values())
