"""The history of a baseline as a page: its metrics over time, its versions with who accepted them and why, and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from raggate.models.history import History, Revision
from raggate.models.trend import TrendPoint
from raggate.reports import badge, history_table
from raggate.reports.history_table import BETTER, Column, Mark
from raggate.reports.page import frame, trends
from raggate.scoring import figures
from raggate.text.numbers import counted

_TONES: dict[Mark | None, str] = {None: "", BETTER: "good", history_table.WORSE: "bad"}


class Cell(Struct, frozen=True, kw_only=True):
    """A value in a table, with the sign and the colour of how it moved since the version before."""

    text: str
    mark: Mark | None = None

    @property
    def tone(self) -> str:
        """The class of its colour."""
        return _TONES[self.mark]


class Row(Struct, frozen=True, kw_only=True):
    """A version of the baseline or a stored run.

    Attributes:
        date: when, to the day; of a run to the minute.
        commit: the first digits of the commit, empty for a run.
        run: the id of the run.
        cases: over how many questions; empty where nobody knows.
        other: that other questions were asked than before, of a run: than for the newest version, or nobody knows.
        why: who accepted it and why.
        cells: a value for each column.
        problem: why a version cannot be read; empty for all others.
    """

    date: str
    run: str
    commit: str = ""
    cases: str = ""
    other: bool = False
    why: str = ""
    cells: tuple[Cell, ...] = ()
    problem: str = ""


def render(
    history: History,
    columns: Sequence[Column],
    suite: str,
    *,
    versions: Sequence[TrendPoint],
    runs: Sequence[TrendPoint],
) -> str:
    """Render the page: the same history and runs give the same bytes.

    Args:
        history: the versions of the baseline, newest first.
        versions: those of the suite that can be read, newest first.
        runs: stored runs, in any order.
    """
    changed = history_table.other_questions(history)
    newest = versions[0] if versions else None
    points = sorted((*versions, *runs), key=lambda point: point.stamp)
    values = {
        "suite": suite,
        "lead": badge.badge_of(history, columns, suite).message,
        "facts": list(_facts(history, runs)),
        "trends": _trends(columns, points, newest),
        "trend_size": (trends.WIDTH, trends.HEIGHT),
        "columns": columns,
        "several": any(column.several for column in columns),
        "name": figures.title,
        "versions": list(_versions(history, columns)),
        "runs": [_run(point, columns, newest) for point in reversed(points) if point.kind == "run"],
        "legend": history_table.legend(history, changed),
    }
    title = f"Baseline · {suite} · raggate"
    return frame.render("history.html", values, title=title, styles=("style.css", "report.css"))


def _trends(columns: Sequence[Column], points: Sequence[TrendPoint], newest: TrendPoint | None) -> list[trends.Trend]:
    if newest is None:
        return []
    plots = (trends.trend_of(column.mode, column.metric, points, newest=newest) for column in columns)
    return [plot for plot in plots if plot is not None]


def _facts(history: History, runs: Sequence[TrendPoint]) -> Iterator[tuple[str, str]]:
    yield "File", history.path
    days = [revision.stamp[:10] for revision in reversed(history.revisions) if revision.stamp]
    span = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    yield "Versions", f"{counted(len(history.revisions), 'version')}{span}"
    if runs:
        yield "Stored runs", counted(len(runs), "run")


def _versions(history: History, columns: Sequence[Column]) -> Iterator[Row]:
    changed = history_table.other_questions(history)
    marks = {column: history_table.marks(history, column) for column in columns}
    for revision in history.revisions:
        yield _version(revision, marks, other=revision.commit in changed)


def _version(revision: Revision, marks: Mapping[Column, Mapping[str, Mark]], *, other: bool) -> Row:
    date, commit = revision.stamp[:10] or "unknown", revision.commit[:8]
    if revision.baseline is None:
        return Row(date=date, commit=commit, run="", problem=f"unreadable: {revision.problem}")
    provenance = revision.baseline.provenance
    reasons = [str(provenance[key]) for key in ("promoted_by", "reason") if provenance.get(key)]
    cases = history_table.cases_of(revision)
    return Row(
        date=date,
        commit=commit,
        run=revision.baseline.scorecard.run_id,
        cases=str(cases or ""),
        other=other,
        why=": ".join(reasons),
        cells=tuple(
            Cell(text=_value(revision, column), mark=moved.get(revision.commit)) for column, moved in marks.items()
        ),
    )


def _value(revision: Revision, column: Column) -> str:
    value = history_table.value_of(revision, column)
    return figures.amount(column.metric, None if value is None else value.value)


def _run(point: TrendPoint, columns: Sequence[Column], newest: TrendPoint | None) -> Row:
    values = ((column.metric, point.values.get(column.mode, {}).get(column.metric)) for column in columns)
    return Row(
        date=point.stamp[:16].replace("T", " "),
        run=point.name,
        other=newest is None or not point.questions or point.questions != newest.questions,
        cells=tuple(Cell(text=figures.amount(metric, value)) for metric, value in values),
    )
