"""helloworld's numbers, computed by hand from its rules, quirks included."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_failure, make_response, make_result, make_support
from helloworld_files import make_chunk_row, make_row
from raggate.base.errors import UsageError
from raggate_interop.helloworld import metrics
from raggate_interop.helloworld.metrics import citations
from tables import each_row


@each_row(
    ("path", "expected"),
    [
        ("##  A->B ", "A- > B"),
        ("# A  >##\tB  C", "A > B C"),
        ("# A >> # > B", "A > B"),
        ("R&amp;D \u00e9", "R&amp;D \u00e9"),
        ("", ""),
        (None, ""),
    ],
)
def test_headings_are_normalised(path: str | None, expected: str) -> None:
    """Marks and spaces go, every > splits, case and entities stay."""
    assert metrics.normalise_heading(path) == expected


@each_row(
    ("gold", "retrieved", "expected"),
    [
        ("# Summary", "# Summary of X", True),
        ("", "# Anything", True),
        (None, "# Anything", True),
        ("# A", "### A > # B", True),
        ("# A > ## B", "# A", False),
        ("## Three", "# T > ## Three", False),
        ("# a", "# A", False),
    ],
)
def test_headings_match_as_string_prefixes(gold: str | None, retrieved: str, expected: bool) -> None:
    """A normalised heading path matches when it starts with the gold's, letter by letter."""
    support = make_support("a.md", gold)
    assert metrics.matches("a.md", retrieved, "text", support) is expected
    assert not metrics.matches("b.md", retrieved, "text", support)


def test_snippets_count_only_where_there_is_text() -> None:
    """One snippet must stand in the text, ignoring case; without text, as in references, none is asked for."""
    support = make_support("a.md", "# A", snippets=("one", "TWO"))
    assert metrics.matches("a.md", "# A", "… Two …", support)
    assert not metrics.matches("a.md", "# A", "three", support)
    assert metrics.matches("a.md", "# A", "", support)


def score(
    *chunks: dict[str, Any], supports: Any = None, row: dict[str, Any] | None = None, **case: Any
) -> dict[str, Any]:
    """Score a row with these chunks against a case whose gold supports are `# A` of a.md, unless given."""
    fields = {"gold_supports": supports} if supports is not None else {}
    return metrics.retrieval_metrics(make_row("q1", *chunks, **(row or {})), make_case(**fields, **case))


def test_one_row_by_hand() -> None:
    """First match at rank 2, two of five places match, and the list is not missed."""
    scores = score(make_chunk_row("x.md"), make_chunk_row(rank=2), make_chunk_row("a.md", "# A > ## B", 3))
    assert scores == {
        "recall_at_k": 1.0,
        "mrr": 0.5,
        "precision_at_k": 0.4,
        "scope_miss": False,
        "attribution_hit": False,
    }


def test_rank_field_counts_not_the_position() -> None:
    """MRR takes the rank a chunk claims; null gives 0, and 0 or nothing is the error their script dies of."""
    assert score(make_chunk_row(rank=4))["mrr"] == 0.25
    assert score(make_chunk_row(rank=None))["mrr"] == 0.0
    chunk = make_chunk_row()
    del chunk["rank"]
    for broken in (make_chunk_row(rank=0), chunk):
        with pytest.raises(UsageError, match="no rank above 0"):
            score(broken)


def test_k_is_the_rows_own() -> None:
    """K comes from the row's config, 5 without; precision divides by it however short the list is; K 0 gives 0."""
    chunks = [make_chunk_row("x.md", rank=rank) for rank in range(1, 6)] + [make_chunk_row(rank=6)]
    assert score(*chunks)["recall_at_k"] == 0.0
    assert score(*chunks, row={"config": {}})["recall_at_k"] == 0.0
    wide = score(*chunks, row={"config": {"k": 10}})
    assert (wide["recall_at_k"], wide["precision_at_k"]) == (1.0, 0.1)
    assert score(*chunks, row={"config": {"k": 0}})["precision_at_k"] == 0.0


def test_scope_miss_is_a_miss_of_the_whole_list() -> None:
    """A match behind K is no scope miss; no match is one, unless folders are off or nothing is labelled."""
    late = [make_chunk_row("x.md", rank=rank) for rank in range(1, 8)] + [make_chunk_row(rank=8)]
    assert score(*late)["scope_miss"] is False
    assert score(*late[:7])["scope_miss"] is True
    assert score(*late[:7], row={"config": {"k": 5, "folder_mode": "on"}})["scope_miss"] is True
    assert score(*late[:7], row={"config": {"k": 5, "folder_mode": "off"}})["scope_miss"] is False
    assert score(*late[:7], row={"config": {"k": 5}})["scope_miss"] is False
    assert score(*late[:7], supports=())["scope_miss"] is False


@each_row(
    ("groups", "expected"),
    [
        pytest.param(((0, 1),), 0.0, id="one of two"),
        pytest.param(((0, 1), (0,)), 1.0, id="or of groups"),
        pytest.param(((0, 2),), 0.0, id="index beyond the supports"),
        pytest.param(((-2,),), 1.0, id="negative index wraps: -2 is the first of two"),
        pytest.param(((-1,),), 0.0, id="negative index wraps: -1 is the last"),
        pytest.param(((),), 1.0, id="empty group"),
    ],
)
def test_recall_all(groups: tuple[tuple[int, ...], ...], expected: float) -> None:
    """Every support of some group must be matched, with their ways of reading odd indices."""
    supports = (make_support("a.md"), make_support("b.md"))
    case = {"supports": supports, "required_support_groups": groups}
    assert score(make_chunk_row(), category="multi_hop", **case)["recall_all_at_k"] == expected
    assert "recall_all_at_k" not in score(make_chunk_row(), category="factual", **case)


def test_attribution_by_reference_and_by_citation() -> None:
    """A reference or a citation attributes, without looking at snippets, and only for answerable questions."""
    supports = (make_support("a.md", "# A", snippets=("never there",)),)
    reference = {"vault": "v", "rel_path": " a.md ", "heading_path": "# A > ## B", "chunk_index": 0}
    assert score(supports=supports, row={"references": [reference]})["attribution_hit"] is True
    assert score(supports=supports, row={"answer": "See [File: a.md, Section: A]."})["attribution_hit"] is True
    assert score(supports=supports, row={"answer": None})["attribution_hit"] is False
    assert score(answerable=False, row={"references": [reference]})["attribution_hit"] is False


@each_row(
    ("answer", "expected"),
    [
        ("x [File: a/b.md, Section: S T] y", (("a/b.md", "S T"),)),
        ("x '[File: a.md, Section: S]' y", (("a.md", "S"),)),
        ("x [a.md, section: S] y", (("a.md", "S"),)),
        ("x (File: a.md, Section: S) y", (("a.md", "S"),)),
        ("file: a.md, Section: S. More", (("a.md", "S"),)),
        ("Text\n\nCitations:\n[File: b.md, Section: B]", (("b.md", "B"),)),
        ("[File: a.md, Section: A]\nCitations:\n[File: b.md, Section: B]", (("b.md", "B"), ("a.md", "A"))),
        ("[File: a, b.md, Section: S]", ()),
        ("[File: a.md, Section: S [draft] T]", (("a.md", "S [draft"),)),
        ("[File: a.txt, Section: S]", (("a.txt", "S"),)),
        # behind the blank line the section is over, but what stands there counts as read; only .md survives
        ("Citations:\n[File: a.md, Section: A]\n\n[File: b.txt, Section: B]", (("a.md", "A"),)),
        ("Citations:\n[File: a.md, Section: A]\n\n[File: b.md, Section: B]", (("a.md", "A"), ("b.md", "B"))),
        ("nothing", ()),
        ("", ()),
    ],
)
def test_citation_families(answer: str, expected: tuple[tuple[str, str], ...]) -> None:
    """The six ways of writing a citation are read as their patterns do, broken by commas and brackets."""
    assert citations(answer) == expected


@each_row(
    ("fields", "abstained"),
    [
        ({"abstention": {"abstained": True, "hallucinated": False}, "answer": "I cannot."}, True),
        ({"abstention": {"abstained": False}, "answer": ""}, False),
        ({"answer": " \n"}, True),
        ({"answer": None}, True),
        ({"answer": "Paris."}, False),
    ],
)
def test_abstention(fields: dict[str, Any], abstained: bool) -> None:
    """What is stored counts, else a blank answer is a refusal; hallucinated is the opposite."""
    row = make_row("q1", **fields)
    expected = {"abstained": abstained, "hallucinated": not abstained}
    assert metrics.abstention(row, make_case(answerable=False)) == expected
    assert metrics.abstention(row, make_case()) is None


CASES = {
    "q1": make_case("q1"),
    "q2": make_case("q2"),
    "q3": make_case("q3", answerable=False),
}


def test_aggregate_by_hand() -> None:
    """Means run over all rows of known cases, unanswerable ones as 0; an unknown id counts as answerable alone."""
    rows = [
        make_row("q1", make_chunk_row(rank=1), answer="[File: a.md, Section: A]", groundedness={"score": 4.0}),
        make_row("q2", make_chunk_row("x.md"), groundedness={"score": 1.0}, cost={"judge_tokens": 7}),
        make_row("q3", make_chunk_row("x.md"), answer="Paris."),
        make_row("stranger", make_chunk_row()),
    ]
    assert metrics.aggregate(rows, CASES) == {
        "recall_at_k_avg": 1 / 3,
        "mrr_avg": 1 / 3,
        "precision_at_k_avg": 0.2 / 3,
        "scope_miss_rate": 1 / 3,
        "attribution_hit_rate": 0.5,
        "abstention_accuracy": 0.0,
        "hallucination_rate_unanswerable": 1.0,
        "unanswerable_tests": 1,
        "answerable_tests": 3,
        "groundedness_avg": 2.5,
        "cost": {"judge_total_usd": 0.0, "judge_total_tokens": 7},
    }


def test_aggregate_of_nothing() -> None:
    """No row gives nothing at all; no unanswerable question gives null rates; no known case gives no mean."""
    assert metrics.aggregate([], CASES) == {}
    means = metrics.aggregate([make_row("q1")], CASES)
    assert (means["abstention_accuracy"], means["hallucination_rate_unanswerable"]) == (None, None)
    assert "recall_at_k_avg" not in metrics.aggregate([make_row("stranger")], CASES)


def test_operational_rates_count_answered_calls_twice() -> None:
    """Eight answers and two errors give 2/18; a timeout is none, a 504 is one; only an empty answer is empty."""
    answered = [make_result(f"q{i}", response=make_response(make_chunk(), answer="x")) for i in range(5)]
    answered += [
        make_result("e", response=make_response(answer="")),
        make_result("b", response=make_response(answer=" ")),
    ]
    answered += [make_result("a", response=make_response(answer="", abstained=True))]
    failed = [
        make_result("t", failure=make_failure("timeout")),
        make_result("s", failure=make_failure("status", status=504)),
    ]
    assert metrics.operational_metrics([*answered, *failed]) == {
        "error_rate": 2 / 18,
        "timeout_rate": 1 / 18,
        "empty_response_rate": 1 / 18,
        "coverage_by_doc_type": {},
    }
    assert metrics.operational_metrics([])["error_rate"] == 0.0


def test_coverage_counts_chunks_by_extension() -> None:
    """With index coverage, every retrieved chunk counts as a processed document of its extension."""
    chunks = (
        make_chunk(rel_path="A.MD"),
        make_chunk(rel_path="a.md"),
        make_chunk(rel_path="d.x/noext"),
        make_chunk(rel_path=".md"),
    )
    result = make_result("q1", response=make_response(*chunks, answer="x", coverage={"docs_processed": 2}))
    by_type = metrics.operational_metrics([result])["coverage_by_doc_type"]
    assert {kind: counts["processed"] for kind, counts in by_type.items()} == {"md": 2, "unknown": 2}


@each_row(
    ("values", "p50", "p95"), [([], 0.0, 0.0), ([3.0], 3.0, 3.0), ([4.0, 1.0], 4.0, 4.0), (list(range(20)), 10, 19)]
)
def test_latency_takes_its_index(values: list[float], p50: float, p95: float) -> None:
    """p50 is sorted[n // 2] and p95 sorted[int(0.95 n)], which of two values take the larger."""
    assert metrics.latency(values) == {"p50_ms": p50, "p95_ms": p95, "total_ms": sum(values)}


def test_index_coverage_is_added_up() -> None:
    """Counts of every row are summed, token statistics combined, and the first versions kept."""
    stats = {"min": 2, "max": 9, "mean": 4.0, "p95": 8.0}
    first = {
        "docs_processed": 3,
        "chunks_skipped_reasons": {"long": 1},
        "chunk_token_stats": stats,
        "index_version": "i",
    }
    other = {"docs_processed": 3, "chunk_token_stats": {**stats, "min": 1, "mean": 5.0}}
    rows = [make_row(indexing_coverage=first), make_row(), make_row(indexing_coverage=other)]
    coverage = metrics.indexing_coverage(rows)
    assert coverage is not None
    assert (coverage["docs_processed"], coverage["chunks_attempted"], coverage["index_version"]) == (6, 0, "i")
    assert coverage["chunks_skipped_reasons"] == {"long": 1}
    assert coverage["chunk_token_stats"] == {"min": 1, "max": 9, "mean": 4.5, "p95": 8.0}
    assert metrics.indexing_coverage([make_row()]) is None
