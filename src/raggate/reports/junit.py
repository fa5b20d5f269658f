"""A verdict as JUnit XML, as Jenkins, GitLab, Buildkite and others read it. Pure.

The elements and attributes are those of junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from xml.sax.saxutils import escape, quoteattr

from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports.parts.outcomes import Outcome, of_failure, of_review
from raggate.text.escape import plain
from raggate.text.numbers import fixed

_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def render(review: Review, _prefix: str = "") -> Iterator[str]:
    """Render a verdict and every question, line by line."""
    return _document(of_review(review), review.run.suite, review.run.started.removesuffix("Z"))


def render_failure(failure: RunFailure, _prefix: str = "") -> Iterator[str]:
    """Render why there is no verdict, as an error."""
    return _document(of_failure(failure), failure.suite or "", "")


def _document(outcomes: Sequence[Outcome], suite: str, started: str) -> Iterator[str]:
    stamp = f" timestamp={quoteattr(plain(started))}" if started else ""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_Totals(outcomes).attributes('raggate')}>\n"
    left = iter(outcomes)
    for group, members in groupby(outcomes, key=lambda outcome: outcome.group):
        totals, name = _Totals(members), plain(f"raggate {suite}: {group}")
        skipped = totals.count["skipped"]
        yield f'  <testsuite{totals.attributes(name)} skipped="{skipped}"{stamp}>\n'
        for outcome in islice(left, len(totals.seconds)):
            yield from (f"{line}\n" for line in _case(outcome, plain(f"raggate.{suite}.{group}")))
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


class _Totals:
    """How many outcomes end how, and the seconds of each."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.count, self.seconds = Counter[str](), array("d")
        for outcome in outcomes:
            self.count[outcome.status] += 1
            self.seconds.append(outcome.seconds)

    def attributes(self, name: str) -> str:
        """Return them as the attributes of an element of this name."""
        failures, errors = self.count["failed"], self.count["error"]
        numbers = f'tests="{len(self.seconds)}" failures="{failures}" errors="{errors}"'
        return f' name={quoteattr(name)} {numbers} time="{fixed(sum(self.seconds), 3)}"'


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
