"""How whoever promotes by the action is told to allow what has no match."""

from __future__ import annotations

import pytest

from builders import make_case, make_chunk, make_labelled, make_result, make_run
from raggate.errors import UsageError
from raggate.gate.completeness import refuse_matchless
from raggate.github.eligibility import _as_input
from raggate.scoring.score import score
from tables import each_row


@each_row(
    ("tag", "way"),
    [
        ("draft", "`allow-no-match: tag=draft`."),
        ("food, drink", "`allow-no-match` with the name of the mode, as there is a comma in that of a slice."),
    ],
)
def test_the_hint_can_be_followed(tag: str, way: str) -> None:
    """A slice that the input can name is named in it, and for another one its mode is."""
    found = make_labelled(make_case("q1"), make_result("q1", make_chunk()))
    lost = make_labelled(make_case("q2", tags=(tag,)), make_result("q2", make_chunk("c2", rel_path="b.md")))
    scorecard = score(make_run(found, lost), (5,))
    with pytest.raises(UsageError) as refused:
        refuse_matchless(scorecard, 1, (), _as_input)
    assert (refused.value.hint or "").endswith(way)
    assert [reason.slice for reason in refuse_matchless(scorecard, 1, ("hybrid",), _as_input)] == [f"tag={tag}"]
