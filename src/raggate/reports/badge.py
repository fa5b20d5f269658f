"""The newest baseline as a badge: JSON for an endpoint badge of shields.io, or an SVG of its own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

from raggate.config.gate_settings import DEFAULT_COMPOSITE
from raggate.models.history import History
from raggate.reports import history_table
from raggate.reports.history_table import Column
from raggate.scoring import figures
from raggate.text.escape import plain
from raggate.text.jsonio import dumps
from raggate.text.numbers import fixed

_COLORS = {"same": "#1f6feb", "better": "#1a7f37", "worse": "#bc4c00", "unknown": "#6e7781"}
_CHARACTER = 6.6
_PADDING = 10.0


class Badge(Struct, frozen=True, kw_only=True):
    """What a badge says: what is measured, its value, and the colour of how that moved since the version before."""

    label: str
    message: str
    color: str


def badge_of(history: History, columns: Sequence[Column], suite: str) -> Badge:
    """Return the badge of the newest version: its first column that ranks, else its first; `unknown` without a value.

    A version that cannot be read has no value, and an older one is not shown in its place.
    """
    ordered = [column for name in DEFAULT_COMPOSITE for column in columns if column.metric == name] + [*columns]
    newest = history.revisions[0] if history.revisions else None
    label = plain(suite, limit=40)
    for column in ordered:
        value = history_table.value_of(newest, column) if newest is not None else None
        if newest is None or value is None:
            continue
        mark = history_table.marks(history, column).get(newest.commit)
        state = "same" if mark is None else {history_table.BETTER: "better", history_table.WORSE: "worse"}[mark]
        name = f"{figures.title(column.metric)} ({column.mode})" if column.several else figures.title(column.metric)
        message = f"{plain(name, limit=60)} {figures.value(column.metric, value)} of {value.n}"
        return Badge(label=label, message=message, color=_COLORS[state])
    return Badge(label=label, message="unknown", color=_COLORS["unknown"])


def render_json(badge: Badge) -> str:
    """Write it as the endpoint badge of shields.io reads it."""
    value = {"schemaVersion": 1, "label": badge.label, "message": badge.message, "color": badge.color}
    return dumps(value, pretty=True).decode()


def render_svg(badge: Badge) -> str:
    """Draw it, without a script and without a font to load."""
    left, right = (len(text) * _CHARACTER + 2 * _PADDING for text in (badge.label, badge.message))
    width, middle = fixed(left + right, 0), fixed(left + right / 2, 0)
    label, message = escape(badge.label), escape(badge.message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">\n'
        f"<title>{label}: {message}</title>\n"
        f'<rect width="{width}" height="20" rx="3" fill="{badge.color}"/>\n'
        f'<path d="M3 0h{fixed(left - 3, 0)}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#424a53"/>\n'
        '<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">\n'
        f'<text x="{fixed(left / 2, 0)}" y="14" textLength="{fixed(left - 2 * _PADDING, 0)}">{label}</text>\n'
        f'<text x="{middle}" y="14" textLength="{fixed(right - 2 * _PADDING, 0)}">{message}</text>\n'
        "</g>\n</svg>\n"
    )
