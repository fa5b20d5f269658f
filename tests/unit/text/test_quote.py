"""Sentences with foreign values and lists of names in them."""

from __future__ import annotations

import pytest

from raggate.text.quote import enumerated


@pytest.mark.parametrize(
    ("names", "expected"), [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")]
)
def test_enumerated(names: tuple[str, ...], expected: str) -> None:
    """Names stand one after the other, the last after an "and"."""
    assert enumerated(names) == expected
