"""Headings that came as one text are told from those that were split, by the headings they may stand for."""

from __future__ import annotations

from raggate.gate.heading_separators import unsplit
from tables import each_row

PATHS = [("Guide {#g}", "Set up"), ("Guide {#g}", "Set up", "Linux")]
KNOWN = "the API sets headings apart by {!r}, where they are not split: see `heading_separator`"


@each_row(
    ("headings", "separator"),
    [
        (["Guide / Set up"], " / "),
        (["Guide / Set up / Linux", "Guide / Set up"], " / "),
        (["Guide | Set up | Elsewhere"], " | "),
        (["# Guide > Set up"], " > "),
        (["Guide > Set up", "# Guide > ## Set up"], ""),
        (["Guide / Set up", "Guide - Set up"], ""),
        (["Guide and then, at length, Set up"], ""),
        (["Guide Set up", "Set up", "", "Guide"], ""),
    ],
)
def test_what_sets_headings_apart(headings: list[str], separator: str) -> None:
    """It is named where all that are put together from headings have one separator, which no split was made at."""
    expected = KNOWN.format(separator) if separator else ""
    assert unsplit((heading, PATHS) for heading in headings) == expected
