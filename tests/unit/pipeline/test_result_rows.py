"""Rows of answers, read from a run directory that nobody has to trust."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
from raggate.pipeline import result_rows


@pytest.mark.parametrize("values", ["{}", '"a"', "[[1]]"])
def test_a_line_of_very_many_values_is_not_checked(values: str) -> None:
    """Many small values in a line of few megabytes would take gigabytes to be checked, or minutes."""
    line = b'{"result": [%s]}' % ",".join([values] * result_rows.MOST_VALUES).encode()
    with pytest.raises(UsageError, match="results:1: more than 200000 values in a line"):
        result_rows.parse_row(line, "results:1")


def test_a_line_of_long_texts_is_read() -> None:
    """What is long by its texts has few values."""
    line = b'{"result": {"text": "%s"}}' % (b"[{," * result_rows.MOST_VALUES)
    assert len(result_rows.parse_row(line, "results:1")) == 1
