"""A passage and a question -> the snippet that is proposed."""

from __future__ import annotations

import pytest

from raggate.inputs.authoring.passages import MOST_SNIPPET, snippet_of
from raggate.text.headings import contains_snippet
from tables import each_row

QUESTION = "How long does the dough rest?"
LONG = "The dough rests " + "very " * 40 + "long"


@each_row(
    ("text", "snippet"),
    [
        pytest.param(
            "Flour first. The dough rests. Let the dough rest long!", "Let the dough rest long!", id="nearest"
        ),
        pytest.param("Salt it.\nBake it.", "Salt it.", id="first where none is near"),
        pytest.param("- dough: rest it\n1. [x] bake", "dough: rest it", id="item of a list"),
        pytest.param("The `dough` must rest long.\nBake it.", "Bake it.", id="markup is dropped by chunkers"),
        pytest.param("The dough must\nrest long.", "The dough must", id="lines are joined by chunkers"),
        pytest.param("```\nlong dough rest\n```\nBake it.", "Bake it.", id="code is dropped by chunkers"),
        pytest.param("| dough | rest |\n|---|---|\n", "", id="table"),
        pytest.param("", "", id="nothing"),
        pytest.param(LONG, "The dough rests " + "very " * 16 + "very", id="cut between words"),
    ],
)
def test_a_snippet_is_a_sentence_that_can_be_copied(text: str, snippet: str) -> None:
    """It is the sentence nearest to the question, without markup, within a line, and stands in the passage."""
    proposed = snippet_of(QUESTION, text)
    assert proposed == snippet
    assert len(proposed) <= MOST_SNIPPET
    assert not proposed or contains_snippet(text, [proposed])
