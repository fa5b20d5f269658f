"""report.html: a review as one page that needs nothing else.

Without script it has everything but the list of all questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from raggate.models.comparison import Flip
from raggate.models.verdict import Review
from raggate.reports.page import changes, frame, metrics, questions, slices, trends
from raggate.reports.page.passages import Passages
from raggate.reports.parts import advice, causes, evidence, formatting, header, judging, misses, ranks, reasons
from raggate.scoring.figures import title as metric_title
from raggate.text.escape import plain
from raggate.text.numbers import counted

MOST_QUESTIONS = 200
"""Questions that are told without script."""

_TONES = {"pass": "good", "regression": "bad", "invariant broken": "bad"}


def render(review: Review) -> str:
    """Render the page: the same review gives the same bytes."""
    sides = questions.Sides.of(review)
    names = list(dict.fromkeys(name for case in review.scorecard.cases for name in case.slices))
    passages = Passages(review.run, review.context.root, review.context.forge, sides.items(review))
    order = list(dict.fromkeys(row.delta.metric for row in formatting.main_rows(review.verdict.rows)))
    details = questions.details(review, sides, passages, order)
    rows = questions.rows(review, sides, {name: place for place, name in enumerate(names)})
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
        "likely": causes.likely(review),
        "facts": list(_facts(review)),
        "reasons": [*reasons.merging(review), *reasons.further_reasons(review)],
        "warnings": reasons.further_warnings(review),
        "steps": [step.split("`") for step in _steps(review)],
        "causes": list(causes.lines(review)),
        "changes": list(changes.groups(review)),
        "left_out": formatting.left_out(review),
        "deciding": metrics.deciding(review),
        "others": metrics.others(review),
        "measured": metrics.measured(review),
        "evidence": [*evidence.sentences(review), *judging.sentences(review.run)],
        "several": review.scorecard.several_modes,
        "grids": slices.grids(review),
        "trends": trends.trends(review),
        "trend_size": (trends.WIDTH, trends.HEIGHT),
        "lists": list(_lists(review)),
        "rank_change": ranks.rank_change,
        "address": _address,
        "name": metric_title,
        "promotion": formatting.promotion_note(review),
        "plot_width": metrics.WIDTH,
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
    """Give what was measured and what it was held against, as names and values."""
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


def _lists(review: Review) -> Iterator[tuple[str, Sequence[Flip]]]:
    """Give the questions that are told without script, under their titles."""
    if review.run.stopped is not None:
        return
    broke, fixed = review.comparison.broke, review.comparison.fixed
    # of an undecided run the answers alone count, as in the comment
    fallen, unfound = ((), ()) if formatting.undecided(review) else (review.fallen, review.misses)
    titles = (
        (formatting.broke_title(broke), broke),
        (formatting.fallen_title(fallen), fallen),
        (misses.title(review), unfound),
        (formatting.fixed_title(fixed), fixed),
    )
    yield from ((title, flips) for title, flips in titles if flips)
