"""A verdict as JUnit XML, one test for every reason and question, as Jenkins, GitLab and others read it. Pure.

The elements and attributes are those of junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from raggate.base.escape import plain
from raggate.base.numbers import fixed
from raggate.models.comparison import Flip
from raggate.models.publication import RunFailure
from raggate.models.run import LabelledResult
from raggate.models.verdict import Review
from raggate.reports.parts import formatting, questions, reasons

if TYPE_CHECKING:
    from raggate.reports import Ended

Status = Literal["passed", "failed", "error", "skipped"]

_NAME = 300
_UNDECIDED = ("cannot tell", "interrupted", "partial")

_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


class Outcome(Struct, frozen=True):
    """One test of a report. All texts are printable, in one line each; the name is the same from run to run.

    What makes a verdict red is `failed`, why there is none an `error`, and a question without an answer `skipped`.
    """

    group: str
    name: str
    status: Status
    kind: str = ""
    message: str = ""
    details: tuple[str, ...] = ()
    seconds: float = 0.0


def of_failure(failure: RunFailure) -> list[Outcome]:
    """Return the one outcome of a run without a verdict."""
    message, *more = map(_line, failure.lines)
    hint = [_line(failure.hint)] if failure.hint else []
    log = [plain(line, limit=500) for line in failure.log]
    kind = failure.label.replace(" ", "-")
    details = (*more, *hint, *log)
    return [Outcome(group="verdict", name="verdict", status="error", kind=kind, message=message, details=details)]


def _verdict(review: Review) -> Iterator[Outcome]:
    verdict = review.verdict
    if verdict.exit_code == 0:
        yield Outcome(group="verdict", name="verdict", status="passed", message=_line(verdict.headline))
        return
    status: Status = "error" if verdict.outcome in _UNDECIDED else "failed"
    # a verdict that is no pass fails the report, whether or not a reason says why
    kind = verdict.outcome.replace(" ", "-")
    yield Outcome(group="verdict", name="verdict", status=status, kind=kind, message=_line(verdict.headline))
    for reason in formatting.deciding(review):
        parts = (reason.code, reason.invariant, reason.mode, reason.slice, reason.metric, reason.case_id)
        name, message = plain(" ".join(filter(None, parts)), limit=_NAME), _line(reason.message)
        yield Outcome(group="verdict", name=name, status=status, kind=plain(reason.code), message=message)


def _question(item: LabelledResult, flip: Flip | None, *, red: bool) -> Outcome:
    result, case = item.result, item.case
    status: Status = "passed" if result.failure is None else "skipped"
    kind: str = "" if result.failure is None else result.failure.kind
    if red and flip is not None:
        status, kind = "failed", flip.kind
    shown = flip if status != "skipped" else None
    return Outcome(
        group=plain(result.mode),
        name=plain(f"{case.id}: {case.question}", limit=_NAME),
        status=status,
        kind=kind,
        message=plain(questions.rank_change(shown)) if shown else _how_it_went(item),
        details=tuple(about(shown)) if shown else (),
        seconds=result.elapsed_ms / 1000,
    )


def _how_it_went(item: LabelledResult) -> str:
    failure = item.result.failure
    if failure is not None:
        return f"no answer: {plain(failure.message, limit=500)}"
    rank = next((place for place, matches in enumerate(item.labels.matches, 1) if matches), None)
    if not item.case.gold_supports:
        return "no passage is expected"
    return "not found" if rank is None else f"rank {rank}"


def about(flip: Flip) -> Iterator[str]:
    """Describe a lost question, one fact a line."""
    if flip.why:
        yield _line(flip.why)
    yield f"expected: {_line(flip.gold) if flip.support is not None else 'no answer'}"
    if risen := reasons.instead(flip):
        yield f"in its place: {_line(risen)}"
    if flip.trace_id:
        yield f"trace: {flip.trace_id}"


def _line(text: str) -> str:
    return plain(text, limit=1500, middle=True)


def render(ended: Ended) -> Iterator[str]:
    """Render a verdict and every question, or why there is no verdict, line by line."""
    if isinstance(ended, RunFailure):
        return _document(of_failure(ended), ended.suite or "", "")
    return _document(of_review(ended), ended.run.suite, ended.run.started.removesuffix("Z"))


def of_review(review: Review) -> list[Outcome]:
    """Return the verdict, or the reasons against it, and then every question: something fails just where no pass is."""
    lost = {(flip.mode, flip.case_id): flip for flip in review.lost}
    decided = review.verdict.exit_code != 0 and review.verdict.outcome not in _UNDECIDED
    outcomes = [*_verdict(review)]
    for item in review.run.results:
        flip = lost.get((item.result.mode, item.case.id))
        outcomes.append(_question(item, flip, red=flip is not None and decided and review.verdict.is_red(flip)))
    return outcomes


def _document(outcomes: Sequence[Outcome], suite: str, started: str) -> Iterator[str]:
    stamp = f" timestamp={quoteattr(plain(started))}" if started else ""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_totals('raggate', outcomes)}>\n"
    for group, of_group in groupby(outcomes, key=lambda outcome: outcome.group):
        members = list(of_group)
        skipped = sum(outcome.status == "skipped" for outcome in members)
        yield f'  <testsuite{_totals(plain(f"raggate {suite}: {group}"), members)} skipped="{skipped}"{stamp}>\n'
        for outcome in members:
            yield from (f"{line}\n" for line in _case(outcome, plain(f"raggate.{suite}.{group}")))
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _totals(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return as attributes how many outcomes end how, and how long they took."""
    count = Counter(outcome.status for outcome in outcomes)
    numbers = f'tests="{len(outcomes)}" failures="{count["failed"]}" errors="{count["error"]}"'
    return f' name={quoteattr(name)} {numbers} time="{fixed(sum(outcome.seconds for outcome in outcomes), 3)}"'


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
