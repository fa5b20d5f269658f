"""Compact values: the same as a dict of them, to whoever reads them."""

from __future__ import annotations

from math import inf, nan

import pytest

from raggate.models.metric_values import CompactValues, columns, compact
from tables import each_row

VALUES: dict[str, float | None] = {"mrr": 1 / 3, "hit": None, "ndcg": 0.0}


def test_reads_as_the_dict() -> None:
    """It has the same values in the same order, equals the dict both ways, and knows what it has not."""
    values = compact(VALUES)
    assert isinstance(values, CompactValues)
    assert [*values.items()] == [*VALUES.items()]
    assert (values, VALUES) == (VALUES, values)
    assert values != {**VALUES, "hit": 0.0}
    assert [values.get(name) for name in ("mrr", "hit", "other")] == [1 / 3, None, None]
    assert values.get("other", 2.0) == 2.0
    assert [name in values for name in ("hit", "other")] == [True, False]
    with pytest.raises(KeyError):
        values["other"]


@each_row("value", [nan, inf, 1, True, 1 << 2000], ids=["nan", "inf", "int", "bool", "huge"])
def test_what_a_float_does_not_hold_stays_a_dict(value: float) -> None:
    """A value that would become none, or another one, is left as it is."""
    values = {**VALUES, "hit": value}
    assert compact(values) is values


def test_columns() -> None:
    """Values of the same metrics come metric by metric, without those that are none; of others none do."""
    rows = [compact(VALUES), compact({**VALUES, "hit": 1.0})]
    assert columns(rows) == {"mrr": [1 / 3, 1 / 3], "hit": [1.0], "ndcg": [0.0, 0.0]}
    assert columns([]) == {}
    assert columns([*rows, VALUES]) is None
    assert columns([*rows, compact({"mrr": 0.5})]) is None
