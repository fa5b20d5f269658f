"""How much text comes back with a question, counted by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_failure, make_labelled, make_result
from raggate.models.run import LabelledResult
from raggate.scoring.metrics.context import context_chars
from tables import each_row


def texts(*texts: str, truncated: bool = False, lengths: tuple[int, ...] = ()) -> LabelledResult:
    """Label a list of chunks with these texts."""
    item = make_labelled(
        make_case(), make_result("q1", *(make_chunk(f"c{at}", text=it) for at, it in enumerate(texts)))
    )
    return replace(item, labels=replace(item.labels, truncated=truncated, lengths=lengths))


@each_row(
    ("labelled", "k", "value"),
    [
        pytest.param(texts("four", "fünf!", "six"), 2, 9.0, id="two of three"),
        pytest.param(texts("four", ""), 5, 4.0, id="a short list"),
        pytest.param(texts(), 5, 0.0, id="an empty list brings nothing"),
        pytest.param(texts("", ""), 5, None, id="an API that returns no texts"),
        pytest.param(texts("cut...", "cut...", truncated=True, lengths=(900, 80)), 2, 980.0, id="texts that were cut"),
        pytest.param(texts("cut...", truncated=True), 5, None, id="cut texts of unknown length"),
        pytest.param(make_labelled(make_case(), make_result("q1", failure=make_failure())), 5, None, id="failed call"),
    ],
)
def test_context_chars(labelled: LabelledResult, k: int, value: float | None) -> None:
    """The context is the characters of the whole texts of the first k chunks."""
    assert context_chars(labelled, k) == value
