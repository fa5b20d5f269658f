"""Expressions of `-k`: which texts they fit, and the column of what is wrong with one."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.inputs.expressions import compiled
from tables import each_row

TEXTS = ("work-007", "what does the bank card cost?", "fees")


@each_row(
    ("expression", "fits"),
    [
        ("fees", True),
        ("WORK-00", True),
        ("not " * 248 + "fees", True),
        ("not refunds", True),
        ("fees and refunds", False),
        ("fees or refunds", True),
        # `and` binds closer than `or`
        ("fees or refunds and missing", True),
        ("(fees or refunds) and missing", False),
        ("not fees or work", True),
        ("not (fees or work)", False),
        ('"bank card"', True),
        ('"bank  card"', False),
        # quoted, an operator is a word as any other
        ('"not"', False),
        # nothing reaches from one text into the next
        ('"007 what"', False),
        ("work-007)and(fees", None),
    ],
)
def test_what_fits(expression: str, fits: bool | None) -> None:
    """A word fits where a text holds it; operators and parentheses mean what they do in Python."""
    if fits is None:
        with pytest.raises(UsageError):
            compiled(expression)
    else:
        assert compiled(expression)(TEXTS) is fits


@each_row(
    "expression",
    [
        *("", "fees and", "fees card", "fees (card)", "(fees or card", "fees)", "or fees", "fees and 'card"),
        *('fees or " "', "(" * 500, "x" * 1001),
    ],
)
def test_what_is_wrong(expression: str) -> None:
    """What is no expression is refused, with what to write."""
    with pytest.raises(UsageError, match="-k") as caught:
        compiled(expression)
    assert caught.value.hint.startswith("Combine words with and, or, not")


@given(st.text(alphabet="ab()'\" not\u202e\x00", max_size=60))
def test_any_text_is_an_expression_or_a_clear_error(expression: str) -> None:
    """Whatever is typed is read, or refused; nothing else is raised."""
    with suppress(UsageError):
        assert compiled(expression)(("a", "b")) in {True, False}
