"""The words of causes: one sentence for each code, and one for all questions of a code."""

from __future__ import annotations

from typing import get_args

from raggate.gate.causes.cause_wording import between, number, sentence, threshold_change, writer
from raggate.models.comparison import GROUPS, Cause, CauseCode, Range
from raggate.models.scorecard import ListEntry
from tables import each_row

CODES = get_args(CauseCode)


@each_row("code", CODES)
def test_every_code_has_its_words(code: CauseCode) -> None:
    """Each cause has a sentence without a full stop, also where the API told nothing, and a name for many."""
    words = sentence(Cause(code=code, subject="S", folders=("work/docs",), rank=1))
    assert words
    assert not words.endswith(".")
    assert "None" not in words
    assert GROUPS[code]


def test_a_passage_that_is_not_the_first_is_named() -> None:
    """A cause that is about another passage than the one shown says which."""
    cause = Cause(code="not-listed", passage="b.md › B", returned=3)
    assert sentence(cause) == "b.md › B: not among the 3 passages returned"


@each_row(
    ("score", "written"),
    [(0.5, "0.5"), (1.0, "1"), (0.0, "0"), (-0.00001, "0"), (0.12345, "0.1235"), (100.0, "100"), (None, "none")],
)
def test_scores_have_no_more_digits_than_they_need(score: float | None, written: str) -> None:
    """A score has at most four decimals, and no zeros behind the last that counts."""
    assert number(score) == written


@each_row(
    ("before", "now", "change"),
    [
        ((0.1, 0.2), (0.3, 0.4), "higher"),
        # a baseline keeps rounded scores
        ((0.1, 0.2), (0.2, 0.4), ""),
        ((0.2, 0.4), (0.1, 0.2), ""),
        ((0.1, 0.2), (0.2001, 0.4), "higher"),
        ((0.3, 0.4), (0.1, 0.2), "lower"),
        ((0.3, 0.4), (None, 0.2), "lower"),
        ((None, 0.2), (0.3, 0.4), "higher"),
        ((0.1, 0.3), (0.2, 0.4), ""),
        ((None, 0.3), (None, 0.1), ""),
        (None, (0.2, 0.4), ""),
        ((0.2, 0.4), None, ""),
    ],
)
def test_a_threshold_moved_where_both_sides_cannot_share_one(
    before: Range | None, now: Range | None, change: str
) -> None:
    """A threshold is higher or lower only where no single value could be that of both sides."""
    assert threshold_change(before, now) == change


@each_row(
    ("limits", "words"),
    [((0.1, 0.2), "between 0.1 and 0.2"), ((None, 0.2), "at most 0.2"), ((0.1, None), "at least 0.1")],
)
def test_where_a_threshold_is(limits: Range, words: str) -> None:
    """A threshold is told by the bounds that are known."""
    assert between(limits, number) == words


def entry(final: float) -> ListEntry:
    return ListEntry("0000000a", "0000000b", final)


def test_no_more_digits_than_two_scores_need() -> None:
    """Scores that are the same take four decimals, and those that differ as few more as show it."""
    assert writer(0.123456, 0.123459)(0.123456) == "0.1235"
    assert writer(0.5, 0.50002, None)(0.5) == "0.5"
    assert writer(0.5, 0.50002, None)(0.50002) == "0.50002"
