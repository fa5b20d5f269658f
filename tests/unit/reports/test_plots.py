"""Plots: what a line joins, and which numbers stand beside it."""

from __future__ import annotations

from histories import history, revision
from raggate.pipeline import stored_runs
from raggate.reports.plots import trend_of


def test_lines_join_only_what_asked_the_same() -> None:
    """A line ends where other questions were asked, and none joins versions of which nobody knows what they asked."""
    goldens = ("g", "g", "h", "h", "", "", "g")
    past = history(*(revision(number, {"hit_at_5": 0.5}, golden=golden) for number, golden in enumerate(goldens, 1)))
    points = list(stored_runs.of_history(past, "default", {"hit_at_5"}))
    plot = trend_of("hybrid", "hit_at_5", points, newest=points[0])
    assert plot is not None
    assert [len(line.split()) for line in plot.lines] == [2, 2]
    assert [dot.other for dot in plot.dots] == [False, False, True, True, True, True, False]
    # as the tables of the page write it
    assert (plot.newest, plot.low, plot.high) == ("50.0%", "50.0%", "50.0%")
    assert all("50.0%" in dot.words for dot in plot.dots)
    assert plot.dots[2].words.endswith("other questions")
    assert plot.dots[4].words.endswith("nobody knows over which questions")
