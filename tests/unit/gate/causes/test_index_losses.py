"""What an index has lost since the baseline, and what of it is no longer counted."""

from __future__ import annotations

from typing import Any

from builders import make_baseline, make_case_score, make_comparison, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate import completeness
from raggate.gate.causes import index_losses
from raggate.models.comparison import Comparison
from tables import each_row

GATE = Gate(metrics={"hit_at_5": 0.05})


def sides(before: dict[str, Any], now: dict[str, Any]) -> Comparison:
    """Build a comparison of two fingerprints."""
    case = make_case_score()
    baseline = make_baseline(make_scorecard(case, fingerprint=before))
    return make_comparison(baseline=baseline, scorecard=make_scorecard(case, fingerprint=now))


@each_row(
    ("before", "now", "smaller"),
    [
        ({"vault": "v", "chunks": 9}, {"vault": "v", "chunks": 8}, True),
        ({"vault": "v", "chunks": 9}, {"vault": "v", "chunks": 9}, False),
        ({"vault": "v", "chunks": 9}, {"vault": "w", "chunks": 8}, False),
        ({"vault": "v"}, {"vault": "v", "chunks": 8}, False),
    ],
    ids=["one chunk less", "as many", "other notes", "not known"],
)
def test_an_index_of_fewer_chunks(before: dict[str, Any], now: dict[str, Any], *, smaller: bool) -> None:
    """An index of the same notes with fewer chunks is told, whether they were cut the same way or not."""
    told = [*index_losses.chunks(sides(before, now), same_chunker=False)]
    assert [reason.code for reason in told] == (["index-smaller"] if smaller else [])
    same = {"chunker_version": "1"}
    told = [*index_losses.chunks(sides({**before, **same}, {**now, **same}), same_chunker=True)]
    assert [reason.code for reason in told] == (["index-smaller"] if smaller else [])
    assert not [*index_losses.chunks(sides({**before, **same}, {**now, **same}), same_chunker=False)]


@each_row(
    ("before", "now", "missing"),
    [
        ({"vault": "v", "documents": 9}, {"vault": "v", "documents": 8}, True),
        ({"vault": "v", "documents": 9}, {"vault": "v", "documents": 9}, False),
        ({"vault": "v", "documents": 9}, {"vault": "v", "documents": 10}, False),
        ({"vault": "v", "documents": 9}, {"vault": "w", "documents": 8}, False),
        ({"vault": "v", "documents": 9}, {"vault": "v"}, False),
        ({"documents": 9}, {"documents": 8}, False),
    ],
    ids=["one document less", "as many", "more", "other notes", "not told any more", "notes not known"],
)
def test_an_index_of_fewer_documents(before: dict[str, Any], now: dict[str, Any], *, missing: bool) -> None:
    """An index that lost documents of the same notes keeps a green comparison from being one, whatever was asked."""
    told = [*completeness.incomplete(sides(before, now), (), GATE)]
    reasons = [reason for reason in told if reason.code == "documents-missing"]
    assert reasons[:1] == [*index_losses.documents(sides(before, now), promoting=False)]
    assert len(reasons) == missing
    assert not missing or "has 8 documents of the same notes, 9 in the baseline's run" in reasons[0].message


@each_row(
    ("before", "now", "missing"),
    [
        ({"vault": "v", "empty_documents": 0}, {"vault": "v", "empty_documents": 6}, True),
        ({"vault": "v", "empty_documents": 2}, {"vault": "v", "empty_documents": 2}, False),
        ({"vault": "v", "empty_documents": 2}, {"vault": "v", "empty_documents": 0}, False),
        ({"vault": "v", "empty_documents": 0}, {"vault": "w", "empty_documents": 6}, False),
        ({"vault": "v"}, {"vault": "v", "empty_documents": 6}, False),
    ],
    ids=("six more", "as many", "fewer", "other notes", "an older baseline"),
)
def test_documents_that_are_counted_and_have_no_chunk(
    before: dict[str, Any], now: dict[str, Any], *, missing: bool
) -> None:
    """Attack: an index that counts notes and keeps nothing of them has lost them, however their chunks were cut."""
    whole = {"documents": 12, "chunks": 36}
    comparison = sides({**whole, **before, "chunker_version": "1"}, {**whole, **now, "chunker_version": "2"})
    for reasons in (completeness.incomplete(comparison, (), GATE), completeness.less_told(comparison, GATE)):
        told = [reason.message for reason in reasons if reason.code == "documents-missing"]
        assert len(told) == missing
        assert not missing or told[0].startswith("6 more documents of the index without any chunk than in the baseline")


@each_row(
    ("gone", "way_out"),
    [
        ({"documents": 8}, "if notes are left out on purpose, promote a run without them, with --allow-regression"),
        (
            {"empty_documents": 3},
            "if they have nothing to be found, promote a run of this index, with --allow-regression",
        ),
    ],
)
def test_the_way_out_is_one_that_is_open(gone: dict[str, Any], way_out: str) -> None:
    """A chunker that skips tiny notes on purpose is promoted with permission, and without it that is refused."""
    before = {"vault": "v", "documents": 9, "empty_documents": 0}
    comparison = sides(before, {**before, **gone})
    (reason,) = index_losses.documents(comparison, promoting=False)
    assert reason.message.endswith(f"{way_out} and a --reason")
    (refused,) = completeness.less_told(comparison, GATE)
    assert refused.code == reason.code
    assert "promote" not in refused.message


@each_row(
    ("now", "words"),
    [
        ({"documents": 9, "chunks": 30}, []),
        ({"chunks": 30}, ["the documents of its index"]),
        ({"documents": 9, "chunks": None}, ["the chunks of its index"]),
        ({"documents": "9"}, ["the documents of its index", "the chunks of its index"]),
    ],
    ids=["counted", "no documents", "null for chunks", "a text"],
)
def test_an_index_that_is_no_longer_counted(now: dict[str, Any], words: list[str]) -> None:
    """An API that stops counting its index cannot lose documents unseen: it keeps a green comparison from being one."""
    comparison = sides({"documents": 9, "chunks": 30}, now)
    reasons = [*completeness.incomplete(comparison, (), GATE)]
    told = [reason.message for reason in reasons if reason.code == "field-vanished"]
    assert len(told) == len(words)
    assert all(part in message for part, message in zip(words, told, strict=True))


def test_a_count_that_was_never_told() -> None:
    """What the baseline's API did not count cannot be missed, and a new count is none that vanished."""
    assert not [*index_losses.counts(sides({}, {"documents": 9}), ())]


def test_a_count_whose_field_of_answers_is_gone_is_told_once() -> None:
    """Where the answers themselves no longer tell the count, that says it."""
    fields = {"fields": {"hybrid": {"indexing_coverage.docs_processed": [4, 4]}}}
    gone = {"fields": {"hybrid": {"indexing_coverage.docs_processed": [0, 4]}}}
    comparison = sides({"documents": 9, **fields}, gone)
    (reason,) = completeness.lost_fields(comparison, GATE)
    assert "the API returned indexing_coverage.docs_processed (hybrid) in 4 of 4 answers of the" in reason.message


def test_a_promotion_of_a_smaller_index_needs_permission() -> None:
    """What an index lost is said before a baseline is made of it, without the advice to promote."""
    before = {"vault": "v", "documents": 9, "chunks": 30, "chunker_version": "1"}
    told = [*completeness.less_told(sides(before, {**before, "documents": 8, "chunks": 27}), GATE)]
    assert [reason.code for reason in told] == ["documents-missing", "index-smaller"]
    assert not any("promote" in reason.message for reason in told)
