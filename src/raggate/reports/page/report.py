"""report.html: a review as one page that needs nothing else.

Without script it has everything but the list of all questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from raggate.base.escape import plain
from raggate.base.numbers import counted
from raggate.models.comparison import Delta, Flip
from raggate.models.history import TrendPoint
from raggate.models.publication import RunFailure
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import GatedMetric, Review, of_parts
from raggate.reports import plots
from raggate.reports.page import details as facts, frame
from raggate.reports.page.details import Passages
from raggate.reports.parts import advice, evidence, formatting, header, metric_tables, questions, reasons, sections
from raggate.reports.parts.document import Part
from raggate.reports.plots import ChangePlot, Trend
from raggate.scoring import figures
from raggate.scoring.figures import title as metric_title

if TYPE_CHECKING:
    from raggate.reports import Ended

Tone = Literal["bad", "warn", "good", "soft", ""]
"""What a value comes to, as the class of an element; words or signs beside it say the same."""

MOST = 60
"""Slices of a mode that are shown."""
MOST_QUESTIONS = 200
"""Questions that are listed without script."""
Plotted = tuple[GatedMetric, ChangePlot | None]
"""A metric over all questions of a mode, and where its change lies."""
Grid = tuple[str, list[str], list[tuple[str, dict[str, GatedMetric]]]]
"""A mode, metrics, and each slice with its rows by metric."""
_STATUS_TONES: dict[str, Tone] = {"better": "good", "same": "soft", "not gated": "soft", "advisory": "soft"}
_TONES = {"pass": "good", "regression": "bad", "invariant broken": "bad"}
MOST_LINES = 30
"""Lines of a message of several problems."""


def plotted(review: Review, rows_of: Callable[[Sequence[GatedMetric]], list[GatedMetric]]) -> list[Plotted]:
    """Return metrics with their plots; none where what was compared says nothing of the change."""
    rows = [] if formatting.undecided(review) else rows_of(review.verdict.rows)
    return list(zip(rows, plots.change_plots(rows), strict=True))


def whole(delta: Delta) -> str:
    """Write the run's own value over all its questions, where it is another than the one that is compared."""
    whole = metric_tables.whole_of(delta)
    return "" if whole is None else f"all {whole.n}: {figures.value(delta.metric, whole)}"


def arrow(delta: Delta) -> str:
    """A sign for a change to the better or the worse, whichever way its numbers go."""
    return "" if abs(delta.gain) <= EPSILON else "▲" if delta.gain > 0 else "▼"


def tone(row: GatedMetric) -> Tone:
    """Return the tone of a row."""
    if row.status in formatting.BAD:
        return "warn" if row.waived or row.unproven else "bad"
    return _STATUS_TONES.get(row.status, "")


def grids(review: Review) -> list[Grid]:
    """Return a grid for each mode in which slices were compared: those that got worse first."""
    if formatting.undecided(review):
        return []
    modes: dict[str, dict[str, dict[str, GatedMetric]]] = defaultdict(lambda: defaultdict(dict))
    # a slice of all questions says the same once more
    for row in of_parts(review.verdict.rows):
        if row.delta.current.n or row.delta.baseline.n:
            modes[row.delta.mode][row.delta.slice][row.delta.metric] = row
    order = list(dict.fromkeys(row.delta.metric for row in formatting.main_rows(review.verdict.rows)))
    grids = []
    for mode, by_name in modes.items():
        metrics = [metric for metric in order if any(metric in rows for rows in by_name.values())]
        gains = {
            name: sum(min(row.delta.gain, 0.0) for row in rows.values() if row.status in formatting.BAD)
            for name, rows in by_name.items()
        }
        grids.append((mode, metrics, sorted(by_name.items(), key=lambda item: (gains[item[0]], item[0]))))
    return grids


def notes(review: Review) -> list[Part]:
    """Return the parts that other reports have too, and that are set here as they are."""
    parts = (
        header.why(review),
        questions.what_broke(review),
        reasons.findings(review),
        header.warnings(review),
        header.waivers(review.verdict.waivers),
        *sections.if_merged(review),
        sections.since_baseline(review),
    )
    return [part for part in parts if part.blocks]


def render(ended: Ended) -> str:
    """Render the page: the same verdict, or the same reason for none, gives the same bytes."""
    if isinstance(ended, RunFailure):
        return _failure(ended)
    review = ended
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
    greeting, step = header.greeting(review), advice.next_step(review, lists="below")
    steps = advice.first_steps(review) if greeting else [step] if step else []
    return {
        "review": review,
        "tone": _TONES.get(verdict.outcome, "warn"),
        "sign": "👋" if greeting else header.sign(verdict.outcome),
        "heading": greeting or verdict.outcome,
        "sentences": header.introduction(review) or [*verdict.sentences, *filter(None, [reasons.total(review)])],
        "likely": reasons.likely(review) or reasons.changed(review),
        "beside": reasons.beside(review) if review.context.dependencies else (),
        "facts": list(_facts(review)),
        "merging": [reasons.sentence(reason) for reason in reasons.merging(review)],
        "steps": [step.split("`") for step in steps],
        "command": advice.command(review) if steps and not greeting else "",
        "first": advice.first_red(review) if verdict.outcome in advice.RED else None,
        "ids": frozenset(result.case.id for result in review.run.results),
        "notes": notes(review),
        "left_out": formatting.LEFT_OUT if formatting.undecided(review) else "",
        "deciding": plotted(review, formatting.main_rows),
        "others": plotted(review, formatting.other_rows),
        "measured": [] if verdict.rows else metric_tables.measured_rows(review.scorecard),
        "figures": figures,
        "whole": whole,
        "arrow": arrow,
        "tone_of": tone,
        "status": formatting.status,
        "most_slices": MOST,
        "evidence": [*evidence.sentences(review), *evidence.judging_sentences(review.run)],
        "several": review.scorecard.several_modes,
        "grids": grids(review),
        "trends": _trends(review),
        "trend_size": (plots.WIDTH, plots.HEIGHT),
        "lists": list(_lists(review)),
        "rank_change": questions.rank_change,
        "address": lambda case_id: quote(plain(case_id), safe="", errors="replace"),
        "name": metric_title,
        "promotion": formatting.promotion_note(review),
        "plot_width": plots.CHANGE_WIDTH,
        "most": MOST_QUESTIONS,
        "total": len(review.run.results),
    }


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
    if review.judged_by:
        yield "Judged by", f"commit {review.judged_by[:12]}"
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
    places = [(delta.mode, delta.metric) for delta in shown if delta.metric in means.get(delta.mode, {})]
    return [plot for place in places if (plot := plots.trend_of(*place, points, newest=this)) is not None]


def _lists(review: Review) -> Iterator[tuple[str, Sequence[Flip]]]:
    """Yield the questions that are listed without script, under their titles."""
    if review.run.stopped is not None:
        return
    broke, fixed = formatting.broke(review), review.comparison.fixed
    # of an undecided run the answers alone count, as in the comment
    fallen, unfound = ((), ()) if formatting.undecided(review) else (review.fallen, review.misses)
    titles = (
        (formatting.title("broke", broke), broke),
        (formatting.fallen_title(fallen), fallen),
        (questions.misses_title(review), unfound),
        (formatting.title("were fixed", fixed), fixed),
    )
    yield from ((title, flips) for title, flips in titles if flips)


def _failure(failure: RunFailure) -> str:
    tone = "bad" if failure.label in {"invariant broken", "internal error"} else "warn"
    values = {"failure": failure, "tone": tone, "sign": header.sign(failure.label), "most": MOST_LINES}
    title = f"{failure.label} · {failure.suite or 'no suite'} · raggate"
    return frame.render("failure.html", values, title=title, styles=("style.css", "report.css"))
