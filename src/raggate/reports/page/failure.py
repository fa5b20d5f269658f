"""report.html of a run that ended without a verdict: why, what to do, and the API's last words."""

from __future__ import annotations

from raggate.models.publication import RunFailure
from raggate.reports.page import frame
from raggate.reports.parts import header

MOST_LINES = 30
"""Lines of a message of several problems."""


def render(failure: RunFailure) -> str:
    """Render the page."""
    tone = "bad" if failure.label in {"invariant broken", "internal error"} else "warn"
    values = {"failure": failure, "tone": tone, "sign": header.sign(failure.label), "most": MOST_LINES}
    title = f"{failure.label} · {failure.suite or 'no suite'} · raggate"
    return frame.render("failure.html", values, title=title, styles=("style.css", "report.css"))
