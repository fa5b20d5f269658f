"""The answers of a run so far, and what an API tells of its index."""

from __future__ import annotations

from typing import Any

from builders import make_failure, make_response, make_result
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.pipeline.answers import AnswersSoFar, index_values, note_index_facts
from tables import each_row

LOOK = IndexState(healthy=True, indexing=False, documents=3, chunks=9)


def told(**coverage: Any) -> Result:
    """Make a result whose answer tells of the index."""
    return make_result(response=make_response(coverage=coverage))


SEVERAL = [
    told(index_version="i2", chunk_token_stats={"mean": 25.5}, mode="fast"),
    told(index_version="i1", chunk_token_stats=7),
    make_result(response=None, failure=make_failure()),
]


@each_row(
    ("results", "look", "values"),
    [
        # answers of two indexes show both, also where the fact stands deeper; other keys are no facts
        (SEVERAL, None, {"chunk_tokens": ("25.5",), "index_version": ("i1", "i2")}),
        # where no answer tells, the last look counts
        ([told(docs_processed=2)], LOOK, {"chunks": ("9",), "documents": ("2",)}),
        # ten values are kept of an index that changes with every answer
        ([told(index_version=n) for n in range(10, 40)], None, {"index_version": tuple(map(str, range(10, 20)))}),
    ],
)
def test_values_of_facts(results: list[Result], look: IndexState | None, values: dict[str, tuple[str, ...]]) -> None:
    """Every value that answers tell of a fact of the index is kept as text, in order, up to ten of them."""
    assert index_values(results, look) == values


def test_the_first_answer_that_tells_a_fact_counts() -> None:
    """A run has the value of the first answer, and of a later one what that one did not tell."""
    facts: dict[str, object] = {}
    for result in (told(docs_processed=2), told(docs_processed=4, chunks_embedded=8)):
        note_index_facts(result, facts)
    assert facts == {"documents": 2, "chunks": 8}


def test_calls_that_were_made_are_counted() -> None:
    """A failed call was made; one that a stop left over was not."""
    aborted = make_result("q3", failure=make_failure("aborted", message="not asked"))
    answers = AnswersSoFar(results=[make_result("q1"), make_result("q2", failure=make_failure()), aborted])
    assert answers.interrupted(8) == "interrupted after 2 of 8 calls"
