"""A verdict as JUnit XML, as Jenkins, GitLab, Buildkite and others read it. Pure.

The elements and attributes are those of junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports.parts.outcomes import Outcome, of_failure, of_review
from raggate.text.escape import plain
from raggate.text.numbers import fixed

_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def render(review: Review, _prefix: str = "") -> str:
    """Render a verdict and every question."""
    return _document(of_review(review), review.run.suite, review.run.started.removesuffix("Z"))


def render_failure(failure: RunFailure, _prefix: str = "") -> str:
    """Render why there is no verdict, as an error."""
    return _document(of_failure(failure), failure.suite or "", "")


def _document(outcomes: Sequence[Outcome], suite: str, started: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites{_totals('raggate', outcomes)}>"]
    for group, members in groupby(outcomes, key=lambda outcome: outcome.group):
        rows, name = [*members], plain(f"raggate {suite}: {group}")
        stamp = f" timestamp={quoteattr(plain(started))}" if started else ""
        skipped = sum(outcome.status == "skipped" for outcome in rows)
        lines.append(f'  <testsuite{_totals(name, rows)} skipped="{skipped}"{stamp}>')
        lines += [line for outcome in rows for line in _case(outcome, plain(f"raggate.{suite}.{group}"))]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _totals(name: str, outcomes: Sequence[Outcome]) -> str:
    count = Counter(outcome.status for outcome in outcomes)
    time = fixed(sum(outcome.seconds for outcome in outcomes), 3)
    numbers = f'tests="{len(outcomes)}" failures="{count["failed"]}" errors="{count["error"]}" time="{time}"'
    return f" name={quoteattr(name)} {numbers}"


def _case(outcome: Outcome, class_name: str) -> Iterator[str]:
    names = f"name={quoteattr(outcome.name)} classname={quoteattr(class_name)}"
    yield f'    <testcase {names} time="{fixed(outcome.seconds, 3)}">'
    tag, details = _TAGS.get(outcome.status), "\n".join([outcome.message, *outcome.details])
    if tag is None:
        yield f"      <system-out>{escape(details)}</system-out>"
    else:
        kind = f" type={quoteattr(outcome.kind)}" if outcome.kind else ""
        yield f"      <{tag}{kind} message={quoteattr(outcome.message)}>{escape(details)}</{tag}>"
    yield "    </testcase>"
