"""Sorting in lots: the order is that of sorting all of it at once."""

from __future__ import annotations

import marshal

import pytest
from hypothesis import given, strategies as st

from raggate.text import long_sorting
from raggate.text.long_sequence import Packing
from raggate.text.long_sorting import in_order

PAIRS: Packing[tuple[str, str]] = Packing(marshal.dumps, marshal.loads)


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=2)), max_size=30))
def test_lots_are_merged(pairs: list[tuple[str, str]]) -> None:
    """Lots of four that are merged are in the order of all of it, also with names that are no ASCII."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_sorting, "_LOT", 4)
        merged = list(in_order(iter(pairs), PAIRS))
    assert merged == sorted(pairs)
