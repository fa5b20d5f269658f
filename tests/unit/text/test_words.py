"""The words of a text."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from raggate.text.words import words


def test_words_are_letters_digits_and_underscores_in_a_row() -> None:
    """What stands between them is in no word."""
    assert words("Café 10-a, snake_case\t(β)!") == ["Café", "10", "a", "snake_case", "β"]
    assert words("a_b\x1cc\x00d  ") == ["a_b", "c", "d"]


@given(st.text(st.characters(max_codepoint=127)) | st.text())
def test_words_are_those_of_a_regular_expression(text: str) -> None:
    """The quick way for ASCII finds the same words."""
    assert words(text) == re.findall(r"\w+", text)
