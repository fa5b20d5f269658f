"""The history of a baseline -> a table for a terminal or as Markdown. Newest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, pairwise
from typing import Literal

from msgspec import Struct

from raggate.models.history import History, Revision
from raggate.models.scorecard import EPSILON, OVERALL, Direction, MetricValue, improvement
from raggate.scoring import figures
from raggate.text.escape import log_line, plain

Mark = Literal["▲", "▼"]
BETTER: Mark = "▲"
WORSE: Mark = "▼"
OTHER = "*"
NARROWEST = 60
_GAP = "  "
_WIDEST_HEAD = 12


class Column(Struct, frozen=True, kw_only=True):
    """A metric over all cases of one mode. `several` says that the history has other modes too."""

    mode: str
    metric: str
    direction: Direction
    several: bool = False

    @property
    def name(self) -> str:
        """The metric, with its mode where there are several."""
        return f"{self.metric} ({self.mode})" if self.several else self.metric


def columns(history: History, wanted: Callable[[str], bool]) -> tuple[Column, ...]:
    """A column for every wanted metric that any version has a value of, mode by mode, in the registry's order."""
    modes: dict[str, dict[str, Direction]] = {}
    for revision in history.revisions:
        for mode, slices in revision.baseline.scorecard.slices.items() if revision.baseline else ():
            for metric, value in slices.get(OVERALL, {}).items():
                modes.setdefault(mode, {})
                if value.n and wanted(metric):
                    modes[mode].setdefault(metric, value.direction)
    return tuple(
        Column(mode=mode, metric=metric, direction=direction, several=len(modes) > 1)
        for mode, directions in modes.items()
        for metric, direction in directions.items()
    )


def value_of(revision: Revision, column: Column) -> MetricValue | None:
    """Return a version's value of a column, None where it has none."""
    if revision.baseline is None:
        return None
    value = revision.baseline.scorecard.slices.get(column.mode, {}).get(OVERALL, {}).get(column.metric)
    return value if value is not None and value.value is not None and value.n else None


def cases_of(revision: Revision) -> int | None:
    """Count the cases of a version, in the mode that has most; None where it cannot be read."""
    if revision.baseline is None:
        return None
    return max((counts.get(OVERALL, 0) for counts in revision.baseline.scorecard.counts.values()), default=0)


def marks(history: History, column: Column) -> dict[str, Mark]:
    """Say by commit where a value got better or worse than in the version before that has one."""
    result: dict[str, Mark] = {}
    valued = [
        (revision.commit, value.value)
        for revision in history.revisions
        if (value := value_of(revision, column)) is not None
    ]
    for (commit, now), (_, before) in pairwise(valued):
        change = improvement(column.direction, before or 0.0, now or 0.0)
        if abs(change) > EPSILON:
            result[commit] = BETTER if change > 0 else WORSE
    return result


def other_questions(history: History) -> set[str]:
    """Return the commits from which on another golden set was asked than before."""
    readable = [revision for revision in history.revisions if revision.baseline is not None]
    return {now.commit for now, before in pairwise(readable) if _other(now, before)}


def render_text(history: History, shown: Sequence[Column], *, width: int) -> str:
    """Set the history as plain text of at most `width` columns; metrics that have no room follow in further tables."""
    changed = other_questions(history)
    fixed = [_column(["date", *(_date(revision) for revision in history.revisions)], left=True)]
    fixed.append(_column(["commit", *(revision.commit[:8] for revision in history.revisions)], left=True))
    first = [
        _column(["run", *(_run(revision) for revision in history.revisions)], left=True),
        _column(["cases", *(_cases(revision, changed) for revision in history.revisions)]),
    ]
    # at least one metric a table, however narrow the terminal
    blocks: list[list[_Cells]] = [[*fixed, *first]]
    for column in shown:
        cells = _metric_cells(history, column)
        if len(blocks[-1]) > len(fixed) and _width([*blocks[-1], cells]) > max(width, NARROWEST):
            blocks.append(list(fixed))
        blocks[-1].append(cells)
    problems = [
        f"{revision.commit[:8]}  {log_line(revision.problem)}"
        for revision in history.revisions
        if revision.baseline is None
    ]
    parts = ["\n".join(_lines(block)) for block in blocks]
    parts.append("\n".join([*legend(history, changed), *(f"unreadable  {line}" for line in problems)]))
    return "\n\n".join(part for part in parts if part) + "\n"


class _Cells(Struct, frozen=True, kw_only=True):
    head: tuple[str, ...]
    rows: tuple[str, ...]
    left: bool

    @property
    def width(self) -> int:
        return max(map(len, chain(self.head, self.rows)))


def _column(texts: Sequence[str], *, left: bool = False) -> _Cells:
    return _Cells(head=(texts[0],), rows=tuple(texts[1:]), left=left)


def _metric_cells(history: History, column: Column) -> _Cells:
    marked = marks(history, column)
    words = [
        *_folded(plain(column.metric, limit=80)),
        *([f"({plain(column.mode, limit=30)})"] if column.several else []),
    ]
    # the mark's place stays free where nothing changed, so that figures stand below each other
    return _Cells(
        head=tuple(f"{word} " for word in words),
        rows=tuple(_cell(revision, column, marked) for revision in history.revisions),
        left=False,
    )


def _folded(name: str) -> list[str]:
    """Break a name at its underscores into lines that are not much wider than the figures below."""
    lines = [""]
    for word in name.split("_"):
        joined = f"{lines[-1]}_{word}" if lines[-1] else word
        if lines[-1] and len(joined) > _WIDEST_HEAD - 1:
            lines[-1] += "_"
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _cell(revision: Revision, column: Column, marked: dict[str, Mark]) -> str:
    value = value_of(revision, column)
    if value is None:
        return "– "
    return f"{figures.value(column.metric, value)}{marked.get(revision.commit) or ' '}"


def _width(block: Collection[_Cells]) -> int:
    return sum(cells.width for cells in block) + len(_GAP) * (len(block) - 1)


def _lines(block: Sequence[_Cells]) -> Iterator[str]:
    depth = max(len(cells.head) for cells in block)
    # heads stand on the line above the figures, whatever their height
    columns = [[*[""] * (depth - len(cells.head)), *cells.head, *cells.rows] for cells in block]
    for row in zip(*columns, strict=True):
        aligned = (
            f"{text:<{cells.width}}" if cells.left else f"{text:>{cells.width}}"
            for text, cells in zip(row, block, strict=True)
        )
        yield _GAP.join(aligned).rstrip()


def legend(history: History, changed: Collection[str]) -> list[str]:
    """Say what the signs mean, and which versions are not shown."""
    lines = []
    if len(history.revisions) > 1:
        lines.append(f"{BETTER} better, {WORSE} worse than in the version before.")
    if changed:
        lines.append(f"{OTHER} Another golden set than in the version before: the two were not asked the same.")
    if history.more:
        lines.append("There are older versions; --limit shows more.")
    if history.shallow:
        lines.append("The clone is shallow: older versions are not in it, and the oldest one shown may be older still.")
    return lines


def _date(revision: Revision) -> str:
    return revision.stamp[:10] or "unknown"


def _run(revision: Revision) -> str:
    if revision.baseline is None:
        return "unreadable"
    return log_line(revision.baseline.scorecard.run_id, limit=40) or "–"


def _cases(revision: Revision, changed: Collection[str]) -> str:
    count = cases_of(revision)
    return "– " if count is None else f"{count}{OTHER if revision.commit in changed else ' '}"


def _other(now: Revision, before: Revision) -> bool:
    return _golden(now) != _golden(before)


def _golden(revision: Revision) -> object:
    # a metrics file of another tool does not say what was asked; then only the number of cases tells
    return revision.baseline and (revision.baseline.scorecard.fingerprint.get("golden") or cases_of(revision))
