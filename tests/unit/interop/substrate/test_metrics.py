"""substrate's numbers, worked out by hand: short lists, ties, duplicates and nothing to divide by."""

from __future__ import annotations

import math
from typing import Any

import pytest

from raggate_interop.substrate import metrics
from raggate_interop.substrate.metrics import Definitions, RankedQuery
from tables import each_row

D2 = 0.6309297535714574  # 1 / log2(3)
D3 = 0.5
TOLD = metrics.Fields(heading_only=True, bodies=True)


def entries(*doc_ids: str, **fields: Any) -> list[dict[str, Any]]:
    """Return ranked results; a field given as a list holds one value per result."""
    return [
        {"rank": rank, "doc_id": doc_id, **{key: value[rank - 1] for key, value in fields.items()}}
        for rank, doc_id in enumerate(doc_ids, 1)
    ]


def asked(results: list[dict[str, Any]], *expected: str, **fields: Any) -> RankedQuery:
    """Build a query that expects documents of grade 1, unless `grades` says otherwise."""
    grades = {metrics.stem(doc_id): 1 for doc_id in expected}
    return RankedQuery(
        **{"query": "q", "mode": "bm25", "difficulty": "easy", "grades": grades, "results": results, **fields}
    )


def row(query: str, mode: str, *doc_ids: str, expected: tuple[str, ...] = ("a",), **fields: Any) -> dict[str, Any]:
    """Build a row of results.jsonl."""
    return {"query": query, "mode": mode, "expected_docs": list(expected), "results": entries(*doc_ids), **fields}


@each_row(
    ("item", "hits", "reciprocal", "gain"),
    [
        pytest.param(asked(entries("a", "b"), "a"), (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), id="first"),
        pytest.param(
            asked(entries("x", "y", "z", "a"), "a"),
            (0, 0, 1, 1),
            (0, 0, 1 / 4, 1 / 4),
            (0, 0, 1 / math.log2(5), 1 / math.log2(5)),
            id="fourth",
        ),
        pytest.param(asked(entries("x"), "a"), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), id="short list, a miss"),
        pytest.param(asked([], "a"), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), id="empty list"),
        pytest.param(asked(entries("a")), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), id="nothing expected"),
        pytest.param(asked(entries("notes/a.md"), "notes/a"), (1,) * 4, (1,) * 4, (1,) * 4, id="ids with .md"),
        pytest.param(
            asked(entries("x", "b", "a"), "a", "b"),
            (0, 1, 1, 1),
            (0, 1 / 2, 1 / 2, 1 / 2),
            (0, *[(D2 + D3) / (1 + D2)] * 3),
            id="two expected",
        ),
        pytest.param(
            asked(entries("x", "x", "x", "a"), "a"),
            (0, 0, 1, 1),
            (0, 0, 1 / 4, 1 / 4),
            (0, D2, D2, D2),
            id="places of hits are of chunks, gains are of documents",
        ),
        pytest.param(
            asked(entries("b", "a"), grades={"a": 3, "b": 1}),
            (1, 1, 1, 1),
            (1, 1, 1, 1),
            (1 / 3, *[(1 + 3 * D2) / (3 + D2)] * 3),
            id="graded",
        ),
    ],
)
def test_ranked(
    item: RankedQuery, hits: tuple[float, ...], reciprocal: tuple[float, ...], gain: tuple[float, ...]
) -> None:
    """Hit, MRR and nDCG at 1, 3, 5 and 10 are the values worked out by hand."""
    cutoffs = (1, 3, 5, 10)
    assert tuple(metrics.hit(item, k) for k in cutoffs) == hits
    assert tuple(metrics.mrr(item, k) for k in cutoffs) == pytest.approx(reciprocal)
    assert tuple(metrics.ndcg(item, k) for k in cutoffs) == pytest.approx(gain)


def test_ndcg_as_written_can_exceed_one() -> None:
    """Three chunks of the one expected document gain 2.13 by their script, and 1 when documents are deduplicated."""
    item = asked(entries("a", "a", "a"), "a")
    assert metrics.ndcg(item, 10, deduplicated=False) == pytest.approx(2.13, abs=0.005)
    assert metrics.ndcg(item, 10) == 1.0


@each_row(
    ("doc_ids", "duplicates", "diversity"),
    [
        pytest.param(("a", "b", "c"), 0.0, 1.0, id="all different"),
        pytest.param(("a", "a", "b", "a"), 0.5, 0.5, id="one document three times"),
        pytest.param(("a.md", "a"), 0.5, 0.5, id="the same document with and without .md"),
        pytest.param((), 0.0, None, id="an empty list"),
    ],
)
def test_duplicates(doc_ids: tuple[str, ...], duplicates: float, diversity: float | None) -> None:
    """Repeated documents are counted over the results there are, not over k."""
    item = asked(entries(*doc_ids), "a")
    assert metrics.duplicate_doc_rate(item, 10) == duplicates
    assert metrics.diversity_rate(item, 10) == diversity


def test_diversity_by_cluster() -> None:
    """Near-duplicates of one cluster count once; a document without a cluster is one of its own."""
    item = asked(entries("a.md", "b", "c", "d"), "a")
    assert metrics.diversity_rate(item, 5, {"a": "one", "b.md": "one", "c": "two"}) == 3 / 4


def test_diversity_looks_at_five_results() -> None:
    """By default the diversity rate is of the first five results, as the scenario says, the duplicate rate of ten."""
    table = metrics.score([asked(entries(*"abcdeaaaaa"), "a")])
    assert table["bm25"]["easy"]["diversity_rate"] == 1.0
    assert table["bm25"]["easy"]["duplicate_doc_rate"] == 0.5


@each_row(
    ("results", "value"),
    [
        pytest.param(entries("a", "b", heading_only=[True, False]), 1.0, id="first is heading-only"),
        pytest.param(entries("a", "b", heading_only=[False, True]), 0.0, id="second is"),
        pytest.param(entries("a", "b", heading_only=[None, True]), None, id="first is not told"),
        pytest.param([], 0.0, id="empty list"),
    ],
)
def test_dominance_of_queries(results: list[dict[str, Any]], value: float | None) -> None:
    """(a) The first result alone decides for a query."""
    assert metrics.dominance_of_query(results, TOLD) == value


def test_dominance_without_heading_data_is_null() -> None:
    """A run whose results say nothing about headings has no rate (a) or (c) and no heading-only hits, rather than 0."""
    values = metrics.score([asked([], "a"), asked(entries("a"), "a")])["bm25"]["easy"]
    assert values["heading_dominance_rate"] is None
    assert values["heading_only_hit_rate"] is None


@each_row(
    ("entry", "mode", "dominated"),
    [
        pytest.param({"score": 1.0, "scores": {"fts": 0.7}}, "hybrid", True, id="exactly at the threshold"),
        pytest.param({"score": 1.0, "scores": {"fts": 0.69}}, "hybrid", False, id="below it"),
        pytest.param({"score": 1.0, "scores": {"retrieval": 0.9, "fts": 0.1}}, "hybrid", True, id="retrieval channel"),
        pytest.param({"score": 1.0, "scores": {"vector": 1.0}}, "vector", False, id="vector alone"),
        pytest.param({"score": 0.0, "scores": {"fts": 0.5}}, "hybrid", False, id="score of zero"),
        pytest.param({"score": -1.0, "scores": {"fts": 0.5}}, "hybrid", False, id="negative score"),
        pytest.param({"score": None, "scores": {"fts": 0.5}}, "hybrid", False, id="no score"),
        pytest.param({"score": 1.0, "scores": {}}, "bm25", True, id="no components in bm25"),
        pytest.param({"score": 1.0}, "hybrid", False, id="no components elsewhere"),
    ],
)
def test_dominance_of_results(entry: dict[str, Any], mode: str, dominated: bool) -> None:
    """(b) A result counts when the lexical channel makes up 0.7 of its score."""
    assert metrics.is_dominated(entry, mode, 0.7) is dominated


def test_dominance_of_results_pools_the_bucket() -> None:
    """(b) is a share of results, not a mean over queries: 1 of 1 and 0 of 3 make 1/4; no results make 0."""
    single, other = entries("a", scores=[{"fts": 1}], score=[1.0]), entries("a", "b", "c", scores=[{"vector": 1}] * 3)
    assert metrics.dominance_of_results([single, other], "hybrid", 10, 0.7) == 1 / 4
    assert metrics.dominance_of_results([[], []], "hybrid", 10, 0.7) == 0.0


@each_row(
    ("doc_ids", "bodies", "dominance", "hits"),
    [
        pytest.param("aab", ["", "text", "text"], 1.0, 1 / 3, id="the first chunk of a has no body"),
        pytest.param("aab", ["text", " ", "text"], 0.0, 1 / 3, id="the second chunk has none"),
        pytest.param("aabb", ["", "x", "x", ""], 0.5, 0.5, id="one of two documents"),
        pytest.param("abc", ["", "", ""], 0.0, 1.0, id="no document has several chunks"),
        pytest.param("", [], 0.0, 0.0, id="empty list"),
        pytest.param("aa", ["", None], None, None, id="a body is not told"),
    ],
)
def test_dominance_of_documents(
    doc_ids: str, bodies: list[str | None], dominance: float | None, hits: float | None
) -> None:
    """(c) and heading-only hits go by empty bodies."""
    results = entries(*doc_ids, body_text=bodies)
    assert metrics.dominance_of_documents(results, 10, TOLD) == dominance
    assert metrics.heading_only_hits(results, 10, TOLD) == hits


def test_heading_variants_by_name() -> None:
    """One run has three heading dominance rates, and the name chooses."""
    results = entries(
        *"aab",
        heading_only=[False, True, True],
        body_text=["", "x", "x"],
        score=[1.0] * 3,
        scores=[{"fts": 0.9}, {"fts": 0.1}, {"fts": 0.1}],
    )
    items = [asked(results, "a", mode="hybrid")]
    rates = {
        rule: metrics.score(items, Definitions(heading=rule))["hybrid"]["overall"]["heading_dominance_rate"]
        for rule in ("seed", "build_metrics", "heading_bias")
    }
    assert rates == {"seed": 0.0, "build_metrics": 1 / 3, "heading_bias": 1.0}


def test_overall_is_a_mean_over_queries() -> None:
    """Three easy hits and one hard miss are 0.75 overall, not the 0.5 of the two buckets."""
    items = [asked(entries("a"), "a") for _ in range(3)] + [asked([], "a", difficulty="hard")]
    table = metrics.score(items)["bm25"]
    assert (table["easy"]["hit_at_1"], table["hard"]["hit_at_1"], table["overall"]["hit_at_1"]) == (1.0, 0.0, 0.75)
    assert (table["easy"]["count"], table["hard"]["count"], table["overall"]["count"]) == (3, 1, 4)


def test_join_keeps_to_the_modes_of_a_query() -> None:
    """A query counts in the modes it names, hybrid covers hybrid_rerank, and a mode without a row is a miss."""
    queries = [
        {"query": "q1", "expected_docs": ["a"], "retriever_types": ["hybrid"]},
        {"query": "q2", "expected_docs": ["a"], "retriever_types": None},
        {"query": "q3", "expected_docs": ["a"], "retriever_types": ["vector"]},
    ]
    rows = [row("q1", mode, "a") for mode in ("bm25", "hybrid", "hybrid_rerank")] + [row("stray", "bm25")]
    joined = metrics.join(queries, rows)
    assert [(item.query, item.mode) for item in joined.asked] == [
        ("q2", "bm25"),
        ("q1", "hybrid"),
        ("q2", "hybrid"),
        ("q1", "hybrid_rerank"),
        ("q2", "hybrid_rerank"),
    ]
    assert joined.missing == (("q2", "bm25"), ("q2", "hybrid"), ("q2", "hybrid_rerank"))
    assert joined.unknown == (("stray", "bm25"),)
    assert joined.absent == ("vector",)
    assert len(metrics.join(queries, rows, all_modes=True).asked) == 9


def test_join_takes_the_labels_of_the_queries() -> None:
    """Labels that were stored with the results do not count; difficulty and grades are those of the query."""
    query = {"query": "q", "expected_docs": ["b"], "difficulty": "hard", "relevance": {"b": 2, "c.md": 1, "d": 0}}
    (item,) = metrics.join([query], [row("q", "bm25", "a", difficulty="easy")]).asked
    assert (item.difficulty, dict(item.grades)) == ("hard", {"b": 2, "c": 1})


def with_own_labels(*rows: metrics.Row) -> list[metrics.RankedQuery]:
    """Rank queries that are labelled by the keys of their own rows."""
    return [item for row in rows for item in metrics.join([row], [row], all_modes=True).asked]


def test_run_experiment_as_written() -> None:
    """Their first script gives hit at 1, 3 and the limit, MRR at the limit, and counts in floats."""
    rows = [row("q1", "bm25", "x", "a"), row("q2", "bm25"), row("q3", "bm25", "a", difficulty="easy")]
    assert metrics.run_experiment(with_own_labels(*rows), limit=2) == {
        "bm25": {
            "medium": {"count": 2.0, "hit_at_1": 0.0, "hit_at_3": 0.5, "hit_at_2": 0.5, "mrr_at_2": 0.25},
            "easy": {"count": 1.0, "hit_at_1": 1.0, "hit_at_3": 1.0, "hit_at_2": 1.0, "mrr_at_2": 1.0},
        }
    }


def test_build_metrics_as_written() -> None:
    """Their second script adds nDCG with repeated gains and dominance (b), rounded to 6 decimals."""
    table = metrics.build_metrics(with_own_labels(row("q1", "bm25", "a", "a", "a"), row("q2", "hybrid", "x", "a")))
    assert table["bm25"]["medium"] == {"ndcg_at_10": 2.13093, "heading_dominance_rate": 1.0}
    assert table["hybrid"]["medium"] == {"ndcg_at_10": 0.63093, "heading_dominance_rate": 0.0}


def test_golden_check_as_written() -> None:
    """Their harness compares ids letter by letter, keeps to retriever_types and reports hits alone.

    A query without results is a miss; a mode that was not run at all is left out.
    """
    queries = [
        {"query": "q1", "expected_docs": ["a.md"], "difficulty": "easy", "retriever_types": ["bm25"]},
        {"query": "q2", "expected_docs": ["b"], "difficulty": "easy", "retriever_types": ["bm25", "hybrid", "vector"]},
        {"query": "q3", "expected_docs": ["b"], "difficulty": "easy"},
    ]
    rows = [row("q1", "bm25", "a"), row("q2", "bm25", "x", "b"), row("q3", "bm25", "b"), row("q1", "vector", "a.md")]
    hits = {"hit_at_1": 0.0, "hit_at_3": 0.5, "hit_at_5": 0.5, "hit_at_10": 0.5}
    none = dict.fromkeys(hits, 0.0)
    assert metrics.golden_check(queries, rows) == {
        "bm25": {"easy": {"count": 2.0, **hits}},
        "vector": {"easy": {"count": 1.0, **none}},
    }
