"""Questions of words that stand in no note."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from raggate.inputs.nonsense import WORDS, nonsense


@given(st.text(max_size=10), st.integers(0, 5))
def test_the_same_seed_gives_the_same_questions(seed: str, number: int) -> None:
    """As many questions as asked for, each of six words of three syllables, the same every time."""
    questions = nonsense(seed, number, [])
    assert questions == nonsense(seed, number, [])
    assert len(questions) == number
    for question in questions:
        assert re.fullmatch(rf"[A-Z][a-z]{{5}}(?: [a-z]{{6}}){{{WORDS - 1}}}\?", question)


def test_no_word_stands_in_a_note() -> None:
    """A word that some note has, in whatever case, is left out."""
    (question,) = nonsense("seed", 1, [])
    used = question.rstrip("?").casefold().split()
    (other,) = nonsense("seed", 1, [f"The word {used[0].upper()}, and _{used[2]} {used[2]}."])
    words = other.rstrip("?").casefold().split()
    assert words[:4] == [used[1], used[3], used[4], used[5]]
