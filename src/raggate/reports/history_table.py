"""The history of a baseline -> a table for a terminal, newest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from raggate.base.quote import cut
from raggate.models.history import History, Revision
from raggate.models.scorecard import EPSILON, OVERALL, Direction, MetricValue, improvement
from raggate.reports.terminal import Screen
from raggate.scoring import figures

Mark = Literal["▲", "▼"]
BETTER: Mark = "▲"
WORSE: Mark = "▼"
OTHER = "*"
NARROWEST = 60
_HEAD = ("date", "commit", "run", "cases")
_RUN = 20  # characters of a run's id
_FIXED, _METRIC = 46, 12  # columns of a screen that a version takes, and a metric


class Column(Struct, frozen=True, kw_only=True):
    """A metric over all cases of one mode. `several` says that the history has other modes too."""

    mode: str
    metric: str
    direction: Direction
    several: bool = False

    @property
    def name(self) -> str:
        """What people call the metric, with its mode where there are several."""
        return figures.title(self.metric) + (f" ({self.mode})" if self.several else "")


def columns(history: History, wanted: Callable[[str], bool]) -> tuple[Column, ...]:
    """A column for every wanted metric that any version has a value of, mode by mode, in the registry's order."""
    modes: dict[str, dict[str, Direction]] = {}
    for baseline in (revision.baseline for revision in history.revisions if revision.baseline is not None):
        for mode, slices in baseline.scorecard.slices.items():
            own = {metric: value.direction for metric, value in slices.get(OVERALL, {}).items() if value.n}
            known = modes.setdefault(mode, {})
            modes[mode] = known | {metric: own[metric] for metric in own if wanted(metric) and metric not in known}
    return tuple(
        Column(mode=mode, metric=metric, direction=direction, several=len(modes) > 1)
        for mode, directions in modes.items()
        for metric, direction in directions.items()
    )


def value_of(revision: Revision, column: Column) -> MetricValue | None:
    """Return a version's value of a column, None where it has none."""
    slices = revision.baseline.scorecard.slices if revision.baseline is not None else {}
    value = slices.get(column.mode, {}).get(OVERALL, {}).get(column.metric)
    return value if value is not None and value.value is not None and value.n else None


def cases_of(revision: Revision) -> int | None:
    """Count the cases of a version, in the mode that has most; None where it cannot be read."""
    if revision.baseline is None:
        return None
    return max((counts.get(OVERALL, 0) for counts in revision.baseline.scorecard.counts.values()), default=0)


def marks(history: History, column: Column) -> dict[str, Mark]:
    """List, by commit, where a value got better or worse than in the last version that has it."""
    values = [(revision.commit, value_of(revision, column)) for revision in history.revisions]
    known = [(commit, value.value or 0.0) for commit, value in values if value is not None]
    changes = {commit: improvement(column.direction, before, now) for (commit, now), (_, before) in pairwise(known)}
    return {commit: BETTER if change > 0 else WORSE for commit, change in changes.items() if abs(change) > EPSILON}


def other_questions(history: History) -> set[str]:
    """Return the commits from which on another golden set was asked than before."""
    readable = [revision for revision in history.revisions if revision.baseline is not None]
    return {now.commit for now, before in pairwise(readable) if _golden(now) != _golden(before)}


def render_text(history: History, shown: Sequence[Column], *, width: int) -> str:
    """Set the history as tables for `width` columns: as many metrics in each as have room, at least one."""
    changed = other_questions(history)
    screen = Screen(width=max(width, NARROWEST), color=False, wrap=False)
    room = max((screen.width - _FIXED) // _METRIC, 1)
    for start in range(0, max(len(shown), 1), room):
        group = {column: marks(history, column) for column in shown[start : start + room]}
        head = (*_HEAD, *(column.name for column in group))
        rows = [([*_row(revision, changed, group)], None) for revision in history.revisions]
        screen.table(head, rows, names=_HEAD[:3], words=head[len(_HEAD) :])
        screen.line()
    for text in _legend(history, changed):
        screen.line(text)
    for revision in history.revisions:
        if revision.baseline is None:
            screen.line(f"unreadable {revision.commit[:8]} {revision.problem}")
    return f"{screen.text().rstrip()}\n"


def _row(revision: Revision, changed: Collection[str], marked: dict[Column, dict[str, Mark]]) -> Iterator[str]:
    """Yield the cells of a version: date, commit, run and cases, then the value of each column with its mark."""
    run = "unreadable" if revision.baseline is None else revision.baseline.scorecard.run_id or "–"
    count = cases_of(revision)
    yield from (revision.stamp[:10] or "unknown", revision.commit[:8], cut(run, limit=_RUN))
    yield "–" if count is None else f"{count}{OTHER if revision.commit in changed else ''}"
    for column, marks in marked.items():
        value = value_of(revision, column)
        yield "–" if value is None else f"{figures.value(column.metric, value)}{marks.get(revision.commit, '')}"


def _legend(history: History, changed: Collection[str]) -> list[str]:
    lines = {
        f"{BETTER} better, {WORSE} worse than in the version before.": len(history.revisions) > 1,
        f"{OTHER} Another golden set than in the version before: the two were not asked the same.": changed,
        "There are older versions: --limit shows more.": history.more,
        "The clone is shallow: older versions are not in it.": history.shallow,
    }
    return [text for text, holds in lines.items() if holds]


def _golden(revision: Revision) -> object:
    # a metrics file of another tool does not say what was asked; then only the number of cases tells
    return revision.baseline and (revision.baseline.scorecard.fingerprint.get("golden") or cases_of(revision))
