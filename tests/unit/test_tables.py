"""A table as one test is as strict as a test for each row."""

from __future__ import annotations

import pytest

from tables import each_row


def test_every_row_that_fails_is_named() -> None:
    """All rows are tried, also after one that fails, however it does; those that fail are reported by their names."""
    tried = []

    @each_row(("text", "number"), [("1", 1), ("one", 1), pytest.param("3", 4, id="an odd one"), ("4", 4)])
    def compare(text: str, number: int) -> None:
        tried.append(text)
        assert int(text) == number

    with pytest.raises(ExceptionGroup, match="2 of 4 rows") as caught:
        compare()
    assert tried == ["1", "one", "3", "4"]
    assert [type(error) for error in caught.value.exceptions] == [ValueError, AssertionError]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["in the row 1: ('one', 1)"],
        ["in the row an odd one"],
    ]


def test_an_error_that_does_not_come_is_a_failure_of_its_row() -> None:
    """What `pytest.raises` misses is reported as any other failure, and the rows after it are tried."""
    tried = []

    @each_row("text", ["one", "2", "three"])
    def refuse(text: str) -> None:
        tried.append(text)
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 3 rows") as caught:
        refuse()
    assert tried == ["one", "2", "three"]
    assert [error.__notes__ for error in caught.value.exceptions] == [["in the row 1: ('2',)"]]


def test_tables_above_each_other_are_combined(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each row of one is tried with each of the other, and fixtures are handed on."""
    tried = []

    @each_row("letter", "ab")
    @each_row("number", (1, 2))
    def note(letter: str, number: int, fixture: object) -> None:
        tried.append((letter, number, fixture))

    note(fixture=tmp_path_factory)
    assert tried == [(letter, number, tmp_path_factory) for letter in "ab" for number in (1, 2)]


def test_an_empty_table_claims_nothing() -> None:
    """A table that lost its rows is no test that passes."""
    with pytest.raises(AssertionError, match="claims nothing"):
        each_row("text", [])(lambda text: None)
