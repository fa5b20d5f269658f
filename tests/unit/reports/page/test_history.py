"""The page of a baseline's history: values of every version and run, what cannot be compared, foreign text as text."""

from __future__ import annotations

from msgspec.structs import replace

from histories import history, revision
from pages import Elements
from raggate.models.history import History, Revision
from raggate.models.trend import TrendPoint
from raggate.pipeline import trend
from raggate.reports import history_table
from raggate.reports.page import history as page
from raggate.reports.page.trends import trend_of
from reviews import HOSTILE
from tables import each_row


def rendered(past: History, *runs: TrendPoint, suite: str = "notes") -> str:
    """Write the page of a history with these stored runs."""
    columns = history_table.columns(past, lambda _: True)
    versions = list(trend.of_history(past, "default", {column.metric for column in columns}))
    return page.render(past, columns, suite, versions=versions, runs=runs)


def run(number: int, value: float, *, questions: str = "g") -> TrendPoint:
    """Return a stored run of a day in January 2026."""
    values = {"hybrid": {"hit_at_5": value}}
    return TrendPoint(
        kind="run", stamp=f"2026-01-{number:02}T12:00:00Z", name=f"stored-{number}", questions=questions, values=values
    )


def promoted(version: Revision, **provenance: str) -> Revision:
    """Return a version with what was said when it was promoted."""
    assert version.baseline is not None
    return replace(version, baseline=replace(version.baseline, provenance=provenance))


def test_versions_and_runs() -> None:
    """Each version stands there with its values, how they moved, who accepted them and why; each run with its own."""
    past = history(
        promoted(revision(3, {"hit_at_5": 0.5}), promoted_by="maria", reason="New chunker"),
        revision(2),
        revision(1, {"hit_at_5": 0.75}, golden="h"),
    )
    text = Elements(rendered(past, run(3, 0.25), run(2, 0.5, questions="h"))).visible
    assert "Baseline hit@5 50.0% of 10" in text
    assert "2026-01-03 33333333 10 * 50.0% ▼ , worse run-3 maria: New chunker" in text
    assert "2026-01-02 22222222 unreadable: not valid JSON" in text
    assert "2026-01-01 11111111 10 75.0% run-1 –" in text
    assert "2026-01-03 12:00 stored-3 25.0% the same 2026-01-02 12:00 stored-2 50.0% other or unknown" in text
    assert "3 versions, 2026-01-01 to 2026-01-03" in text
    assert "Another golden set than in the version before" in text


def test_one_version_alone() -> None:
    """With one version there is nothing to plot, and without runs no table of them; the page says what there is."""
    text = Elements(rendered(history(revision(1, {"hit_at_5": 0.5}), shallow=True))).visible
    assert "Trends" not in text
    assert "Stored runs" not in text
    assert "The clone is shallow" in text


def test_no_readable_version() -> None:
    """A history of which nothing can be read has no value, and says why."""
    text = Elements(rendered(history(revision(1)), run(1, 0.5))).visible
    assert "Baseline unknown" in text
    assert "unreadable: not valid JSON" in text


def test_lines_join_only_what_asked_the_same() -> None:
    """A line ends where other questions were asked, and none joins versions of which nobody knows what they asked."""
    goldens = ("g", "g", "h", "h", "", "", "g")
    past = history(*(revision(number, {"hit_at_5": 0.5}, golden=golden) for number, golden in enumerate(goldens, 1)))
    points = list(trend.of_history(past, "default", {"hit_at_5"}))
    plot = trend_of("hybrid", "hit_at_5", points, newest=points[0])
    assert plot is not None
    assert [len(line.split()) for line in plot.lines] == [2, 2]
    assert [dot.other for dot in plot.dots] == [False, False, True, True, True, True, False]
    # as the tables of the page write it
    assert (plot.newest, plot.low, plot.high) == ("50.0%", "50.0%", "50.0%")
    assert all("50.0%" in dot.words for dot in plot.dots)
    assert plot.dots[2].words.endswith("other questions")
    assert plot.dots[4].words.endswith("nobody knows over which questions")


@each_row("value", [float("nan"), float("inf"), 1e308])
def test_what_is_no_number_is_not_drawn(value: float) -> None:
    """A stored run with a value that is none, or absurd, leaves the plot as it is."""
    past = history(revision(2, {"hit_at_5": 0.5}), revision(1, {"hit_at_5": 0.25}))
    document = rendered(past, run(3, value))
    assert document.count("<circle") == 2
    assert 'cy="nan"' not in document
    assert 'cy="inf"' not in document


def test_foreign_text_is_text() -> None:
    """Ids, reasons, problems, metrics, modes and names of runs may be anything: no tag comes of them, no address."""
    plain = history(revision(2, {"hit_at_5": 0.5}), revision(1))
    evil = history(
        promoted(revision(2, modes={HOSTILE: {HOSTILE: 0.5}}, run_id=HOSTILE), promoted_by=HOSTILE, reason=HOSTILE),
        revision(1, problem=HOSTILE, stamp=HOSTILE),
    )
    hostile_run = replace(run(3, 0.5), stamp=HOSTILE, name=HOSTILE, values={HOSTILE: {HOSTILE: 0.5}})
    own = {tag for tag, _ in Elements(rendered(plain, run(3, 0.5))).tags}
    page_of_evil = Elements(rendered(replace(evil, path=HOSTILE), hostile_run, suite=HOSTILE))
    assert {tag for tag, _ in page_of_evil.tags} - own <= {"circle", "svg", "figure", "figcaption", "polyline"}
    assert not [attributes for _, attributes in page_of_evil.tags if any(name.startswith("on") for name in attributes)]
    assert {attributes["href"] for _, attributes in page_of_evil.tags if "href" in attributes} == {"#main"}
    assert "\x1b" not in page_of_evil.visible
    assert "\u202e" not in page_of_evil.visible


def test_same_history_same_bytes() -> None:
    """Two renderings of the same history are the same."""
    past = history(revision(2, {"hit_at_5": 0.5}), revision(1, {"hit_at_5": 0.25}))
    assert rendered(past, run(1, 0.5)) == rendered(past, run(1, 0.5))
