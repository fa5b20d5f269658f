"""The words of causes: one sentence for each code, and one for all questions of a code."""

from __future__ import annotations

from typing import get_args

import pytest

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


def test_every_group_is_another() -> None:
    """No two codes are counted as one."""
    assert set(GROUPS) == set(CODES)
    assert len(set(GROUPS.values())) == len(CODES)


def test_a_passage_that_is_not_the_first_is_named() -> None:
    """A cause that is about another passage than the one shown says which."""
    cause = Cause(code="not-listed", passage="b.md › B", returned=3)
    assert sentence(cause) == "b.md › B: not among the 3 chunks returned"


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
    """Build a place of a list by its final score."""
    return ListEntry("0000000a", "0000000b", final)


@each_row(
    ("cause", "words"),
    [
        pytest.param(
            Cause(code="below-threshold", after=entry(0.2), limits=(None, (0.2, 0.25))),
            "the API abstained: its best score, 0.2, does not pass its threshold, which is between 0.2 and 0.25",
            id="the-highest-that-is-refused",
        ),
        pytest.param(
            Cause(code="below-threshold", after=entry(0.20002), limits=(None, (0.20004, 0.25))),
            "the API abstained: its best score, 0.20002, does not pass its threshold, which is between 0.20004 and "
            "0.25",
            id="close-to-the-threshold",
        ),
        pytest.param(
            Cause(code="below-threshold", before=entry(0.30001), limits=((0.1, None), (0.30003, None))),
            "it scored 0.30001 in the baseline, and nothing below 0.30003 is returned any more (0.1 in the baseline)",
            id="close-to-what-is-returned",
        ),
        pytest.param(
            Cause(code="demoted", returned=3, before=entry(0.50001), last=0.50004),
            "fell below the 3 chunks returned, of which the last scores 0.50004 (in the baseline it scored 0.50001)",
            id="close-to-the-last",
        ),
        pytest.param(
            Cause(code="demoted", returned=3, before=entry(0.12354), after=entry(0.12346)),
            "fell among the 3 chunks returned; score 0.12354 → 0.12346",
            id="hardly-less",
        ),
        pytest.param(
            Cause(code="demoted", returned=3, before=entry(0.12354), after=entry(0.123545)),
            "fell among the 3 chunks returned; score 0.1235 as before",
            id="rounded-by-the-baseline",
        ),
    ],
)
def test_scores_that_are_compared_look_different(cause: Cause, words: str) -> None:
    """A sentence that says that one score is less than another shows as many digits as that takes."""
    assert sentence(cause) == words


def test_no_more_digits_than_two_scores_need() -> None:
    """Scores that are the same take four decimals, and those that differ as few more as show it."""
    assert writer(0.123456, 0.123459)(0.123456) == "0.1235"
    assert writer(0.5, 0.50002, None)(0.5) == "0.5"
    assert writer(0.5, 0.50002, None)(0.50002) == "0.50002"
