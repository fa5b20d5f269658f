"""The nouns of label-based scoring: what annotators said of chunks and answers, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from raggate.models.judging import Task
from raggate.models.scorecard import MetricValue
from raggate.scoring.intervals import Interval

TASKS: tuple[Task, ...] = get_args(Task)

METRICS: dict[Task, tuple[str, ...]] = {
    "retrieval": (
        "topical_precision_at_k",
        "sufficiency_hit_at_k",
        "sufficiency_rate_at_k",
        "misleading_context_rate_at_k",
        "mean_reciprocal_rank_at_k",
        "ndcg_at_k",
    ),
    "grounding": (
        "grounding_presence_rate",
        "unsupported_claim_rate",
        "contradiction_rate",
        "citation_presence_rate",
        "conditional_fabrication_rate",
    ),
    "generation": (
        "proper_action_rate",
        "on_topic_rate",
        "helpfulness_rate",
        "incompleteness_rate",
        "unsafe_content_rate",
    ),
}
"""The metrics of each task, by the names of the score reports; `raggate_interop.labels.metrics` defines them."""

LabelStatus = Literal["worse", "maybe worse", "slightly worse", "better", "same", "vanished"]


class Judgment(Struct, frozen=True, kw_only=True):
    """One person's (or judge's) answers to all questions of a task about one unit.

    `annotator` is None when the file does not say, or when several were consolidated; `votes` tells of how many rows.
    `calibration` marks the set that several people judge, to see how far they agree. `place` is `file:line`.
    """

    task: Task
    record: str
    labels: Mapping[str, bool]
    annotator: str | None = None
    place: str = ""
    calibration: bool = False
    votes: int = 1

    @property
    def unit(self) -> tuple[str, ...]:
        """What was judged, as a key: judgments of the same unit are votes on the same question."""
        return (self.record,)


class RetrievalJudgment(Judgment, frozen=True, kw_only=True):
    """A judgment of one retrieved chunk for a query.

    `rank` counts from 1. `retrieved` is how many chunks the query got, None when the file does not say.
    """

    task: Task = "retrieval"
    query: str
    chunk: str
    chunk_id: str
    rank: int
    retrieved: int | None = None

    @property
    def unit(self) -> tuple[str, ...]:
        """The record and the chunk."""
        return (self.record, self.chunk_id)


class Discarded(Struct, frozen=True, kw_only=True):
    """A row that its annotator discarded: it has no labels. `chunk_id` and `retrieved` only for retrieval."""

    record: str
    place: str
    chunk_id: str | None = None
    retrieved: int | None = None


class Sheet(Struct, frozen=True, kw_only=True):
    """One annotation file: the task it is about, its judgments in file order, and what was discarded."""

    name: str
    task: Task
    judgments: tuple[Judgment, ...]
    discarded: tuple[Discarded, ...] = ()


class MetricScore(Struct, frozen=True, kw_only=True):
    """A metric over all queries it applies to: the estimate in [0, 1], its interval, and how many queries these are.

    One query has no interval by the bootstrap.
    """

    point: float
    interval: Interval | None
    method: Literal["wilson", "bootstrap"]
    n: int


class LabelScores(Struct, frozen=True, kw_only=True):
    """All metrics of one task.

    Attributes:
        k: the fixed cut-off; None when each query's K was inferred from its judged chunks, or the task has none.
        top_k: `k`, or the deepest judged rank; None for tasks without ranks.
        metrics: None where a metric applies to no query.
        values: `values[metric][record]`, None where it does not apply.
        unjudged: with a fixed `k`, how many of the ranks up to K have no judgment and count as irrelevant.
    """

    task: Task
    n_examples: int
    level: float
    metrics: Mapping[str, MetricScore | None]
    values: Mapping[str, Mapping[str, float | None]]
    k: int | None = None
    top_k: int | None = None
    unjudged: int = 0


class Violation(Struct, frozen=True, kw_only=True):
    """Labels of one judgment that contradict each other, or rows that cannot both be right.

    `rule` is a stable id, `message` says what was found; `unusual` marks a combination that may be meant.
    """

    rule: str
    task: Task
    record: str
    place: str
    message: str
    unusual: bool = False


class Panel(Struct, frozen=True, kw_only=True):
    """How far the chunks of one query are judged.

    `expected` is how many were retrieved, None when no row says so; `discarded` counts chunks that nobody judged but
    somebody discarded. `complete` is None when `expected` is.
    """

    record: str
    expected: int | None
    judged: int
    discarded: int
    complete: bool | None


class Joined(Struct, frozen=True, kw_only=True):
    """Stored labels applied to new result lists, per query key as the lists name it.

    Attributes:
        values: `values[metric][query]`, None where the metric does not apply.
        unjudged: per query, the share of its first K chunks without a label; `unjudged_share` over all of them.
        unlabelled: queries of the lists that nobody judged; they are not scored.
        absent: labelled queries that the lists do not have.
        failed: labelled queries whose call failed: misses, whose misleading rate is unknown.
        caveat: a sentence when too much is unjudged to rely on the numbers; empty otherwise.
    """

    k: int
    values: Mapping[str, Mapping[str, float | None]]
    means: Mapping[str, MetricValue]
    unjudged: Mapping[str, float]
    unjudged_share: float | None
    unlabelled: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    caveat: str = ""


class LabelDelta(Struct, frozen=True, kw_only=True):
    """One metric on two sides over the same `n` queries. `delta` is current minus baseline; None without a pair."""

    metric: str
    baseline: float | None
    current: float | None
    delta: float | None
    interval: Interval | None
    n: int
    status: LabelStatus


class LabelAgreement(Struct, frozen=True, kw_only=True):
    """How much annotators agree on one label. None where there is nothing to compare, or nothing varies.

    `items` counts the units with at least two judgments.
    """

    label: str
    alpha: float | None
    interval: Interval | None
    percent: float | None
    items: int
    annotators: int


class PairAgreement(Struct, frozen=True, kw_only=True):
    """Two annotators: Cohen's kappa per label over the units both judged, and the mean of those that are defined."""

    first: str
    second: str
    shared: int
    kappas: Mapping[str, float | None]
    mean: float | None


class TaskAgreement(Struct, frozen=True, kw_only=True):
    """How far the annotators of one task agree, by label and by pair."""

    task: Task
    labels: tuple[LabelAgreement, ...]
    pairs: tuple[PairAgreement, ...]
