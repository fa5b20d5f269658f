"""Tables that are too long for memory: a column is what was put into it, wherever it lies."""

from __future__ import annotations

import pytest

from raggate.text import long_columns
from raggate.text.long_columns import LongColumns


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 11])
def test_a_column_is_what_was_put_in(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Every column has a number of every row, in their order, also while the table grows."""
    monkeypatch.setattr(long_columns, "_TOGETHER", 2)
    table = LongColumns(3)
    for row in range(rows):
        table.append([row, row / 7, -row])
        assert list(table.column(1)) == [number / 7 for number in range(row + 1)]
    assert list(table) == [(row, row / 7, -row) for row in range(rows)]
    assert [list(table.column(at)) for at in (2, 0)] == [[-row for row in range(rows)], [*range(rows)]]
