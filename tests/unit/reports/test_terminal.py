"""The report on a terminal or in a CI log: what it shows, and that foreign text in it commands nothing."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from builders import make_flip
from raggate.base import unicode
from raggate.models.verdict import Reason
from raggate.reports import terminal
from reviews import REVIEWS, from_elsewhere, hostile, regression, review
from tables import each_row

STYLE = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def render(name: str, width: int = 100) -> str:
    """Render one of the reviews without colour."""
    return terminal.render(review(name), width=width, color=False)


@pytest.mark.parametrize("name", REVIEWS)
def test_screen(name: str, screen: SnapshotAssertion) -> None:
    """Each kind of review is rendered as the screen that is stored."""
    assert render(name) == screen


@each_row(("width", "shown"), [(119, False), (120, True)])
def test_intervals_where_there_is_room(width: int, *, shown: bool) -> None:
    """A wide screen, as a log is, has the interval of every change beside it."""
    assert ("−0.345 to +0.037" in terminal.render(regression(), width=width, color=False)) == shown


@each_row("width", [60, 80, 200])
def test_tables_lose_nothing_in_narrow_terminals(width: int) -> None:
    """However narrow the terminal, every value of the table is there and no line of it is longer than the screen."""
    text = terminal.render(regression(), width=width, color=False)
    table = text.split("questions compared\n\n")[1].split("\n\n")[0]
    assert max(map(unicode.width, table.splitlines())) <= width
    assert "…" not in table
    for value in ("−0.154", "0.806", "25", "0.05", "worse"):
        assert value in table


def test_with_colour_the_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colour adds styles to the text and changes nothing else."""
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = terminal.render(regression(), width=100, color=True)
    assert STYLE.search(coloured)
    assert STYLE.sub("", coloured) == terminal.render(regression(), width=100, color=False)


@pytest.mark.parametrize("color", [True, False])
def test_hostile_text(color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign text brings no escape code, control character, direction mark or workflow command into the output."""
    monkeypatch.setenv("TERM", "xterm-256color")
    text = terminal.render(hostile(), width=100, color=color)
    assert not CONTROL.search(STYLE.sub("", text))
    assert ("\x1b" in text) == color
    assert "##[" not in text
    assert "::" not in text


def test_long_lists() -> None:
    """Long lists are cut and the rest is said to be in the summary."""
    review = regression()
    broke = [make_flip(f"q{number}") for number in range(17)]
    fixed = [make_flip(f"f{number}", kind="fixed") for number in range(17)]
    reasons = tuple(Reason(code="creep", message=f"metric {number}") for number in range(14))
    review = replace(
        review,
        comparison=replace(review.comparison, flips=(*broke, *fixed)),
        verdict=replace(review.verdict, reasons=reasons),
    )
    text = terminal.render(review, width=100, color=False)
    assert "Questions that broke (17)" in text
    assert "  … and 2 more in verdict.json\n" in text.split("\nWhy")[0]
    assert "  … and 2 more in summary.md\n" in text.split("\nWhy")[1]
    assert re.search(r"Questions that were fixed \(17\): f0, .*, f11 and 5 more\n", text)


def test_files_that_were_not_used() -> None:
    """The screen names the commit that judges and the files that had no say, if there are any."""
    review = regression()
    ignored = replace(review, run=from_elsewhere(review.run, ignored=("golden.jsonl", "notes/a.md")))
    text = terminal.render(ignored, width=100, color=False)
    assert "judged by commit 0123456789ab, not by your golden.jsonl, notes/a.md\n" in text
    assert "not used" not in terminal.render(review, width=100, color=False)
