"""The words of a text."""

from __future__ import annotations

from raggate.base.unicode import width, words, wrapped
from tables import each_row


def test_words_are_letters_digits_and_underscores_in_a_row() -> None:
    """What stands between them is in no word."""
    assert words("Café 10-a, snake_case\t(β)!") == ["Café", "10", "a", "snake_case", "β"]
    assert words("a_b\x1cc\x00d  ") == ["a_b", "c", "d"]


@each_row(
    ("text", "columns"),
    [
        ("", 0),
        ("→ 5", 3),
        ("漢字", 4),
        ("😀", 2),
        ("e\u0301", 1),
        ("⚠\ufe0f", 2),
    ],
)
def test_columns_of_a_text(text: str, columns: int) -> None:
    """East Asian letters and emoji take two columns, accents of their own none."""
    assert width(text) == columns


@each_row(
    ("text", "room", "lines"),
    [
        ("", 5, [""]),
        ("one two", 6, ["one", "two"]),
        ("one  two", 4, ["one", "two"]),
        ("abcdefg hi", 3, ["abc", "def", "g", "hi"]),
        ("漢字漢", 4, ["漢字", "漢"]),
    ],
)
def test_lines_break_between_words(text: str, room: int, lines: list[str]) -> None:
    """A line is broken between words, and within a word that is longer than a line."""
    assert wrapped(text, room) == lines
