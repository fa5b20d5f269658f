"""Heading metrics of one case, worked out by hand: headings without text, and scores that are mostly lexical."""

from __future__ import annotations

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_result
from raggate.models.run import Chunk, LabelledResult
from raggate.scoring.metrics import headings
from tables import each_row

BARE = "# A"
FULL = "# A\nSome text."


def item(*chunks: Chunk) -> LabelledResult:
    """Label a list of chunks."""
    return make_labelled(make_case(), make_result("q1", *chunks))


def listed(documents: str, *texts: str) -> LabelledResult:
    """Build a list: a document a letter, and the text of each chunk."""
    pairs = zip(documents, texts, strict=True)
    return item(*(make_chunk(f"c{at}", rel_path=f"{name}.md", text=text) for at, (name, text) in enumerate(pairs)))


def scored(*scores: tuple[float | None, float | None]) -> LabelledResult:
    """Build a list of chunks with a lexical and a final score each."""
    return item(*(make_chunk(f"c{at}", score_lexical=lex, score_final=end) for at, (lex, end) in enumerate(scores)))


FAILED = make_labelled(make_case(), make_result("q1", failure=make_failure()))


@each_row(
    ("labelled", "k", "value"),
    [
        pytest.param(listed("abc", BARE, FULL, FULL), 3, 1 / 3, id="one of three"),
        pytest.param(listed("ab", BARE, FULL), 10, 1 / 2, id="a list shorter than k is divided by its length"),
        pytest.param(listed("ab", "", "Text without its heading."), 5, 1 / 2, id="headings that are not repeated"),
        pytest.param(listed("ab", "# B", FULL), 5, 0.0, id="another heading is text"),
        pytest.param(listed("ab", "", ""), 5, None, id="no text at all"),
        pytest.param(item(), 5, None, id="empty list"),
        pytest.param(FAILED, 5, None, id="failed call"),
    ],
)
def test_heading_only_hit(labelled: LabelledResult, k: int, value: float | None) -> None:
    """Heading-only hits are chunks with nothing below their heading, over the chunks there are."""
    assert headings.heading_only_hit(labelled, k) == value


@each_row(
    ("labelled", "k", "value"),
    [
        pytest.param(listed("aab", BARE, FULL, FULL), 5, 1.0, id="the first of two is bare"),
        pytest.param(listed("aab", FULL, BARE, FULL), 5, 0.0, id="the second of two is bare"),
        pytest.param(listed("abab", BARE, FULL, FULL, FULL), 5, 1 / 2, id="one of two documents"),
        pytest.param(listed("abc", BARE, BARE, FULL), 5, None, id="no document has several"),
        pytest.param(listed("aa", "", ""), 5, None, id="no text at all"),
        pytest.param(item(), 5, None, id="empty list"),
        pytest.param(FAILED, 5, None, id="failed call"),
    ],
)
def test_heading_first(labelled: LabelledResult, k: int, value: float | None) -> None:
    """Of documents with several chunks, those are counted whose highest chunk is bare."""
    assert headings.heading_first(labelled, k) == value


@each_row(
    ("labelled", "k", "value"),
    [
        pytest.param(scored((0.7, 1.0), (0.69, 1.0)), 5, 1 / 2, id="at the boundary and below"),
        pytest.param(scored((0.9, 1.0), (0.1, 1.0)), 1, 1.0, id="only the first place"),
        pytest.param(scored((0.9, 1.0), (None, 1.0)), 5, 1.0, id="a chunk that tells no lexical score"),
        pytest.param(scored((0.9, 0.0), (0.9, -1.0)), 5, 0.0, id="final scores of zero and less"),
        pytest.param(scored((None, 1.0)), 5, None, id="none tells"),
        pytest.param(item(), 5, None, id="empty list"),
        pytest.param(FAILED, 5, None, id="failed call"),
    ],
)
def test_lexical_dominance(labelled: LabelledResult, k: int, value: float | None) -> None:
    """A chunk counts when its lexical score is 0.7 of its final one or more."""
    assert headings.lexical_dominance(labelled, k) == value
