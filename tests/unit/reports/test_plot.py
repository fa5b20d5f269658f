"""The plot of metrics over time: what it draws, and that any input gives harmless, well-formed SVG."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from raggate.reports import plot
from raggate.reports.plot import HEIGHT, MAX_SERIES, Moment, Plot, Series, render, render_all
from tables import each_row

NAMESPACE = "{http://www.w3.org/2000/svg}"
DAY = 86_400
HARMLESS = {"svg", "title", "desc", "style", "rect", "text", "path", "g", "polyline"}


class Picture(SingleFileSnapshotExtension):
    """One SVG file per snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"


def moments(*days: int) -> tuple[Moment, ...]:
    """Build moments on days of January 2026."""
    return tuple(
        Moment(at=DAY * (20_454 + day), stamp=f"2026-01-{day:02}T12:00:00Z", note=f"c{day} · run {day}") for day in days
    )


def series(name: str = "hit_at_5", *values: float | None, lower: bool = False) -> Series:
    """Build a series."""
    return Series(name=name, direction="lower" if lower else "higher", values=values)


def drawn(*lines: Series, days: tuple[int, ...] = (1, 4, 10)) -> ElementTree.Element:
    """Draw series and parse the result."""
    return ElementTree.fromstring(plot.render(Plot(title="T", moments=moments(*days), series=lines)))  # noqa: S314


def texts(root: ElementTree.Element) -> list[str]:
    """Return the visible texts."""
    return [element.text or "" for element in root.iter(f"{NAMESPACE}text")]


def corners(root: ElementTree.Element) -> list[list[tuple[float, float]]]:
    """Return the corners of every line."""
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]
        for line in root.iter(f"{NAMESPACE}polyline")
    ]


def test_picture(snapshot: SnapshotAssertion) -> None:
    """A history with a version that cannot be read, other questions and a lower-is-better metric is this picture."""
    one, two, three, four = moments(1, 9, 20, 31)
    two = Moment(at=two.at, stamp=two.stamp, note="c9 · cannot be read", broken=True)
    three = Moment(at=three.at, stamp=three.stamp, note=three.note, changed=True)
    lines = (
        series("hit_at_5", 0.81, None, 0.84, 0.86),
        series("mrr_at_10", 0.70, None, 0.69, 0.74),
        series("scope_miss_rate", 0.05, None, 0.04, 0.02, lower=True),
    )
    picture = plot.render(Plot(title="Baseline of suite notes", moments=(one, two, three, four), series=lines))
    assert picture == snapshot.use_extension(Picture)


def test_places_are_proportional_to_time() -> None:
    """The distance of two points is as their distance in time."""
    ((first, second, third),) = (
        [x for x, _ in line] for line in corners(drawn(series("a", 0.1, 0.2, 0.3), days=(1, 4, 10)))
    )
    assert (second - first) / (third - first) == pytest.approx(3 / 9, abs=0.01)


def test_versions_in_another_order_than_their_dates_are_set_evenly() -> None:
    """Where the dates of commits run backwards the order of git counts, and the points stand evenly."""
    ((first, second, third),) = (
        [x for x, _ in line] for line in corners(drawn(series("a", 0.1, 0.2, 0.3), days=(9, 2, 3)))
    )
    assert first < second < third
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_more_is_higher_up() -> None:
    """A larger value stands higher, whichever way is better."""
    for line in corners(drawn(series("a", 0.1, 0.9, 0.5), series("b", 0.1, 0.9, 0.5, lower=True))):
        low, high, middle = (y for _, y in line)
        assert high < middle < low


@each_row(
    ("values", "first", "last"),
    [
        pytest.param((0.1, 0.9), "0.0", "1.0", id="wide"),
        pytest.param((0.86, 0.88), "0.84", "0.90", id="fitted"),
        pytest.param((1.0, 1.0), "0.98", "1.00", id="never above 1"),
        pytest.param((0.0, 0.0), "0.00", "0.02", id="never below 0"),
        pytest.param((120.0, 180.0), "100", "200", id="no share"),
    ],
)
def test_scale(values: tuple[float, ...], first: str, last: str) -> None:
    """The axis is from 0 to 1 for values far apart, and fitted in round steps for others."""
    marks = [text for text in texts(drawn(series("a", *values), days=(1, 2))) if re.fullmatch(r"-?[\d.]+", text)]
    marks = [text for text in marks if not re.fullmatch(r"\d+\.\d{4}", text)]
    assert (marks[0], marks[-1]) == (first, last)


def test_a_missing_value_is_left_out() -> None:
    """A version without a value has no point, and is never drawn as 0."""
    (line,) = corners(drawn(series("a", 0.5, None, 0.5)))
    assert len(line) == 2
    assert line[0][1] == line[1][1]


def test_more_series_than_can_be_told_apart_are_counted() -> None:
    """Only the first twelve are drawn, and a note counts the rest; a series without any value counts as none."""
    root = drawn(*(series(f"m{number}", 0.1, 0.2, 0.3) for number in range(15)), series("none", None, None, None))
    assert len(corners(root)) == MAX_SERIES
    assert any("3 more series not drawn" in text for text in texts(root))


def test_labels_do_not_cover_each_other() -> None:
    """The names of lines that end at one height stand on lines of their own, within the plot."""
    root = drawn(*(series(f"m{number}", 0.0, 0.0, 0.0) for number in range(12)))
    heights = sorted(
        float(element.attrib["y"]) for element in root.iter(f"{NAMESPACE}text") if (element.text or "")[:1] == "m"
    )
    assert len(heights) == 12
    assert min(after - before for before, after in pairwise(heights)) >= 14
    assert heights[0] >= 60
    assert heights[-1] <= 380


def test_dates_do_not_cover_each_other() -> None:
    """Of many dates those are written that have room, always with the first and the last."""
    root = drawn(series("a", *[0.5] * 31), days=tuple(range(1, 32)))
    dates = [element for element in root.iter(f"{NAMESPACE}text") if re.fullmatch(r"2026-01-\d\d", element.text or "")]
    places = [float(element.attrib["x"]) for element in dates]
    assert [dates[0].text, dates[-1].text] == ["2026-01-01", "2026-01-31"]
    assert min(after - before for before, after in pairwise(places)) >= 75


def test_one_day_is_marked_by_the_hour() -> None:
    """Versions of one day are told apart by their time."""
    both = tuple(Moment(at=3600.0 * hour, stamp=f"2026-01-02T{hour}:30:00Z") for hour in (10, 17))
    root = ElementTree.fromstring(plot.render(Plot(title="T", moments=both, series=(series("a", 0.1, 0.2),))))  # noqa: S314
    assert {"10:30", "17:30", "2 versions, 2026-01-02"} <= set(texts(root))


def test_below_each_other() -> None:
    """Several plots stand below each other in one file, each with texts of its own for those who cannot see it."""
    plots = [Plot(title=name, moments=moments(1, 4), series=(series("a", 0.1, 0.2),)) for name in ("one", "two")]
    root = ElementTree.fromstring(render_all(plots))  # noqa: S314
    first, second = root.findall("{http://www.w3.org/2000/svg}svg")
    assert (root.get("height"), first.get("y"), second.get("y")) == (str(2 * HEIGHT), None, str(HEIGHT))
    assert (first.get("aria-labelledby"), second.get("aria-labelledby")) == ("title desc", "title2 desc2")
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(ids) == len(set(ids)) == 4
    assert render_all(plots[:1]) == render(plots[0])


def test_for_those_who_cannot_see_it() -> None:
    """Title and description are there for screen readers, the description with the values of every line."""
    root = drawn(series("hit_at_5", 0.5, 0.6, 0.75))
    title, desc = root.find(f"{NAMESPACE}title"), root.find(f"{NAMESPACE}desc")
    assert root.attrib["role"] == "img"
    assert title is not None
    assert title.text == "T"
    assert desc is not None
    assert desc.text == "3 versions, 2026-01-01 to 2026-01-10; hit_at_5 from 0.5000 to 0.7500"


@each_row("days", [(), (1,)], ids=["no version", "one version"])
def test_little_to_draw(days: tuple[int, ...]) -> None:
    """Without versions it says that there is nothing to draw; a single one is a point."""
    root = drawn(series("a", *(0.5 for _ in days)), days=days)
    assert any("nothing to draw" in text for text in texts(root)) == (not days)
    assert len(corners(root)) == len(days)


def test_only_the_newest_of_very_many() -> None:
    """Of more versions than fit the newest are drawn, each value at its own moment."""
    count = plot.MAX_MOMENTS + 5
    many = tuple(Moment(at=float(DAY * number), stamp="2026-01-01T00:00:00Z") for number in range(count))
    values = (0.0,) * 5 + (0.5,) * (count - 6) + (1.0,)
    picture = plot.render(Plot(title="T", moments=many, series=(series("a", *values),)))
    (line,) = corners(ElementTree.fromstring(picture))  # noqa: S314
    assert len(line) == plot.MAX_MOMENTS
    assert line[0][1] > line[-1][1]
    assert line[0][1] == line[-2][1]


ANY_TEXT = st.text(max_size=200) | st.sampled_from(
    ["<script>alert(1)</script>", "]]>", "&amp;", "</style><a href='x'>", '" onload="x', "\x00\x1b[31m", "\ufffe\ud800"]
)
ANY_NUMBER = st.floats() | st.floats(0, 1)
ANY_MOMENT = st.builds(
    Moment, at=ANY_NUMBER, stamp=ANY_TEXT, note=ANY_TEXT, broken=st.booleans(), changed=st.booleans()
)
ANY_SERIES = st.builds(
    Series,
    name=ANY_TEXT,
    direction=st.sampled_from(["higher", "lower"]),
    values=st.lists(st.none() | ANY_NUMBER, max_size=8).map(tuple),
)
ANY_PLOT = st.builds(
    Plot,
    title=ANY_TEXT,
    moments=st.lists(ANY_MOMENT, max_size=6).map(tuple),
    series=st.lists(ANY_SERIES, max_size=14).map(tuple),
)


@given(ANY_PLOT)
def test_any_input_gives_harmless_svg(given_plot: Plot) -> None:
    """Whatever the input: well-formed XML of known elements, without links, handlers, scripts, NaN, or large output."""
    picture = plot.render(given_plot)
    root = ElementTree.fromstring(picture.encode())  # noqa: S314
    for element in root.iter():
        assert element.tag.removeprefix(NAMESPACE) in HARMLESS
        for name, value in element.attrib.items():
            assert "href" not in name
            assert not name.startswith("on")
            assert not re.search(r"nan|inf|url|javascript", value, re.IGNORECASE)
        for place in ("x", "y"):
            assert -10 <= float(element.attrib.get(place, 0)) <= plot.WIDTH
    for line in corners(root):
        assert all(50 <= x <= plot.WIDTH and 70 <= y <= 380 for x, y in line)
    assert len(picture) < 150_000
    assert plot.render(given_plot) == picture
