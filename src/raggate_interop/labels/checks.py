"""Judgments as annotators gave them -> what contradicts itself, what is doubled, and what is not judged yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from raggate.labels.models import Discarded, Judgment, Panel, RetrievalJudgment, Task, Violation
from raggate.text.anchors import fold
from raggate.text.quote import cut, quoted


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

REPEATED = "annotator_repeated"
SHARED_RANK = "rank_shared"
OTHER_QUERY = "query_differs"
INCOMPLETE = "panel_incomplete"


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
    """Say for each record of the retrieval task how many of its chunks are judged, in order of first appearance.

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
