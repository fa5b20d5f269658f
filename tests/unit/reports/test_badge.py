"""The badge of the newest baseline: its value and how it moved, never an older one's, and foreign text as text."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from histories import history, revision
from raggate.models.history import History, Revision
from raggate.reports import badge, history_table
from tables import each_row


def shown(*revisions: Revision, suite: str = "notes") -> badge.Badge:
    """Return the badge of a history, newest first."""
    past: History = history(*revisions)
    return badge.badge_of(past, history_table.columns(past, lambda _: True), suite)


@each_row(("before", "now", "color"), [(0.8, 0.8, "#1f6feb"), (0.8, 0.9, "#1a7f37"), (0.9, 0.8, "#bc4c00")])
def test_the_newest_version_and_how_it_moved(before: float, now: float, color: str) -> None:
    """The badge has the first metric that ranks, over how many questions, in the colour of its change."""
    made = shown(revision(2, {"a": 1.0, "hit_at_5": now}), revision(1, {"a": 0.5, "hit_at_5": before}))
    assert made == badge.Badge(label="notes", message=f"hit@5 {100 * now:.1f}% of 10", color=color)


def test_a_version_that_cannot_be_read() -> None:
    """An older value is not shown as the newest one."""
    assert shown(revision(2), revision(1, {"hit_at_5": 0.5})).message == "unknown"


def test_endpoint() -> None:
    """The JSON has the four keys that an endpoint badge is read by."""
    made = json.loads(badge.render_json(shown(revision(1, {"mrr_at_10": 0.5}))))
    assert made == {"schemaVersion": 1, "label": "notes", "message": "MRR@10 0.500 of 10", "color": "#1f6feb"}


def test_foreign_text_is_text() -> None:
    """A suite's name brings no element into the drawing."""
    drawn = badge.render_svg(shown(revision(1, {"hit_at_5": 0.5}), suite='<script>"&\x1b'))
    names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()}  # noqa: S314 - our own
    assert names == {"svg", "title", "rect", "path", "g", "text"}
