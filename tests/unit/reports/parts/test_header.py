"""The last versions of the baseline as bars: of the same questions, mode and metric alone, and of nothing hostile."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from raggate.models.history import TrendPoint
from raggate.models.publication import Publication
from raggate.models.verdict import Review
from raggate.reports import comment, terminal
from raggate.reports.parts import header
from reviews import passing, regression
from tables import each_row

OTHER = "of other questions"


def point(number: int, value: float, *, questions: str | None = None, kind: str = "baseline") -> TrendPoint:
    """Return what was measured on a day, over the questions of the run unless others are named."""
    return TrendPoint(
        kind="run" if kind == "run" else "baseline",
        stamp=f"2026-01-{number:02}T00:00:00Z",
        name=f"commit{number}",
        questions=passing().run.golden.hash if questions is None else questions,
        values={"hybrid": {"hit_at_5": value}},
    )


def after(*points: TrendPoint, review: Review | None = None) -> Review:
    """Return a run with these points before it."""
    run = review or passing()
    return replace(run, context=replace(run.context, trend=points))


def shown(*values: float) -> str:
    """Return the bars of versions with these values, the oldest first."""
    points = [point(number, value) for number, value in enumerate(values, 1)]
    return header.of_baselines(after(*points), "hybrid", "hit_at_5")


@each_row(
    ("values", "expected"),
    [
        pytest.param((0.0, 0.5, 1.0), "▁▅█", id="lowest to highest"),
        pytest.param((0.8, 0.9, 0.7), "▅█▁", id="up and down"),
        pytest.param((0.9, 0.9, 0.9), "▅▅▅", id="flat"),
        pytest.param((0.90, 0.91, 0.90), "▄▅▄", id="a point is a step"),
        pytest.param((0.9, 0.903, 0.9), "▄▅▄", id="less than a point is a step at most"),
        pytest.param((0.9, 0.9), "", id="two are no course"),
        pytest.param((1e12, -1e12, 0.0), "█▁▅", id="as large as is drawn"),
    ],
)
def test_bars(values: tuple[float, ...], expected: str) -> None:
    """Bars stand between the lowest and the highest value, which are eight points apart at least."""
    assert shown(*values) == expected


@each_row("value", [float("nan"), float("inf"), -1e308])
def test_what_is_no_number_ends_it(value: float) -> None:
    """What lies before a value that is none is not drawn, and with too few left nothing is."""
    assert shown(0.1, 0.2, value, 0.9, 0.9, 0.9) == "▅▅▅"
    assert shown(0.1, 0.2, 0.3, value, 0.9, 0.9) == ""


def test_other_questions_end_it() -> None:
    """A version over other questions, or nobody knows which, and all before it are left out, also of the same ones."""
    same = [point(number, 0.9) for number in (4, 5, 6)]
    for questions in (OTHER, ""):
        earlier = [point(1, 0.1), point(2, 0.2), point(3, 0.3, questions=questions)]
        assert header.of_baselines(after(*earlier, *same), "hybrid", "hit_at_5") == "▅▅▅"
    assert header.of_baselines(after(*same, point(7, 0.9, questions=OTHER)), "hybrid", "hit_at_5") == ""


def test_another_mode_or_metric_has_none() -> None:
    """Values of another mode or metric are not taken for these."""
    review = after(*(point(number, 0.9) for number in (1, 2, 3)))
    assert header.of_baselines(review, "bm25", "hit_at_5") == ""
    assert header.of_baselines(review, "hybrid", "hit_at_3") == ""


def test_runs_are_no_baselines() -> None:
    """Stored runs between the versions are passed over."""
    points = [point(1, 0.9), point(2, 0.1, kind="run"), point(3, 0.9), point(4, 0.9)]
    assert header.of_baselines(after(*points), "hybrid", "hit_at_5") == "▅▅▅"


def test_a_pass_shows_it_and_a_regression_does_not() -> None:
    """Comment and terminal have the bars in the line of a pass, behind the first metric; a regression has its table."""
    points = [point(1, 0.8), point(2, 0.88), point(3, 0.96)]
    review = after(*points)
    (line,) = header.number_lines(review)
    assert line.startswith("hit@5 96.0% (=) ▁▅█ · MRR@10")
    assert "▁▅█ · MRR" in terminal.render(review, width=80, color=False)
    assert "▁▅█ · MRR" in comment.render(review, Publication())
    assert "▁" not in header.number_lines(after(*points, review=regression()))[0]
