"""Series of values over time -> one SVG line plot: no scripts, no fonts to load, light and dark. Same bytes each time.

Values are set against the moments they were measured at; the axis is marked at those moments, not at round dates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, isfinite, log10

from msgspec import Struct
from msgspec.structs import replace

from raggate.models.scorecard import Direction
from raggate.text.escape import plain
from raggate.text.numbers import fixed, rounded, setting, written

MAX_SERIES = 12
"""Of one plot. More are counted in a note and not drawn."""
MAX_VALUE = 1e12
"""Larger values are left out, as are those that are no numbers."""
MAX_MOMENTS = 1000
"""Older ones are left out."""

WIDTH, HEIGHT = 960, 440
_LEFT, _TOP, _BOTTOM = 56, 76, 378
_CHARACTER = 6.9
_LINE = 18
_LABEL = 36
_DATE, _TIME = 80, 46

_LIGHT = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#0b7285")
_DARK = ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#f778ba", "#39c5cf")
_HUES = len(_LIGHT)
_FONT = "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


class Moment(Struct, frozen=True, kw_only=True):
    """A point of the time axis: seconds since 1970, the same as ISO 8601 in UTC, and what stands there (foreign text).

    `broken` says that nothing could be read there, `changed` that other questions were asked from there on.
    """

    at: float
    stamp: str
    note: str = ""
    broken: bool = False
    changed: bool = False


class Series(Struct, frozen=True, kw_only=True):
    """A line: its name (foreign text), which way is better, and its value at each moment, None where it has none."""

    name: str
    direction: Direction
    values: tuple[float | None, ...]


class Plot(Struct, frozen=True, kw_only=True):
    """What is drawn: a title (foreign text), the moments from old to new, and the series."""

    title: str
    moments: tuple[Moment, ...]
    series: tuple[Series, ...]


class _Drawn(Struct, frozen=True, kw_only=True):
    number: int
    series: Series
    points: tuple[tuple[float, float, float, int], ...]  # x, y, value, moment


def render_all(plots: Sequence[Plot]) -> str:
    """Draw plots, at least one, below each other as a whole SVG file."""
    if len(plots) == 1:
        return render(plots[0])
    height = HEIGHT * len(plots)
    head = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="group"'
    parts = [render(plot, number) for number, plot in enumerate(plots)]
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}>\n{"".join(parts)}</svg>\n'


def render(plot: Plot, place: int = 0) -> str:
    """Draw a plot as a whole SVG file, which may stand in another below so many plots."""
    moments = plot.moments[-MAX_MOMENTS:]
    left_out = len(plot.moments) - len(moments)
    # without what lies outside the plot, each value beside its moment
    aligned = [replace(series, values=_finite(series.values[left_out : len(plot.moments)])) for series in plot.series]
    lines = [series for series in aligned if any(value is not None for value in series.values)]
    shown = lines[:MAX_SERIES]
    right = WIDTH - 24.0 - (max(len(_label(series)) for series in shown) + 14) * _CHARACTER if shown else WIDTH - 24.0
    places = _places(moments, _LEFT + 10.0, right - 10.0)
    low, high, step = _scale([value for series in shown for value in series.values if value is not None])
    drawn = [_drawn(number, series, places, low, high) for number, series in enumerate(shown)]
    body = [
        *_head(plot, moments, drawn, place),
        *_grid(low, high, step, right),
        *_dates(moments, places),
        *_marks(moments, places),
        *(part for series in drawn for part in _line(series, moments)),
        *_labels(drawn, right),
        *_notes(moments, shown, len(lines)),
    ]
    return "\n".join([*body, "</svg>", ""])


def _finite(values: Sequence[float | None]) -> tuple[float | None, ...]:
    return tuple(value if value is not None and abs(value) <= MAX_VALUE else None for value in values)


def _label(series: Series) -> str:
    return (plain(series.name, limit=_LABEL) or "unnamed") + (" ↓" if series.direction == "lower" else "")


def _text(foreign: str, limit: int = 100) -> str:
    return escape(plain(foreign, limit=limit))


def _number(value: float) -> str:
    return setting(rounded(value, 1))


def _figure(value: float) -> str:
    return written(value) if abs(value) < 1000 else f"{value:.4g}"


def _head(plot: Plot, moments: Sequence[Moment], drawn: Sequence[_Drawn], place: int) -> Iterator[str]:
    own = str(place + 1) if place else ""
    below = f'y="{place * HEIGHT}" ' if place else ""
    title = _text(plot.title) or "Metrics over time"
    span = " to ".join(dict.fromkeys(_text(end.stamp[:10]) for end in (*moments[:1], *moments[-1:]) if end.stamp))
    count = f"{len(moments)} {'version' if len(moments) == 1 else 'versions'}"
    subtitle = ", ".join(part for part in (count, span) if part)
    ends = (
        f"{_label(line.series)} from {_figure(line.points[0][2])} to {_figure(line.points[-1][2])}" for line in drawn
    )
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" {below}width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title{own} desc{own}" '
        f'font-family="{_FONT}" font-size="12">'
    )
    yield f'<title id="title{own}">{title}</title>'
    yield f'<desc id="desc{own}">{escape("; ".join([plain(subtitle), *ends]), quote=False)}</desc>'
    yield f"<style>{_style()}</style>"
    yield f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>'
    yield f'<text x="24" y="34" font-size="17" font-weight="600">{title}</text>'
    yield f'<text class="soft" x="24" y="54">{subtitle}</text>'


def _style() -> str:
    def hues(colors: Sequence[str]) -> str:
        return "".join(f".c{number}{{color:{color}}}" for number, color in enumerate(colors))

    return (
        "svg{color:#1f2328}text{fill:currentColor}.ground{fill:#fff;stroke:#d1d9e0}.soft{opacity:.72}"
        ".grid{stroke:currentColor;stroke-opacity:.13}.axis{stroke:currentColor;stroke-opacity:.5}"
        ".line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
        ".second{stroke-dasharray:6 4}.mark{fill:currentColor}.hollow{fill:#fff;stroke:currentColor;stroke-width:1.6}"
        ".lead{fill:none;stroke:currentColor;stroke-opacity:.45}"
        ".changed{stroke:currentColor;stroke-opacity:.5;stroke-dasharray:2 3}"
        ".broken{stroke:currentColor;stroke-width:1.6}.value{font-variant-numeric:tabular-nums}"
        f"{hues(_LIGHT)}"
        "@media(prefers-color-scheme:dark){svg{color:#e6edf3}.ground{fill:#0d1117;stroke:#3d444d}"
        f".hollow{{fill:#0d1117}}{hues(_DARK)}}}"
    )


def _places(moments: Sequence[Moment], left: float, right: float) -> list[float]:
    """Set the moments on the axis by time, or evenly where time does not tell them apart."""
    if not moments:
        return []
    if len(moments) == 1:
        return [(left + right) / 2]
    times = [moment.at if isfinite(moment.at) and abs(moment.at) <= MAX_VALUE else 0.0 for moment in moments]
    first, last = min(times), max(times)
    if last - first < 1 or times != sorted(times):
        return [left + (right - left) * number / (len(moments) - 1) for number in range(len(moments))]
    return [left + (right - left) * (time - first) / (last - first) for time in times]


def _scale(values: Sequence[float]) -> tuple[float, float, float]:
    """Fit the axis to the values in round steps: lowest, highest, step. Values from 0 to 1 never leave that range."""
    if not values:
        return 0.0, 1.0, 0.2
    low, high = min(values), max(values)
    shares = low >= 0 and high <= 1
    if shares and high - low > 0.5:
        return 0.0, 1.0, 0.2
    # a line that hardly moves should look like one
    span = max(high - low, 0.05 if shares else abs(high) * 1e-3, 1e-6)
    step = _round_step(span / 4)
    low, high = floor((low - span * 0.1) / step) * step, ceil((high + span * 0.1) / step) * step
    return (max(low, 0.0), min(high, 1.0), step) if shares else (low, high, step)


def _round_step(rough: float) -> float:
    size = 10.0 ** floor(log10(rough))
    return next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * (1 - 1e-9))


def _height(value: float, low: float, high: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low)


def _grid(low: float, high: float, step: float, right: float) -> Iterator[str]:
    decimals = max(0, -floor(log10(step) + 1e-9))
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        if value > high + step / 2:
            break
        y = _number(_height(min(value, high), low, high))
        kind = "grid" if number else "axis"
        label = fixed(value, decimals) if abs(value) < 1e6 else f"{value:.3g}"
        yield f'<path class="{kind}" d="M{_LEFT} {y}H{_number(right)}"/>'
        yield f'<text class="soft value" x="{_LEFT - 8}" y="{y}" dy="4" text-anchor="end">{label}</text>'


def _dates(moments: Sequence[Moment], places: Sequence[float]) -> Iterator[str]:
    """Mark moments on the axis: the last, the first, and those between that have room."""
    one_day = len({moment.stamp[:10] for moment in moments}) == 1 and len(moments) > 1
    labels = [moment.stamp[11:16] if one_day else moment.stamp[:10] for moment in moments]
    room = _TIME if one_day else _DATE
    taken: list[int] = []
    order = [len(moments) - 1, 0, *range(1, len(moments) - 1)] if moments else []
    for number in order:
        if labels[number] and all(abs(places[number] - places[other]) >= room for other in taken):
            taken.append(number)
    for number in range(len(moments)):
        x = _number(places[number])
        yield f'<path class="axis" d="M{x} {_BOTTOM}v{6 if number in taken else 4}"/>'
    for number in sorted(taken):
        x = _number(places[number])
        yield (
            f'<text class="soft value" x="{x}" y="{_BOTTOM + 20}" text-anchor="middle">{_text(labels[number])}</text>'
        )


def _marks(moments: Sequence[Moment], places: Sequence[float]) -> Iterator[str]:
    for moment, place in zip(moments, places, strict=True):
        x, title = _number(place), f"<title>{_text(_tooltip(moment), 300)}</title>"
        if moment.changed:
            yield f'<path class="changed" d="M{x} {_TOP}V{_BOTTOM}">{title}</path>'
        if moment.broken:
            cross = f"M{_number(place - 4)} {_BOTTOM - 4}l8 8m0 -8l-8 8"
            yield f'<path class="broken" d="{cross}">{title}</path>'


def _tooltip(moment: Moment) -> str:
    return " · ".join(part for part in (moment.stamp[:16].replace("T", " "), moment.note) if part)


def _drawn(number: int, series: Series, places: Sequence[float], low: float, high: float) -> _Drawn:
    points = tuple(
        (places[index], _height(value, low, high), value, index)
        for index, value in enumerate(series.values)
        if value is not None
    )
    return _Drawn(number=number, series=series, points=points)


def _line(line: _Drawn, moments: Sequence[Moment]) -> Iterator[str]:
    second = line.number >= _HUES
    yield f'<g class="c{line.number % _HUES}">'
    corners = " ".join(f"{_number(x)},{_number(y)}" for x, y, _, _ in line.points)
    yield f'<polyline class="line{" second" if second else ""}" points="{corners}"/>'
    for x, y, value, moment in line.points:
        title = f"{_label(line.series)} {_figure(value)} · {_tooltip(moments[moment])}"
        yield _marker(line.number, x, y, f"<title>{_text(title, 400)}</title>")
    yield "</g>"


def _marker(number: int, x: float, y: float, inner: str = "") -> str:
    """Draw a marker; shape, filling and hue tell the series apart, so that no reader depends on hue alone."""
    kind = "hollow" if number >= _HUES else "mark"
    shapes = (
        "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
        "m-3.3 -3.3h6.6v6.6h-6.6z",
        "m0 -4.4l4.2 7.4h-8.4z",
        "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
        "m0 4.4l4.2 -7.4h-8.4z",
        "m-4.4 -1.5h2.9v-2.9h3v2.9h2.9v3h-2.9v2.9h-3v-2.9h-2.9z",
    )
    return f'<path class="{kind}" d="M{_number(x)} {_number(y)}{shapes[number % _HUES]}">{inner}</path>'


def _labels(drawn: Sequence[_Drawn], right: float) -> Iterator[str]:
    """Name every line at its end, apart from each other, with its last value."""
    ordered = sorted(drawn, key=lambda line: (line.points[-1][1], line.number))
    for line, y in zip(ordered, _spread([line.points[-1][1] for line in ordered]), strict=True):
        x_end, y_end, value, _ = line.points[-1]
        start, text = _number(right + 8), _number(right + 22)
        yield f'<g class="c{line.number % _HUES}">'
        yield (
            f'<path class="lead" d="M{_number(x_end + 6)} {_number(y_end)}H{_number(right - 2)}L{start} {_number(y)}"/>'
        )
        yield _marker(line.number, right + 13, y)
        yield f'</g><text x="{text}" y="{_number(y)}" dy="4">{escape(_label(line.series))}</text>'
        yield (
            f'<text class="value" x="{WIDTH - 20}" y="{_number(y)}" dy="4" text-anchor="end" font-weight="600">'
            f"{_figure(value)}</text>"
        )


def _spread(wanted: Sequence[float]) -> list[float]:
    """Move ascending heights apart to one line each, as little as needed and within the plot."""
    placed: list[float] = []
    for y in wanted:
        placed.append(max(y, placed[-1] + _LINE if placed else _TOP))
    limit = float(_BOTTOM)
    for number in range(len(placed) - 1, -1, -1):
        placed[number] = min(placed[number], limit)
        limit = placed[number] - _LINE
    return placed


def _notes(moments: Sequence[Moment], shown: Sequence[Series], series: int) -> Iterator[str]:
    notes = []
    if any(line.direction == "lower" for line in shown):
        notes.append("↓ lower is better")
    if any(moment.changed for moment in moments):
        notes.append("dotted: other questions from here on")
    if any(moment.broken for moment in moments):
        notes.append("× version that cannot be read")
    if series > len(shown):
        notes.append(f"{series - len(shown)} more series not drawn")
    if not shown:
        notes.append("nothing to draw")
    yield f'<text class="soft" x="24" y="{HEIGHT - 14}">{escape(" · ".join(notes))}</text>'
