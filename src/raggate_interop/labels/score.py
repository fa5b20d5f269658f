"""Judgments -> one judgment per unit, scores with intervals, and stored labels applied to new result lists.

Several people may have judged the same unit. Per label the strict majority counts; on an exact tie, what the first row
says that agrees with all strict majorities, or else the first row. That row also gives everything that is not a label.
A named annotator has one vote: rows that repeat a unit are first made one by the same rule. Rows without a name are
votes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import fsum
from typing import Literal, TypeVar, cast

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.headings import fold
from raggate.base.numbers import percent
from raggate.base.quote import cut, quoted
from raggate.models.scorecard import EPSILON, MetricValue
from raggate.scoring.intervals import DEFAULT, Sampling, wilson
from raggate_interop.labels.agreement import bootstrap_mean
from raggate_interop.labels.metrics import LABEL_METRICS, ChunkLabels, answer_value, retrieval_values
from raggate_interop.labels.models import METRICS, Joined, Judgment, LabelScores, MetricScore, RetrievalJudgment

J = TypeVar("J", bound=Judgment)

Ideal = Literal["retrieved", "judged"]
"""What the ideal ranking of nDCG may choose from: the retrieved chunks, or everything judged for the query."""

UNJUDGED_LIMIT = 0.2
"""The share of unjudged chunks above which joined numbers carry a caveat."""

Lists = Mapping[str, Sequence[str] | None]
"""Per query (its text or its record id) the ids of the retrieved chunks, best first; None for a failed call."""


def annotators(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """Name the annotators, sorted."""
    return tuple(sorted({judgment.annotator for judgment in judgments if judgment.annotator is not None}))


def consolidate(judgments: Sequence[J]) -> tuple[J, ...]:
    """Make one judgment of all that are about the same unit, in the order in which units first appear."""
    return _unique_ranks(_majorities(judgments, lambda judgment: judgment.unit))


def _majorities(judgments: Sequence[J], key: Callable[[J], Hashable]) -> tuple[J, ...]:
    groups: dict[Hashable, list[J]] = {}
    for judgment in judgments:
        groups.setdefault(key(judgment), []).append(judgment)
    return tuple(_majority(_voters(rows)) for rows in groups.values())


def _voters(rows: Sequence[J]) -> list[J]:
    """Make one row of all that a named annotator gave, at the place of the first."""
    voters: dict[Hashable, list[J]] = {}
    for place, row in enumerate(rows):
        voters.setdefault(place if row.annotator is None else row.annotator, []).append(row)
    return [_majority(given) for given in voters.values()]


def _majority(rows: Sequence[J]) -> J:
    if len(rows) == 1:
        return rows[0]
    decided = {}
    for label in rows[0].labels:
        yes = sum(row.labels[label] for row in rows)
        if 2 * yes != len(rows):
            decided[label] = 2 * yes > len(rows)
    # a row that agrees with every majority speaks for the tied labels too; where none does, the first one
    chosen = next((row for row in rows if all(row.labels[label] == value for label, value in decided.items())), rows[0])
    return replace(chosen, labels={**chosen.labels, **decided}, annotator=None, votes=sum(row.votes for row in rows))


def _unique_ranks(judgments: tuple[J, ...]) -> tuple[J, ...]:
    seen: dict[tuple[str, int], RetrievalJudgment] = {}
    for judgment in judgments:
        if isinstance(judgment, RetrievalJudgment):
            other = seen.setdefault((judgment.record, judgment.rank), judgment)
            if other is not judgment:
                raise UsageError(
                    f"{judgment.place}: record {quoted(judgment.record)} has chunk "
                    f"{quoted(judgment.chunk_id)} at rank {judgment.rank}, where {cut(other.place)} has "
                    f"{quoted(other.chunk_id)}",
                    hint="Each rank has one chunk: correct chunk_rank, or remove one of the two.",
                )
    return judgments


def score(
    judgments: Sequence[Judgment],
    *,
    k: int | None = None,
    ideal: Ideal = "retrieved",
    sampling: Sampling = DEFAULT,
) -> LabelScores:
    """Consolidate the judgments of one task and compute its metrics.

    Args:
        judgments: of one task, at least one.
        k: for retrieval, the K of the taxonomy's formulas: chunks stand at their ranks, a rank nobody judged counts as
            irrelevant. None infers K: the judged chunks of each query, closed up, however many these are.
        ideal: what nDCG's ideal ranking may choose from.
    """
    units = consolidate(judgments)
    if not units:
        raise UsageError("no judgments to score", hint="Are all rows discarded?")
    task = units[0].task
    depth, unjudged = None, 0
    if task == "retrieval":
        rows = cast("tuple[RetrievalJudgment, ...]", units)
        per_record, unjudged = _retrieval(rows, k, ideal)
        depth = k or max(row.rank for row in rows)
    else:
        per_record = {unit.record: {name: answer_value(name, unit.labels) for name in METRICS[task]} for unit in units}
    values = {name: {record: by_metric[name] for record, by_metric in per_record.items()} for name in METRICS[task]}
    return LabelScores(
        task=task,
        n_examples=len(per_record),
        level=sampling.level,
        metrics={name: _estimate(name, tuple(by_metric.values()), sampling) for name, by_metric in values.items()},
        values=values,
        k=k if task == "retrieval" else None,
        top_k=depth,
        unjudged=unjudged,
    )


def _estimate(metric: str, values: Sequence[float | None], sampling: Sampling) -> MetricScore | None:
    """Return the mean of a metric over the queries it applies to, with its interval; None when it applies to none.

    Metrics that are 0 or 1 per query have Wilson's interval, the others a percentile bootstrap over queries.
    """
    applicable = [value for value in values if value is not None]
    if not applicable:
        return None
    n = len(applicable)
    if LABEL_METRICS[metric].binary:
        total = int(sum(applicable))
        return MetricScore(point=total / n, interval=wilson(total, n, level=sampling.level), method="wilson", n=n)
    interval = bootstrap_mean(applicable, sampling)
    return MetricScore(point=fsum(applicable) / n, interval=interval, method="bootstrap", n=n)


def _retrieval(
    rows: Sequence[RetrievalJudgment], k: int | None, ideal: Ideal
) -> tuple[dict[str, dict[str, float | None]], int]:
    """Return the metrics per record, and how many of the ranks up to k nobody judged."""
    records: dict[str, list[RetrievalJudgment]] = {}
    for row in rows:
        records.setdefault(row.record, []).append(row)
    values, unjudged = {}, 0
    for record, members in records.items():
        ranked: list[ChunkLabels | None] = [row.labels for row in sorted(members, key=lambda row: row.rank)]
        if k is not None:
            at = {row.rank: row.labels for row in members}
            ranked = [at.get(rank) for rank in range(1, k + 1)]
            retrieved = max((row.retrieved or 0 for row in members), default=0) or max(at)
            unjudged += sum(labels is None for labels in ranked[:retrieved])
        best = [row.labels for row in members] if ideal == "judged" else None
        values[record] = retrieval_values(ranked, k, ideal=best)
    return values, unjudged


def join(judgments: Sequence[RetrievalJudgment], lists: Lists, k: int, *, limit: float = UNJUDGED_LIMIT) -> Joined:
    """Score new result lists with stored labels, by query and chunk id.

    A query of `lists` is found by its record id, or else by its text after NFC and white-space folding, where records
    with the same text count together. A chunk that a list holds twice keeps its first place. Chunks that nobody judged
    count as irrelevant. The ideal ranking of nDCG is over all judged chunks, so that a relevant one that is gone costs
    something. A failed call is a miss: 0 for every metric but the misleading rate, which nobody can know.

    Args:
        limit: the share of unjudged chunks above which the result carries a caveat.
    """
    by_record, labelled = _labelled(judgments, lists)
    ranked = {key: [chunks.get(chunk) for chunk in dict.fromkeys(lists[key] or ())] for key, chunks in labelled.items()}
    missing = {key: sum(labels is None for labels in chunks[:k]) for key, chunks in ranked.items()}
    total = sum(len(chunks[:k]) for chunks in ranked.values())
    rows = {
        key: _joined_values(None if lists[key] is None else ranked[key], k, list(chunks.values()))
        for key, chunks in labelled.items()
    }
    values = {name: {key: row[name] for key, row in rows.items()} for name in METRICS["retrieval"]}
    reached = {row.record for chunks in labelled.values() for row in chunks.rows}
    return Joined(
        k=k,
        values=values,
        means={name: _mean(name, tuple(by_query.values())) for name, by_query in values.items()},
        unjudged={key: missing[key] / len(chunks[:k]) for key, chunks in ranked.items() if chunks},
        unjudged_share=sum(missing.values()) / total if total else None,
        unlabelled=tuple(key for key in lists if key not in labelled),
        absent=tuple(record for record in by_record if record not in reached),
        failed=tuple(key for key in labelled if lists[key] is None),
        caveat=_caveat(sum(missing.values()), total, k, limit),
    )


class _Labels(dict[str, ChunkLabels]):
    """The labels of one query by chunk id, and the judgments they come from."""

    rows: tuple[RetrievalJudgment, ...] = ()


def _group_labels(
    judgments: Sequence[RetrievalJudgment], key: Callable[[RetrievalJudgment], str]
) -> dict[str, _Labels]:
    groups: dict[str, list[RetrievalJudgment]] = {}
    for judgment in judgments:
        groups.setdefault(key(judgment), []).append(judgment)
    by_key = {}
    for name, rows in groups.items():
        chunks = _Labels((row.chunk_id, row.labels) for row in _majorities(rows, lambda row: row.chunk_id))
        chunks.rows = tuple(rows)
        by_key[name] = chunks
    return by_key


def _labelled(judgments: Sequence[RetrievalJudgment], lists: Lists) -> tuple[dict[str, _Labels], dict[str, _Labels]]:
    """Return what is known per record, and per query of the lists that has labels."""
    by_record, by_text = (
        _group_labels(judgments, lambda row: row.record),
        _group_labels(judgments, lambda row: fold(row.query)),
    )
    labelled = {
        key: by_record.get(key) or by_text[fold(key)] for key in lists if key in by_record or fold(key) in by_text
    }
    seen: dict[str, str] = {}
    for key, chunks in labelled.items():
        for record in {row.record for row in chunks.rows}:
            other = seen.setdefault(record, key)
            if other != key:
                raise UsageError(
                    f"{quoted(other)} and {quoted(key)} have the same query in the labels (record {quoted(record)})",
                    hint="Name the queries by their record_uuid, or ask each question once.",
                )
    return by_record, labelled


def _joined_values(
    ranked: Sequence[ChunkLabels | None] | None, k: int, judged: Sequence[ChunkLabels]
) -> dict[str, float | None]:
    values = retrieval_values(ranked or (), k, ideal=judged)
    return values if ranked is not None else {**values, "misleading_context_rate_at_k": None}


def _mean(metric: str, values: Sequence[float | None]) -> MetricValue:
    applicable = [value for value in values if value is not None]
    return MetricValue(
        value=fsum(applicable) / len(applicable) if applicable else None,
        n=len(applicable),
        unscored=len(values) - len(applicable),
        direction=LABEL_METRICS[metric].direction,
    )


def _caveat(missing: int, total: int, k: int, limit: float) -> str:
    if not total or missing / total <= limit + EPSILON:
        return ""
    return (
        f"{missing} of the {total} chunks in the first {k} ({percent(missing / total)}, limit {percent(limit)}) have "
        f"no label and count as irrelevant: judge more of them before you trust these numbers."
    )
