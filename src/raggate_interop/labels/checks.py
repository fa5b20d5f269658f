"""Judgments as annotators gave them: what contradicts itself, is doubled, agrees, or got worse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import fsum

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.headings import fold
from raggate.base.quote import cut, quoted
from raggate.models.judging import Task
from raggate.models.scorecard import EPSILON, oriented
from raggate.scoring.intervals import DEFAULT, Interval, Sampling
from raggate_interop.labels.agreement import bootstrap_mean, paired
from raggate_interop.labels.metrics import LABEL_METRICS
from raggate_interop.labels.models import (
    Discarded,
    Joined,
    Judgment,
    LabelDelta,
    LabelStatus,
    Panel,
    RetrievalJudgment,
    Violation,
)

REPEATED = "annotator_repeated"
SHARED_RANK = "rank_shared"
OTHER_QUERY = "query_differs"
INCOMPLETE = "panel_incomplete"
TOLERANCE = 0.05
MIN_PAIRS = 10
"""With fewer paired queries no interval is believed, and the tolerance decides alone."""


class Rule(Struct, frozen=True, kw_only=True):
    """If `given` is yes, `then` must be `value`. An `unusual` breach may be meant; the others cannot be."""

    task: Task
    given: str
    then: str
    value: bool
    unusual: bool = False

    @property
    def message(self) -> str:
        """What a breach is called in annotation exports."""
        return f"{self.task}: {self.given}=True but {self.then}={not self.value}"


RULES: dict[str, Rule] = {
    "evidence_requires_relevance": Rule(
        task="retrieval", given="evidence_sufficient", then="topically_relevant", value=True
    ),
    "evidence_excludes_misleading": Rule(
        task="retrieval", given="evidence_sufficient", then="misleading", value=False, unusual=True
    ),
    "contradiction_requires_unsupported": Rule(
        task="grounding", given="contradicted_claim_present", then="unsupported_claim_present", value=True
    ),
    "fabricated_requires_cited": Rule(task="grounding", given="fabricated_source", then="source_cited", value=True),
}
"""The logical constraints between labels, by their ids."""


def violations(judgments: Iterable[Judgment]) -> tuple[Violation, ...]:
    """Name every breach of a constraint, in the order of the judgments."""
    return tuple(
        _violation(name, judgment, rule.message, unusual=rule.unusual)
        for judgment in judgments
        for name, rule in RULES.items()
        if judgment.task == rule.task and judgment.labels[rule.given] and judgment.labels[rule.then] is not rule.value
    )


def duplicates(judgments: Sequence[Judgment]) -> tuple[Violation, ...]:
    """Name rows that cannot both be right.

    That is: one annotator judging a unit twice, two chunks of a record at one rank, and one record with two queries.
    Rows without an annotator are never repeated: they cannot be told apart.
    """
    violations = []
    voters: dict[tuple[str, ...], Judgment] = {}
    ranks: dict[tuple[str, int], RetrievalJudgment] = {}
    queries: dict[str, RetrievalJudgment] = {}
    for judgment in judgments:
        if judgment.annotator is not None:
            first = voters.setdefault((judgment.task, judgment.annotator, *judgment.unit), judgment)
            if first is not judgment:
                message = f"{judgment.annotator} judged this at {cut(first.place)} already"
                violations.append(_violation(REPEATED, judgment, message))
        if isinstance(judgment, RetrievalJudgment):
            other = ranks.setdefault((judgment.record, judgment.rank), judgment)
            if other.chunk_id != judgment.chunk_id:
                message = f"rank {judgment.rank} is chunk {quoted(other.chunk_id)} at {cut(other.place)}"
                violations.append(_violation(SHARED_RANK, judgment, message))
            earlier = queries.setdefault(judgment.record, judgment)
            if fold(earlier.query) != fold(judgment.query):
                violations.append(_violation(OTHER_QUERY, judgment, f"another query than at {cut(earlier.place)}"))
    return tuple(violations)


def repeated(judgments: Sequence[Judgment]) -> tuple[Violation, ...]:
    """Name the rows in which an annotator judges a unit again."""
    return tuple(violation for violation in duplicates(judgments) if violation.rule == REPEATED)


def panels(judgments: Iterable[Judgment], discarded: Iterable[Discarded] = ()) -> tuple[Panel, ...]:
    """For each record of the retrieval task: how many of its chunks are judged, in order of first appearance.

    A panel is complete when every retrieved chunk has a judgment; a discarded row is none.
    """
    judged: dict[str, set[str]] = {}
    dropped: dict[str, set[str]] = {}
    expected: dict[str, int] = {}
    for row in judgments:
        if isinstance(row, RetrievalJudgment):
            judged.setdefault(row.record, set()).add(row.chunk_id)
            expected[row.record] = max(expected.get(row.record, 0), row.retrieved or 0)
    for gone in discarded:
        if gone.chunk_id is not None:
            judged.setdefault(gone.record, set())
            dropped.setdefault(gone.record, set()).add(gone.chunk_id)
            expected[gone.record] = max(expected.get(gone.record, 0), gone.retrieved or 0)
    return tuple(
        Panel(
            record=record,
            expected=expected[record] or None,
            judged=len(chunks),
            discarded=len(dropped.get(record, set()) - chunks),
            complete=len(chunks) >= expected[record] if expected[record] else None,
        )
        for record, chunks in judged.items()
    )


def incomplete(panels: Iterable[Panel]) -> tuple[Violation, ...]:
    """Name the panels that are known to lack judgments."""
    return tuple(
        Violation(
            rule=INCOMPLETE,
            task="retrieval",
            record=panel.record,
            place="",
            message=f"{panel.judged} of {panel.expected} chunks judged, {panel.discarded} discarded",
        )
        for panel in panels
        if panel.complete is False
    )


def _violation(rule: str, judgment: Judgment, message: str, *, unusual: bool = False) -> Violation:
    return Violation(
        rule=rule,
        task=judgment.task,
        record=judgment.record,
        place=judgment.place,
        message=message,
        unusual=unusual,
    )


def selected(judgments: Sequence[Judgment], without: Sequence[str], *, production: bool) -> tuple[Judgment, ...]:
    """Return the judgments of one task that count: none by those in `without`.

    The calibration set is what several people were asked to judge, to see how far they agree. Where some are marked as
    belonging to it, others only count with `production`.
    """
    calibrated = not production and any(judgment.calibration for judgment in judgments)
    return tuple(
        judgment
        for judgment in judgments
        if (judgment.calibration or not calibrated) and judgment.annotator not in without
    )


def check_names(annotators: Collection[str], without: Sequence[str]) -> None:
    """Refuse an annotator to leave out who is not there: a misspelled name would leave out nobody."""
    unknown = next((name for name in without if name not in annotators), None)
    if unknown is not None:
        raise UsageError(
            f"--exclude-annotator: no row is by {quoted(unknown)}",
            hint=f"Annotators here are {cut(', '.join(sorted(annotators)), limit=400) or 'not named'}.",
        )


def compare(
    current: Joined, baseline: Joined, *, tolerance: float = TOLERANCE, sampling: Sampling = DEFAULT
) -> tuple[LabelDelta, ...]:
    """Compare two runs that were joined with the same labels, metric by metric, over the queries both have.

    A metric is `worse` when its paired mean is worse by more than the tolerance and, from `MIN_PAIRS` queries on, the
    whole bootstrap interval of the difference lies on the worse side of zero. `maybe worse` is beyond the tolerance
    with an interval that reaches zero, `slightly worse` the other way round. `vanished` means that the baseline has a
    value and no query can be paired.

    Args:
        tolerance: how much worse a mean may get, on the scale of the metric.
    """
    return tuple(_delta(name, current, baseline, tolerance, sampling) for name in current.values)


def _delta(name: str, current: Joined, baseline: Joined, tolerance: float, sampling: Sampling) -> LabelDelta:
    ours, theirs = current.values[name], baseline.values.get(name, {})
    differences = paired(ours, theirs)
    n = len(differences)
    if not n:
        had = any(value is not None for value in theirs.values())
        status: LabelStatus = "vanished" if had else "same"
        return LabelDelta(metric=name, baseline=None, current=None, delta=None, interval=None, n=0, status=status)
    interval = bootstrap_mean(tuple(differences.values()), sampling)
    delta = fsum(differences.values()) / n
    return LabelDelta(
        metric=name,
        baseline=fsum(theirs[query] or 0.0 for query in differences) / n,
        current=fsum(ours[query] or 0.0 for query in differences) / n,
        delta=delta,
        interval=interval,
        n=n,
        status=_status(name, delta, interval, n, tolerance),
    )


def _status(name: str, delta: float, interval: Interval | None, n: int, tolerance: float) -> LabelStatus:
    direction = LABEL_METRICS[name].direction
    worse = -oriented(direction, delta)
    # the ends of the interval, the one nearest to getting better first; one query has none but its own difference
    ends = (delta, delta) if interval is None else (interval.lower, interval.upper)
    least, most = sorted(-oriented(direction, end) for end in ends)
    if worse > tolerance + EPSILON:
        return "worse" if n < MIN_PAIRS or least > EPSILON else "maybe worse"
    if least > EPSILON:
        return "slightly worse"
    return "better" if most < -EPSILON else "same"
