"""The history of a baseline -> a table for a terminal or as Markdown, and what the plot draws. Newest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

from raggate.models.history import History, Revision
from raggate.models.scorecard import EPSILON, OVERALL, Direction, MetricValue, improvement
from raggate.reports.parts import formatting, markup
from raggate.reports.plot import MAX_SERIES, Moment, Plot, Series
from raggate.text.escape import log_line, plain

Mark = Literal["▲", "▼"]
BETTER: Mark = "▲"
WORSE: Mark = "▼"
OTHER = "*"
NARROWEST = 60
_GAP = "  "
_WIDEST_HEAD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
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
    """Give a column for every wanted metric that any version has a value of, mode by mode, in the registry's order."""
    found: dict[tuple[str, str], Direction] = {}
    modes: dict[str, dict[str, Direction]] = {}
    for one in history.revisions:
        for mode, slices in one.baseline.scorecard.slices.items() if one.baseline else ():
            for metric, value in slices.get(OVERALL, {}).items():
                modes.setdefault(mode, {})
                if value.n and wanted(metric):
                    modes[mode].setdefault(metric, value.direction)
    for mode, metrics in modes.items():
        found |= {(mode, metric): direction for metric, direction in metrics.items()}
    several = len(modes) > 1
    return tuple(
        Column(mode=mode, metric=metric, direction=direction, several=several)
        for (mode, metric), direction in found.items()
    )


def value_of(one: Revision, column: Column) -> MetricValue | None:
    """Give a version's value of a column, None where it has none."""
    if one.baseline is None:
        return None
    value = one.baseline.scorecard.slices.get(column.mode, {}).get(OVERALL, {}).get(column.metric)
    return value if value is not None and value.value is not None and value.n else None


def cases_of(one: Revision) -> int | None:
    """Count the cases of a version, in the mode that has most; None where it cannot be read."""
    if one.baseline is None:
        return None
    return max((counts.get(OVERALL, 0) for counts in one.baseline.scorecard.counts.values()), default=0)


def marks(history: History, column: Column) -> dict[str, Mark]:
    """Say by commit where a value got better or worse than in the version before that has one."""
    result: dict[str, Mark] = {}
    valued = [(one.commit, value.value) for one in history.revisions if (value := value_of(one, column)) is not None]
    for (commit, now), (_, before) in pairwise(valued):
        change = improvement(column.direction, before or 0.0, now or 0.0)
        if abs(change) > EPSILON:
            result[commit] = BETTER if change > 0 else WORSE
    return result


def other_questions(history: History) -> set[str]:
    """Give the commits from which on another golden set was asked than before."""
    readable = [one for one in history.revisions if one.baseline is not None]
    return {now.commit for now, before in pairwise(readable) if _other(now, before)}


def render_text(history: History, shown: Sequence[Column], *, width: int) -> str:
    """Set the history as plain text of at most `width` columns; metrics that have no room follow in further tables."""
    changed = other_questions(history)
    fixed = [_column(["date", *(_date(one) for one in history.revisions)], left=True)]
    fixed.append(_column(["commit", *(one.commit[:8] for one in history.revisions)], left=True))
    first = [
        _column(["run", *(_run(one) for one in history.revisions)], left=True),
        _column(["cases", *(_cases(one, changed) for one in history.revisions)]),
    ]
    # at least one metric a table, however narrow the terminal
    blocks: list[list[_Cells]] = [[*fixed, *first]]
    for column in shown:
        cells = _metric_cells(history, column)
        if len(blocks[-1]) > len(fixed) and _width([*blocks[-1], cells]) > max(width, NARROWEST):
            blocks.append(list(fixed))
        blocks[-1].append(cells)
    problems = [f"{one.commit[:8]}  {log_line(one.problem)}" for one in history.revisions if one.baseline is None]
    parts = ["\n".join(_lines(block)) for block in blocks]
    parts.append("\n".join([*_legend(history, changed), *(f"unreadable  {line}" for line in problems)]))
    return "\n\n".join(part for part in parts if part) + "\n"


def render_markdown(history: History, shown: Sequence[Column]) -> str:
    """Set the history as one GitHub-flavoured table."""
    changed = other_questions(history)
    marked = {column: marks(history, column) for column in shown}
    head = ["date", "commit", "run", "cases", *(markup.said(column.name) for column in shown)]
    rows = []
    for one in history.revisions:
        row = [_date(one), f"`{one.commit[:8]}`"]
        if one.baseline is None:
            rows.append([*row, f"unreadable: {markup.said(one.problem)}", *("–" for _ in head[3:])])
            continue
        row += [markup.said(one.baseline.scorecard.run_id), _cases(one, changed).strip().replace(OTHER, "\\*")]
        rows.append([*row, *(_cell(one, column, marked[column]).strip() for column in shown)])
    legend = "  \n".join(line.replace(OTHER, "\\*") for line in _legend(history, changed))
    numbers = ("cases", *head[4:])
    return markup.table(head, rows, numbers=numbers) + (f"\n\n{legend}" if legend else "") + "\n"


def plots_of(history: History, shown: Sequence[Column], title: str) -> list[Plot]:
    """Give the plots of all columns: shares apart from other numbers, whose axis is another, and so many each at most.

    Args:
        history: the history.
        shown: the columns.
        title: of every plot; those after the first say which they are.
    """
    alike: dict[bool, list[Column]] = {True: [], False: []}
    for column in shown:
        values = [value for one in history.revisions if (value := _value(one, column)) is not None]
        # without any value there is nothing to draw, and no place for it
        if values:
            alike[all(0 <= value <= 1 for value in values)].append(column)
    parts = [
        found[start : start + MAX_SERIES] for found in alike.values() for start in range(0, len(found), MAX_SERIES)
    ]
    if len(parts) < 2:
        return [plot_of(history, shown, title)]
    return [plot_of(history, part, f"{title}, {number} of {len(parts)}") for number, part in enumerate(parts, 1)]


def plot_of(history: History, shown: Sequence[Column], title: str) -> Plot:
    """Give what the plot draws: the versions from old to new, and a line for every column."""
    changed = other_questions(history)
    ordered = history.revisions[::-1]
    return Plot(
        title=title,
        moments=tuple(
            Moment(
                at=float(one.at or 0),
                stamp=one.stamp,
                note=_note(one, changed),
                broken=one.baseline is None,
                changed=one.commit in changed,
            )
            for one in ordered
        ),
        series=tuple(
            Series(name=column.name, direction=column.direction, values=tuple(_value(one, column) for one in ordered))
            for column in shown
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
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
        rows=tuple(_cell(one, column, marked) for one in history.revisions),
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


def _cell(one: Revision, column: Column, marked: dict[str, Mark]) -> str:
    value = value_of(one, column)
    if value is None:
        return "– "
    return f"{formatting.figure(value, binary=False)}{marked.get(one.commit) or ' '}"


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


def _legend(history: History, changed: Collection[str]) -> list[str]:
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


def _date(one: Revision) -> str:
    return one.stamp[:10] or "unknown"


def _run(one: Revision) -> str:
    if one.baseline is None:
        return "unreadable"
    return log_line(one.baseline.scorecard.run_id, limit=40) or "–"


def _cases(one: Revision, changed: Collection[str]) -> str:
    count = cases_of(one)
    return "– " if count is None else f"{count}{OTHER if one.commit in changed else ' '}"


def _value(one: Revision, column: Column) -> float | None:
    value = value_of(one, column)
    return None if value is None else value.value


def _other(now: Revision, before: Revision) -> bool:
    early = any(one.baseline is not None and one.baseline.early for one in (now, before))
    if early and now.questions_hash and before.questions_hash:
        # an early file hashed less of each case, so that the hashes of the whole sets tell nothing
        return now.questions_hash != before.questions_hash
    return _golden(now) != _golden(before)


def _golden(one: Revision) -> object:
    # a metrics file of another tool does not say what was asked; then only the number of cases tells
    return one.baseline and (one.baseline.scorecard.fingerprint.get("golden") or cases_of(one))


def _note(one: Revision, changed: Collection[str]) -> str:
    what = f"cannot be read: {one.problem}" if one.baseline is None else f"run {one.baseline.scorecard.run_id}"
    asked = "other questions than before" if one.commit in changed else ""
    return " · ".join(part for part in (one.commit[:8], what, asked) if part)
