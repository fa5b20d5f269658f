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


def test_an_empty_table_claims_nothing() -> None:
    """A table that lost its rows is no test that passes."""
    with pytest.raises(AssertionError, match="claims nothing"):
        each_row("text", [])(lambda text: None)
