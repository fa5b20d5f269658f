"""report.html: a review as one page that needs nothing else.

Without script it has everything but the list of all questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from raggate.models.comparison import Delta, Flip
from raggate.models.history import TrendPoint
from raggate.models.publication import RunFailure
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import GatedMetric, Review
from raggate.reports import plots
from raggate.reports.page import details as facts, frame
from raggate.reports.page.details import Passages
from raggate.reports.parts import advice, evidence, formatting, header, metric_tables, questions, reasons, sections
from raggate.reports.parts.document import Part
from raggate.reports.plots import ChangePlot, Trend
from raggate.scoring import figures
from raggate.scoring.figures import title as metric_title
from raggate.text.escape import plain
from raggate.text.numbers import counted

Tone = Literal["bad", "warn", "good", "soft", ""]
"""What a value comes to, as the class of an element; words or signs beside it say the same."""


MOST = 60
"""Slices of a mode that are shown."""
MOST_QUESTIONS = 200
"""Questions that are told without script."""
_TONES = {"pass": "good", "regression": "bad", "invariant broken": "bad"}
MOST_LINES = 30
"""Lines of a message of several problems."""


class MetricRow(Struct, frozen=True, kw_only=True):
    """A metric over all questions of a mode, in words and as a plot."""

    mode: str
    metric: str
    lower: bool
    change: str
    arrow: str
    baseline: str
    now: str
    whole: str
    interval: str
    allowed: str
    status: str
    cases: str
    tone: Tone
    plot: ChangePlot | None


def deciding(review: Review) -> list[MetricRow]:
    """Return the metrics that decide, what is wrong first; none where what was compared says nothing of the change."""
    return [] if formatting.undecided(review) else _rows(formatting.main_rows(review.verdict.rows))


def others(review: Review) -> list[MetricRow]:
    """Return those that do not decide and moved."""
    return [] if formatting.undecided(review) else _rows(formatting.other_rows(review.verdict.rows))


def measured(review: Review) -> list[tuple[str, str, str, int]]:
    """Return mode, metric, value and number of questions where nothing is compared."""
    if review.verdict.rows:
        return []
    return [
        (mode, metric, figures.measured(metric, value), value.n)
        for mode, metric, value in formatting.measured(review.scorecard)
    ]


def _rows(rows: Sequence[GatedMetric]) -> list[MetricRow]:
    return [_row(row, plot) for row, plot in zip(rows, plots.change_plots(rows), strict=True)]


def _row(row: GatedMetric, plot: ChangePlot | None) -> MetricRow:
    delta = row.delta
    return MetricRow(
        mode=delta.mode,
        metric=delta.metric,
        lower=delta.current.direction == "lower",
        change=figures.change(delta),
        arrow=arrow(delta),
        baseline=figures.side(delta, delta.baseline),
        now=figures.side(delta, delta.current),
        whole=whole(delta),
        interval=figures.interval(delta),
        allowed=figures.allowed(row),
        status=formatting.status(row),
        cases=figures.moved(delta),
        tone=tone(row),
        plot=plot,
    )


def whole(delta: Delta) -> str:
    """Write the run's own value over all its questions, where it is another than the one that is compared."""
    whole = metric_tables.whole_of(delta)
    return "" if whole is None else f"all {whole.n}: {figures.value(delta.metric, whole)}"


def arrow(delta: Delta) -> str:
    """Say by a sign whether a change is for the better or the worse, whichever way its numbers go."""
    if abs(delta.gain) <= EPSILON:
        return ""
    return "▲" if delta.gain > 0 else "▼"


def tone(row: GatedMetric) -> Tone:
    """Say what a row comes to."""
    if row.status in formatting.BAD:
        return "warn" if row.waived or row.unproven else "bad"
    if row.status == "better":
        return "good"
    return "soft" if row.status in {"same", "not gated", "advisory"} else ""


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
    """Return a grid for each mode in which slices were compared: those that got worse first."""
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
    words = f"{delta.metric} of {delta.slice}: {before} → {now}, {formatting.status(row)}, {figures.moved(delta)}"
    return Cell(change=figures.change(delta), arrow=arrow(delta), value=now, words=words, tone=tone(row))


def notes(review: Review) -> list[Part]:
    """Return the parts that other reports have too, and that are set here as they are."""
    merged = sections.if_merged(review)
    parts = (
        header.why(review),
        questions.what_broke(review),
        reasons.findings(review),
        header.warnings(review),
        header.waivers(review.verdict.waivers),
        *merged,
        sections.since_baseline(review),
    )
    return [part for part in parts if part.blocks]


def render(review: Review) -> str:
    """Render the page: the same review gives the same bytes."""
    sides = facts.Sides.of(review)
    names = list(dict.fromkeys(name for case in review.scorecard.cases for name in case.slices))
    passages = Passages(review.run, review.context.root, review.context.forge, sides.items(review))
    order = list(dict.fromkeys(row.delta.metric for row in formatting.main_rows(review.verdict.rows)))
    details = facts.details(review, sides, passages, order)
    rows = facts.rows(review, sides, {name: place for place, name in enumerate(names)})
    return frame.render(
        "report.html",
        {**_values(review), "listed": len(rows)},
        title=f"{review.verdict.outcome} · {review.run.suite} · raggate",
        styles=("style.css", "report.css"),
        scripts=("report.js",),
        data={
            "rows": {
                "rows": rows,
                "slices": [plain(name) for name in names],
                "metrics": [plain(metric_title(metric)) for metric in order],
                "compared": sides.compared,
            },
            "details": {"details": details, "passages": passages.passages, "notes": passages.notes},
        },
    )


def _values(review: Review) -> dict[str, object]:
    verdict = review.verdict
    return {
        "review": review,
        "tone": _TONES.get(verdict.outcome, "warn"),
        "sign": "👋" if header.greeting(review) else header.sign(verdict.outcome),
        "heading": header.greeting(review) or verdict.outcome,
        "sentences": header.INTRODUCED if header.greeting(review) and review.context.first_run else verdict.sentences,
        "likely": reasons.likely(review),
        "facts": list(_facts(review)),
        "merging": [reasons.sentence(reason) for reason in reasons.merging(review)],
        "steps": [step.split("`") for step in _steps(review)],
        "notes": notes(review),
        "left_out": formatting.left_out(review),
        "deciding": deciding(review),
        "others": others(review),
        "measured": measured(review),
        "evidence": [*evidence.sentences(review), *evidence.judging_sentences(review.run)],
        "several": review.scorecard.several_modes,
        "grids": grids(review),
        "trends": _trends(review),
        "trend_size": (plots.WIDTH, plots.HEIGHT),
        "lists": list(_lists(review)),
        "rank_change": questions.rank_change,
        "address": _address,
        "name": metric_title,
        "promotion": formatting.promotion_note(review),
        "plot_width": plots.CHANGE_WIDTH,
        "most": MOST_QUESTIONS,
        "total": len(review.run.results),
    }


def _steps(review: Review) -> list[str]:
    """Say what to do next, in one step where a verdict says it, in several after a first run."""
    return advice.first_steps(review) if header.greeting(review) else [*filter(None, [advice.next_step(review)])]


def _address(case_id: str) -> str:
    """Write an id as the part of an address by which the script finds the question."""
    return quote(plain(case_id), safe="", errors="replace")


def _facts(review: Review) -> Iterator[tuple[str, str]]:
    """Yield what was measured and what it was held against, as names and values."""
    run, comparison = review.run, review.comparison
    yield "Suite", run.suite
    yield "Run", run.run_id
    measured = run.provenance.measured
    yield "Measured", _time(measured or run.started)
    if measured:
        yield "Judged", _time(run.started)
    # the golden set of a part has no others by now
    asked, part = run.golden.asked, run.selection
    if part is not None:
        asked = f"{len(part.asked)} of {counted(part.of, 'question')}"
    yield "Asked" if run.stopped is None else "To be asked", ", ".join([asked, *review.scorecard.slices])
    yield from formatting.about(run).items()
    if comparison.baseline is not None:
        scored = comparison.baseline.scorecard.run_id or "unknown"
        source = f"{comparison.baseline.source} (run {scored}), {formatting.compared(comparison)}"
        yield "Baseline", source
    if run.provenance.against:
        yield "Judged by", f"commit {run.provenance.against[:12]}"
    if run.provenance.checkout.commit:
        changed = ", with changes that are not committed" if run.provenance.checkout.dirty else ""
        yield "Commit", f"{run.provenance.checkout.commit[:12]}{changed}"
    if line := formatting.operations_line(review.scorecard):
        yield "Calls", line


def _time(stamp: str) -> str:
    return f"{stamp.replace('T', ' ').removesuffix('Z')} UTC"


def _trends(review: Review) -> list[Trend]:
    """Return a plot for each metric that decides and was measured before; none for a run without a verdict."""
    if formatting.undecided(review) or not review.context.trend:
        return []
    run = review.run
    means = {
        mode: {metric: value.value for metric, value in slices.get(OVERALL, {}).items() if value.value is not None}
        for mode, slices in review.scorecard.slices.items()
    }
    this = TrendPoint(kind="run", stamp=run.started, name=run.run_id, questions=run.golden.hash, values=means)
    points = (*review.context.trend, this)
    shown = [row.delta for row in formatting.main_rows(review.verdict.rows)]
    drawn = [
        plots.trend_of(delta.mode, delta.metric, points, newest=this)
        for delta in shown
        if delta.metric in means.get(delta.mode, {})
    ]
    return [plot for plot in drawn if plot is not None]


def _lists(review: Review) -> Iterator[tuple[str, Sequence[Flip]]]:
    """Yield the questions that are told without script, under their titles."""
    if review.run.stopped is not None:
        return
    broke, fixed = review.comparison.broke, review.comparison.fixed
    # of an undecided run the answers alone count, as in the comment
    fallen, unfound = ((), ()) if formatting.undecided(review) else (review.fallen, review.misses)
    titles = (
        (formatting.broke_title(broke), broke),
        (formatting.fallen_title(fallen), fallen),
        (questions.misses_title(review), unfound),
        (formatting.fixed_title(fixed), fixed),
    )
    yield from ((title, flips) for title, flips in titles if flips)


def render_failure(failure: RunFailure) -> str:
    """Render the page."""
    tone = "bad" if failure.label in {"invariant broken", "internal error"} else "warn"
    values = {"failure": failure, "tone": tone, "sign": header.sign(failure.label), "most": MOST_LINES}
    title = f"{failure.label} · {failure.suite or 'no suite'} · raggate"
    return frame.render("failure.html", values, title=title, styles=("style.css", "report.css"))
