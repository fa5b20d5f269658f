"""What an API tells of its index."""

from __future__ import annotations

from typing import Any

from builders import make_failure, make_response, make_result
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.pipeline import index_facts

LOOK = IndexState(healthy=True, indexing=False, documents=3, chunks=9)


def told(**coverage: Any) -> Result:
    """Make a result whose answer tells of the index."""
    return make_result(response=make_response(coverage=coverage))


def test_every_value_of_a_fact_is_kept_as_text() -> None:
    """Answers of two indexes show both, also where the fact stands deeper; other keys are no facts."""
    results = [
        told(index_version="i2", chunk_token_stats={"mean": 25.5}, mode="fast"),
        told(index_version="i1", chunk_token_stats=7),
        make_result(response=None, failure=make_failure()),
    ]
    assert index_facts.values_of(results, None) == {"chunk_tokens": ("25.5",), "index_version": ("i1", "i2")}


def test_the_last_look_counts_where_no_answer_tells() -> None:
    """The documents of an answer count more than those of the look; its chunks are those of the look."""
    assert index_facts.values_of([told(docs_processed=2)], LOOK) == {"chunks": ("9",), "documents": ("2",)}


def test_an_index_that_changes_with_every_answer() -> None:
    """Ten values of a fact are kept."""
    results = [told(index_version=f"i{number:02}") for number in range(30)]
    assert index_facts.values_of(results, None) == {"index_version": tuple(f"i{number:02}" for number in range(10))}


def test_the_first_answer_that_tells_a_fact_counts() -> None:
    """A run has the value of the first answer, and of a later one what that one did not tell."""
    facts: dict[str, object] = {}
    for result in (told(docs_processed=2), told(docs_processed=4, chunks_embedded=8)):
        index_facts.note(result, facts)
    assert facts == {"documents": 2, "chunks": 8}
