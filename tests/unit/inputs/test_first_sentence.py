"""The first sentence of a note, for a question that every search should answer."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.inputs.first_sentence import MAX_CHARACTERS, first_sentence
from tables import each_row


@each_row(
    ("text", "sentence"),
    [
        ("# Bees\n\nSix hives stand here. They hum.\n", "Six hives stand here."),
        ("---\ntitle: a b c d e\n---\n# B\nWho feeds the bees? Nobody.\n", "Who feeds the bees?"),
        (
            "# A\n\n- one two three four five\n\n| a b | c d |\n\nshort line\n\nAt last a sentence\n",
            "At last a sentence",
        ),
        ("```\nnot this code at all\n```\nbut this is prose\n", "but this is prose"),
        ("word " * 60, ("word " * 60)[:MAX_CHARACTERS].rpartition(" ")[0]),
        ("\ufeff---\na: b\n---\nafter the mark it goes on", "after the mark it goes on"),
        ("# Only\n## Headings\n", ""),
        ("", ""),
    ],
)
def test_the_first_line_of_prose(text: str, sentence: str) -> None:
    """Front matter, headings, lists, tables, code and short lines are passed over; a long sentence is cut."""
    assert first_sentence(text) == sentence


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    """What comes out is in the text, on one line, and short."""
    sentence = first_sentence(text)
    assert sentence in text
    assert len(sentence) <= MAX_CHARACTERS
    assert len(sentence.splitlines()) <= 1
