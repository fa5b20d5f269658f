"""Which optional fields an API tells, and which it tells no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result
from raggate.models.run import Chunk, LabelledResult
from raggate.scoring.answer_fields import Counts, count, lost
from tables import each_row

ALLOWED = 0.02


def answer(*chunks: Chunk, labels: dict[str, Any] | None = None, **response: Any) -> LabelledResult:
    """Build an answer in the mode hybrid."""
    return make_labelled(make_case(), make_result(response=make_response(*chunks, **response)), **(labels or {}))


def counts(items: Sequence[LabelledResult]) -> Counts:
    """Count the fields of answers."""
    counted: Counts = {}
    for item in items:
        count(item, counted)
    return counted


def names(before: object, now: object, allowed: float = ALLOWED) -> list[str]:
    """Name the fields that are lost."""
    return [item.field for item in lost(before, now, allowed)]


TOLD = {
    "chunk_id": answer(make_chunk("c1")),
    "doc_id": answer(make_chunk(doc_id="d")),
    "heading_path": answer(make_chunk("", text="")),
    "rank": answer(make_chunk(rank=1)),
    "score_final": answer(make_chunk(score_final=0.0)),
    "score_lexical": answer(make_chunk(score_lexical=0.0)),
    "score_vector": answer(make_chunk(score_vector=0.0)),
    "vault": answer(make_chunk(vault="work")),
    "text": answer(make_chunk("", heading_path="")),
    "indexing_coverage.chunker_version": answer(coverage={"chunker_version": "1"}),
    "indexing_coverage.chunks_embedded": answer(coverage={"chunks_embedded": 0}),
    "indexing_coverage.docs_processed": answer(coverage={"docs_processed": 0}),
    "indexing_coverage.docs_with_0_chunks": answer(coverage={"docs_with_0_chunks": 0}),
    "indexing_coverage.index_version": answer(coverage={"index_version": "1"}),
    "available_folders": answer(available_folders=()),
    "grounded": answer(grounded=False),
    "selected_folders": answer(selected_folders=()),
}
NOTHING = answer(make_chunk("", heading_path="", text=""), labels={"empty": (0,)})


@each_row(("field", "item"), TOLD.items(), ids=TOLD)
def test_each_field(field: str, item: LabelledResult) -> None:
    """A field counts as told with the first value it has, zero and empty lists included, and is missed when it goes."""
    assert counts([item])["hybrid"][field] == [1, 1]
    assert field in names(counts([item]), counts([NOTHING]))
    assert field not in names(counts([item]), counts([item]))


def test_every_field_is_covered_here() -> None:
    """All fields that are counted stand above."""
    assert set(counts([NOTHING])["hybrid"]) == set(TOLD)


def test_one_chunk_that_tells_is_enough() -> None:
    """A field of chunks is told by an answer when one of its chunks has it."""
    assert counts([answer(make_chunk(rank=1), make_chunk("c2"))])["hybrid"]["rank"] == [1, 1]


@each_row("field", ["chunk_id", "doc_id", "vault"])
def test_an_identifier_counts_where_all_chunks_have_it(field: str) -> None:
    """One chunk that says where it is from speaks for itself alone: the others could be from anywhere."""
    silent = {"chunk_id": "", "doc_id": None, "vault": None}
    telling = {"chunk_id": "c1", "doc_id": "d", "vault": "work"}
    some = make_chunk(**{**telling, field: silent[field]})
    assert counts([answer(make_chunk(**telling), make_chunk(**telling))])["hybrid"][field] == [1, 1]
    assert counts([answer(make_chunk(**telling), some)])["hybrid"][field] == [0, 1]


def test_fields_without_an_answer_do_not_count() -> None:
    """An answer without chunks says nothing of fields of chunks, and a failed call nothing at all."""
    failed = make_labelled(make_case(), make_result(failure=make_failure()))
    counted = counts([answer(), failed])
    assert "rank" not in counted["hybrid"]
    assert counted["hybrid"]["grounded"] == [0, 1]
    assert counts([failed]) == {}


@each_row(
    ("before", "now", "gone"),
    [
        ([100, 100], [100, 100], False),
        ([100, 100], [98, 100], False),
        ([100, 100], [97, 100], True),
        ([98, 100], [0, 100], True),
        ([97, 100], [0, 100], False),
        ([0, 0], [0, 100], False),
        ([100, 100], [0, 0], False),
    ],
)
def test_a_field_may_be_missing_as_often_as_a_call_may_fail(before: list[int], now: list[int], gone: bool) -> None:
    """What is missing in no more than the allowed share of answers counts as told, in the baseline and now."""
    assert names({"hybrid": {"rank": before}}, {"hybrid": {"rank": now}}) == (["rank"] if gone else [])


@each_row("stored", [None, [], "x", {"hybrid": 3}, {"hybrid": {"rank": [1]}}, {"hybrid": {"rank": ["1", True]}}])
def test_what_is_no_count_is_none(stored: object) -> None:
    """A baseline that holds something else there, or nothing, misses nothing."""
    assert names(stored, {"hybrid": {"rank": [0, 100]}}) == []


def test_a_mode_that_is_gone_loses_no_field() -> None:
    """Fields are missed in the modes that are asked now; a mode that vanished is a reason of its own."""
    assert names({"vector": {"rank": [9, 9]}}, {"hybrid": {"rank": [0, 9]}}) == []
