"""The title and the commit message of a pull request that a workflow opens: text, and nothing that GitHub acts on."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from raggate.reports.parts.pull_requests import LONGEST_TITLE, pull_title, title_text
from tables import each_row

ACTS = re.compile(r"@\w|#\d|\bGH-\d|://|\[(?:skip (?:ci|actions)|(?:ci|actions) skip|no ci)\]", re.IGNORECASE)


@each_row(
    "text", ["@ada", "fixes #12", "GH-12", "https://github.com/o/n/issues/1", "[skip ci]", "[No CI]", "[CI skip]"]
)
def test_what_github_acts_on(text: str) -> None:
    """Nobody is mentioned, no issue is closed, and no workflow is kept from starting; it reads as it was written."""
    shown = title_text(f"Reason: {text}")
    assert not ACTS.search(shown)
    assert shown.replace("\u2060", "") == f"Reason: {text}"


@given(st.text(st.sampled_from("[]#@:/ skipcnoGH-1\n\u2060"), max_size=30))
def test_any_text(text: str) -> None:
    """Whatever is written, it is one line on which nothing acts."""
    shown = title_text(text)
    assert not ACTS.search(shown)
    assert "\n" not in shown


def test_a_long_title() -> None:
    """A title is as long as GitHub takes, also where every character of it has to be made harmless."""
    assert pull_title("x" * LONGEST_TITLE) == "x" * LONGEST_TITLE
    assert len(pull_title("x" * (LONGEST_TITLE + 1))) == LONGEST_TITLE
    assert len(pull_title("@" * LONGEST_TITLE)) == LONGEST_TITLE
