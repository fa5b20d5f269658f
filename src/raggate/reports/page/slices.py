"""The slices of a review as a grid: a row for each slice, a column for each metric, in each cell the change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from raggate.models.scorecard import OVERALL
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.page.metrics import Tone, arrow, tone
from raggate.reports.parts import formatting
from raggate.scoring import figures

MOST = 60
"""Slices of a mode that are shown."""


class Cell(Struct, frozen=True, kw_only=True):
    """A metric of a slice: its change and value in words."""

    change: str
    arrow: str
    value: str
    words: str
    tone: Tone


class Slice(Struct, frozen=True, kw_only=True):
    """A slice: the number of its questions, and its cells, None where the metric does not apply."""

    name: str
    questions: int
    cells: tuple[Cell | None, ...]


class Grid(Struct, frozen=True, kw_only=True):
    """The slices of a mode; `left` of them are not shown."""

    mode: str
    metrics: tuple[str, ...]
    slices: tuple[Slice, ...]
    left: int


def grids(review: Review) -> list[Grid]:
    """Give a grid for each mode in which slices were compared: those that got worse first."""
    if formatting.undecided(review):
        return []
    modes: dict[str, dict[str, dict[str, GatedMetric]]] = defaultdict(lambda: defaultdict(dict))
    whole = {(row.delta.mode, row.delta.metric): row.delta.current.n for row in _of(review, overall=True)}
    for row in _of(review, overall=False):
        delta = row.delta
        # a slice of all questions says the same once more
        if delta.current.n != whole.get((delta.mode, delta.metric)) and (delta.current.n or delta.baseline.n):
            modes[delta.mode][delta.slice][delta.metric] = row
    order = list(dict.fromkeys(row.delta.metric for row in formatting.main_rows(review.verdict.rows)))
    return [_grid(mode, by_name, order) for mode, by_name in modes.items()]


def _of(review: Review, *, overall: bool) -> list[GatedMetric]:
    return [row for row in review.verdict.rows if row.gated and (row.delta.slice == OVERALL) == overall]


def _grid(mode: str, by_name: Mapping[str, Mapping[str, GatedMetric]], order: Sequence[str]) -> Grid:
    metrics = [metric for metric in order if any(metric in rows for rows in by_name.values())]
    names = sorted(by_name, key=lambda name: (-_lost(by_name[name].values()), name))
    return Grid(
        mode=mode,
        metrics=tuple(metrics),
        slices=tuple(_slice(name, by_name[name], metrics) for name in names[:MOST]),
        left=max(len(names) - MOST, 0),
    )


def _lost(rows: Iterable[GatedMetric]) -> float:
    """Add up by how much a slice got worse in what counts."""
    return sum(-min(row.delta.gain, 0.0) for row in rows if row.status in formatting.BAD)


def _slice(name: str, rows: Mapping[str, GatedMetric], metrics: Sequence[str]) -> Slice:
    questions = max((max(row.delta.current.n, row.delta.baseline.n) for row in rows.values()), default=0)
    return Slice(name=name, questions=questions, cells=tuple(_cell(rows.get(metric)) for metric in metrics))


def _cell(row: GatedMetric | None) -> Cell | None:
    if row is None:
        return None
    delta = row.delta
    before, now = (figures.side(delta, value) for value in (delta.baseline, delta.current))
    words = f"{delta.metric} of {delta.slice}: {before} → {now}, {formatting.status(row)}, {formatting.cases(delta)}"
    return Cell(change=figures.change(delta), arrow=arrow(delta), value=now, words=words, tone=tone(row))
