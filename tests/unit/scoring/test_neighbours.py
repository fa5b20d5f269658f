"""What stands near a gold support: its section under another heading, and copies above it."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_labelled, make_result, make_support
from raggate.models.run import Chunk, Labels
from tables import each_row

GOLD = "The valve of the boiler is turned to the left until it clicks, then the pump is started by hand."
SNIPPET = make_support(heading_path="# A > ## Valve", snippets=("turned to the left",))
PLAIN = make_support(heading_path="# A > ## Valve")


def labels(support: Any, *chunks: Chunk, **case: Any) -> Labels:
    """Label a list for a case with this support."""
    asked = make_case(gold_supports=(support,), **case)
    return make_labelled(asked, make_result(asked.id, *chunks)).labels


@each_row(
    ("support", "chunk", "case", "positions"),
    [
        pytest.param(SNIPPET, make_chunk(text=GOLD), {}, (0,), id="merged-into-the-section-above"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path="# Boiler"), {}, (0,), id="told-otherwise"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path=""), {}, (0,), id="no-heading"),
        pytest.param(SNIPPET, make_chunk(text="Nothing of it."), {}, (), id="without-the-snippet"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, rel_path="b.md"), {}, (), id="another-note"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, vault="home"), {"vaults": ("work",)}, (), id="another-vault"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path="# A > ## Valve"), {}, (), id="the-passage-itself"),
        pytest.param(PLAIN, make_chunk(text=f"# A\nSome.\n## Valve\n{GOLD}"), {}, (0,), id="by-its-heading"),
        pytest.param(PLAIN, make_chunk(text="The Valve is one of them."), {}, (), id="named-in-a-sentence"),
        pytest.param(make_support(heading_path=None), make_chunk(rel_path="b.md"), {}, (), id="whole-note"),
    ],
)
def test_filed_elsewhere(support: Any, chunk: Chunk, case: dict[str, Any], positions: tuple[int, ...]) -> None:
    """A chunk of the gold note under another heading counts where it holds the snippet, or the heading as a line."""
    assert labels(support, chunk, **case).filed_elsewhere == positions


OTHER = {"rel_path": "b.md", "heading_path": "# B"}


@each_row(
    ("chunks", "positions"),
    [
        pytest.param([make_chunk("c", **OTHER, text=GOLD)], (0,), id="snippet-in-another-note"),
        pytest.param([make_chunk("c", **OTHER, text=f"As noted: {GOLD} So it goes.")], (0,), id="in-more-words"),
        pytest.param(
            [make_chunk("c", **OTHER, text="Another thing altogether, of no use here.")], (), id="another-text"
        ),
        pytest.param([make_chunk("c", **OTHER, text="to the left")], (), id="a-few-words-of-it"),
    ],
)
def test_copies_above_the_passage(chunks: list[Chunk], positions: tuple[int, ...]) -> None:
    """What stands above the passage is a copy where it holds its snippet, or nearly all of its words in a row."""
    gold = make_chunk("gold", heading_path="# A > ## Valve", text=GOLD)
    assert labels(SNIPPET, *chunks, gold).copies == positions


def test_what_stands_below_is_no_copy() -> None:
    """Only what is above the passage can have displaced it."""
    gold = make_chunk("gold", heading_path="# A > ## Valve", text=GOLD)
    assert labels(SNIPPET, gold, make_chunk("c", **OTHER, text=GOLD)).copies == ()


def test_short_texts_are_no_copies_of_each_other() -> None:
    """A heading alone, or a handful of words, is like many others."""
    gold = make_chunk("gold", heading_path="# A > ## Valve", text="## Valve\nSee below.")
    assert labels(PLAIN, make_chunk("c", **OTHER, text="## Valve\nSee below."), gold).copies == ()


@each_row(
    ("same", "positions"),
    [
        pytest.param(10, (0,), id="all"),
        pytest.param(9, (0,), id="seven-of-eight-rows"),
        pytest.param(8, (), id="six-of-eight-rows"),
    ],
)
def test_how_much_of_the_shorter_text_makes_a_copy(same: int, positions: tuple[int, ...]) -> None:
    """Four fifths of the rows of three words that the shorter text has, however long the other one is."""
    words = [f"word{number}" for number in range(10)]
    longer = " ".join([*words[:same], *(f"other{number}" for number in range(40))])
    gold = make_chunk("gold", heading_path="# A > ## Valve", text=" ".join(words))
    assert labels(PLAIN, make_chunk("c", **OTHER, text=longer), gold).copies == positions
