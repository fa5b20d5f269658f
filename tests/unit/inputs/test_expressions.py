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
        ("FEES", True),
        ("work-00", True),
        ("refunds", False),
        ("not refunds", True),
        ("not not fees", True),
        ("fees and refunds", False),
        ("fees or refunds", True),
        # `and` binds closer than `or`
        ("fees or refunds and missing", True),
        ("(fees or refunds) and missing", False),
        ("not fees or work", True),
        ("not (fees or work)", False),
        ('"bank card"', True),
        ("'bank card' and fees", True),
        ('"bank  card"', False),
        # quoted, an operator is a word as any other
        ('"not"', False),
        # nothing reaches from one text into the next
        ('"007 what"', False),
        ("(((fees)))", True),
        ("work-007)and(fees", None),
        ("?", True),
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
    ("expression", "problem"),
    [
        ("", "column 1: expected a word, 'not' or '('; it ends here"),
        ("fees and", "column 9: expected a word, 'not' or '('; it ends here"),
        ("fees card", "column 6: expected 'and', 'or' or the end; found 'card'"),
        ("(fees or card", "column 14: expected ')'; it ends here"),
        ("fees)", "column 5: expected 'and', 'or' or the end; found ')'"),
        ("or fees", "column 1: expected a word, 'not' or '('; found 'or'"),
        ("fees and 'card", "column 10: this quote is not closed"),
        ('fees or " "', "column 9: there is nothing between the quotes"),
        ("(" * 60, "column 51: more than 50 levels deep"),
        ("not " * 60 + "x", "column 201: more than 50 levels deep"),
        ("x" * 1001, "1001 characters, expected at most 1000"),
    ],
)
def test_what_is_wrong(expression: str, problem: str) -> None:
    """An error names the column, from 1, what was expected there and what stands there."""
    with pytest.raises(UsageError, match="-k") as caught:
        compiled(expression)
    assert caught.value.message.endswith(problem)
    assert caught.value.hint.startswith("Write words with and, or, not")


@given(st.text(alphabet="ab()'\" not\u202e\x00", max_size=60))
def test_any_text_is_an_expression_or_a_clear_error(expression: str) -> None:
    """Whatever is typed is read, or refused; nothing else is raised."""
    with suppress(UsageError):
        assert compiled(expression)(("a", "b")) in {True, False}
