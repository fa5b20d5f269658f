"""Heading paths that hold a section's headings otherwise: by rows, and for any text."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.gate.headings import ends_alike, unsplit, written_otherwise
from tables import each_row
from tries import tried

GOLD = "# Log > ## Monday > ### Actions"


@each_row(
    ("told", "ends", "whole"),
    [
        (GOLD, True, True),
        ("Log / Monday / Actions", False, True),
        ("# Notes > ## Log > ### Monday > #### Actions", True, True),
        ("# log > ## mon-day: > ### actions!", True, True),
        ("# Log { #log } > ## Monday {#monday} > ### Actions {: .wide }", True, True),
        ("### Actions", True, False),
        ("## Tuesday > ### Actions", False, False),
        ("# Log > ## Tuesday > ### Actions", False, False),
        ("# Catalog > ## Monday > ### Actions", False, False),
        ("# Log > ## Monday", False, False),
        ("", False, False),
        ("# 🎉", False, False),
    ],
)
def test_what_is_alike(told: str, *, ends: bool, whole: bool) -> None:
    """Headings count as those of the section one by one; only a path without delimiters is compared as a whole."""
    assert (ends_alike(GOLD, told), written_otherwise(GOLD, told)) == (ends, whole)


@tried(50)
@given(st.text(alphabet="#> aé🎉\n", max_size=30))
def test_headings_without_letters_are_like_none(told: str) -> None:
    """What has no letters to compare is not said to be the same."""
    assert not ends_alike("# 🚀", told)
    assert not written_otherwise("# 🚀", told)


PATHS = [("Guide {#g}", "Set up"), ("Guide {#g}", "Set up", "Linux")]
KNOWN = "the API separates headings by {!r}: set `heading_separator` to that"


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
