"""Grades of several people: the one that counts, and how far they agree, against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.labelling import label_file
from raggate.labelling.decisions import Where
from raggate.labelling.label_file import Unit, Vote, agreement, consensus, is_split
from tables import each_row


@each_row(
    ("grades", "counts", "split"),
    [
        ((), None, False),
        ((0,), 0, False),
        ((3,), 3, False),
        ((1, 3), 1, False),
        ((1, 2, 3), 2, False),
        ((1, 1, 3, 3), 1, False),
        ((0, 0), 0, False),
        ((0, 1), None, True),
        ((3, 3, 0), None, True),
    ],
)
def test_the_grade_that_counts(grades: tuple[int, ...], counts: int | None, split: bool) -> None:
    """It is the lower median; where people differ on whether a passage answers, none counts."""
    votes = {f"p{place}": Vote(grade) for place, grade in enumerate(grades)}
    assert (consensus(votes), is_split(votes)) == (counts, split)


def test_agreement_by_hand() -> None:
    """Ann 0 2 3 0 and Bob 0 2 0 0 on four passages: kappa 1 - 9 / 12, three of four agree on answering.

    Squared differences sum to 9. Drawn by chance: (4 * (0 + 4 + 9 + 0) + 4 * (0 + 4 + 0 + 0) - 2 * 5 * 2) / 4 = 12.
    """
    pairs = zip((0, 2, 3, 0), (0, 2, 0, 0), strict=True)
    units = [{"ann": Vote(first), "bob": Vote(second)} for first, second in pairs]
    agreed = agreement([*units, {"ann": Vote(1)}])
    assert (agreed.passages, agreed.percent) == (4, 0.75)
    (pair,) = agreed.pairs
    assert (pair.shared, pair.kappa) == (4, pytest.approx(1 - 9 / 12))
    # values: five noes and three yeses; observed disagreement 2/8, expected 2 * 5 * 3 / (8 * 7)
    assert agreed.alpha == pytest.approx(1 - (2 / 8) / (30 / 56))


names = st.text('abé# ,"\\', min_size=1, max_size=8).filter(str.strip)
wheres = st.builds(Where, rel_path=names, heading_path=st.none() | names, vault=st.none() | names)
votes = st.builds(
    Vote, st.integers(0, 3), st.booleans(), st.just("2026-01-02T03:04:05Z"), st.sampled_from(["", "0123abcd"])
)
tables = st.dictionaries(st.builds(Unit, names, wheres), st.dictionaries(names, votes, min_size=1, max_size=3))


@given(tables)
def test_a_label_file_is_read_as_it_was_written(labels: dict[Unit, dict[str, Vote]]) -> None:
    """Whatever the names, reading gives what was written, and the order of judging leaves no trace."""
    data = label_file.write(labels)
    assert label_file.read(data, "x") == labels
    assert label_file.write(dict(reversed(labels.items()))) == data


def test_a_label_file_that_two_branches_left() -> None:
    """A person who grades a passage twice, and a line that is none, are named with their line."""
    row = b'{"case":"q1","rel_path":"a.md","by":"ann","grade":1}\n'
    with pytest.raises(UsageError, match=r"x:2: 'ann' graded this passage in an earlier line already"):
        label_file.read(row + row.replace(b"1}", b"2}"), "x")
    for wrong in (b"[]\n", b'{"case":"q1","by":"ann","grade":4}\n', b"<<<<<<< HEAD\n"):
        with pytest.raises(UsageError, match="x:1: "):
            label_file.read(wrong, "x")
