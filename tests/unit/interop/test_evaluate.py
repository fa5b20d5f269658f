"""Evaluating result lists: hand-computed tables, the denominators, agreement with pytrec_eval and with the gate."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Iterable, Mapping
from itertools import count
from math import fsum, log2
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, strategies as st

from builders import make_ranked
from raggate.base.errors import UsageError
from raggate.scoring.metrics import retrieval
from raggate_interop.evaluate import (
    BATCH,
    CUTOFFS,
    Counts,
    Evaluation,
    Files,
    Mean,
    Measures,
    Scattered,
    evaluate,
    evaluate_files,
)
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import QueryGrades, Ranking, iter_lists, ranked
from tables import each_row

D2, D3, D4 = 1 / log2(3), 1 / 2, 1 / log2(5)
"""Discounts of ranks 2 to 4; that of rank 1 is 1."""


def measured(doc_ids: str, grades: Mapping[str, int], k: int) -> dict[str, float]:
    """Measure a list of one-letter documents at one cut-off, by short names."""
    measures = Measures([k])
    top, precision = measures.of(ranked(doc_ids), grades)
    names = [name.removesuffix(f"_at_{k}") for name in measures.names]
    seen = top.judged[0] * min(k, len(doc_ids)) if top.judged else 0
    return {**dict(zip(names, [*top.values, precision], strict=True)), "seen": seen}


# list, grades, k: hit, recall, precision, mrr, ndcg, ndcg_exp, map, judged places
TABLE = [
    pytest.param("ab", {"a": 1}, 1, (1, 1, 1, 1, 1, 1, 1, 1), id="first place"),
    pytest.param("ba", {"a": 1}, 1, (0, 0, 0, 0, 0, 0, 1 / 2, 0), id="behind the cut-off; map goes on"),
    pytest.param(
        "xayb",
        {"a": 1, "b": 1},
        4,
        (1, 1, 2 / 4, 1 / 2, (D2 + D4) / (1 + D2), (D2 + D4) / (1 + D2), (1 / 2 + 2 / 4) / 2, 2),
        id="two of two",
    ),
    pytest.param(
        "a",
        {"a": 1, "b": 1},
        5,
        (1, 1 / 2, 1 / 5, 1, 1 / (1 + D2), 1 / (1 + D2), 1 / 2, 1),
        id="shorter than k: precision divides by k, the ideal stays whole",
    ),
    pytest.param(
        "ab",
        {"a": 1, "b": 2},
        2,
        (1, 1, 1, 1, (1 + 2 * D2) / (2 + D2), (1 + 3 * D2) / (3 + D2), 1, 2),
        id="a lower grade above a higher one",
    ),
    pytest.param("ba", {"a": 1, "b": 2}, 1, (1, 1 / 2, 1, 1, 1, 1, 1, 1), id="ideal is cut at k"),
    pytest.param(
        "nam",
        {"n": 0, "m": -1, "a": 3},
        3,
        (1, 1, 1 / 3, 1 / 2, D2, D2, 1 / 2, 3),
        id="grade 0 and below are judged, not relevant",
    ),
    pytest.param("", {"a": 1}, 3, (0, 0, 0, 0, 0, 0, 0, 0), id="empty list"),
    pytest.param("xyz", {"a": 1}, 3, (0, 0, 0, 0, 0, 0, 0, 0), id="nothing judged"),
    pytest.param("xa", {"a": 1000}, 2, (1, 1, 1 / 2, 1 / 2, D2, D2, 1 / 2, 1), id="the largest grade"),
]


@each_row(("doc_ids", "grades", "k", "expected"), TABLE)
def test_measures(doc_ids: str, grades: dict[str, int], k: int, expected: tuple[float, ...]) -> None:
    """Every metric has the value computed by hand."""
    names = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp", "map", "seen")
    assert measured(doc_ids, grades, k) == pytest.approx(dict(zip(names, expected, strict=True)), abs=1e-15)


@each_row(("doc_ids", "grades", "k", "expected"), TABLE)
def test_measures_of_a_long_list(doc_ids: str, grades: dict[str, int], k: int, expected: tuple[float, ...]) -> None:
    """A list that goes on with unjudged documents, which is gone through in another way, is worth the same."""
    measures = Measures([k])
    longer = [*doc_ids, *map(str, range(4 * len(grades)))]
    (top, precision), (own, own_precision) = (
        measures.of(ranked(documents), dict(reversed(grades.items()))) for documents in (longer, list(doc_ids))
    )
    assert ([*top.values, precision], top.relevant) == ([*own.values, own_precision], own.relevant)
    assert precision == pytest.approx(expected[6], abs=1e-15)


def test_lists_that_look_alike_are_summed_like_others() -> None:
    """A mean is the exact sum of the values of all lists, divided, however many lists look alike."""
    chance = random.Random(5)  # noqa: S311
    lists = {str(number): chance.sample("abcdefghijklmnopq", 17) for number in range(3 * BATCH + 7)}
    evaluation = evaluated(lists, {query: {"a": 1, "b": 3, "c": 0} for query in lists}, per_query=True)
    assert len({tuple(values.values()) for values in evaluation.per_query.values()}) < len(lists) / 3
    for name in (*Measures(CUTOFFS).names, *(f"judged_at_{k}" for k in CUTOFFS)):
        total = fsum(values[name] or 0 for values in evaluation.per_query.values())
        assert evaluation.metrics[name] == Mean(total / len(lists), len(lists)), name


def test_ideal_list_is_exactly_one() -> None:
    """A perfect list has ndcg 1.0, not nearly so."""
    grades = {str(number): number % 7 + 1 for number in range(50)}
    ideal = sorted(grades, key=lambda doc_id: -grades[doc_id])
    top, _ = Measures([10, 50]).of(ranked(ideal), grades)
    assert top.values[4:6] == top.values[10:12] == [1.0, 1.0]


@each_row("cutoffs", [[], [0], [3, -1], [100_001]])
def test_bad_cutoffs(cutoffs: list[int]) -> None:
    """A cut-off is a number of places."""
    with pytest.raises(UsageError, match="expected numbers from 1 to 100000"):
        Measures(cutoffs)


def evaluated(lists: Mapping[str, Iterable[str]], qrels: Mapping[str, Mapping[str, int]], **options: Any) -> Evaluation:
    """Evaluate lists of one-letter documents."""
    rankings = (Ranking(query_id, ranked(doc_ids), 0) for query_id, doc_ids in lists.items())
    return evaluate(rankings, (QueryGrades(*item) for item in qrels.items()), **options)


def test_denominators() -> None:
    """The judgements are the denominator; every query that is treated specially is counted."""
    qrels = {
        "hit": {"a": 1},
        "miss": {"a": 1},
        "empty": {"a": 1},
        "missing": {"a": 1},
        "none": {"a": 0},
        "no": {"a": 0},
    }
    lists = {"extra": "ab", "hit": "ab", "none": "a", "miss": "xy", "empty": ""}
    evaluation = evaluated(lists, qrels, cutoffs=[2], per_query=True)
    assert evaluation.counts == Counts(queries=4, missing=1, empty=1, extra=1, without_relevant=2, shallow=1)
    assert evaluation.metrics == {
        "hit_at_2": Mean(1 / 4, 4),
        "recall_at_2": Mean(1 / 4, 4),
        "precision_at_2": Mean(1 / 8, 4),
        "mrr_at_2": Mean(1 / 4, 4),
        "ndcg_at_2": Mean(1 / 4, 4),
        "ndcg_exp_at_2": Mean(1 / 4, 4),
        "map": Mean(1 / 4, 4),
        # only two lists have places that could be judged
        "judged_at_2": Mean(1 / 4, 2),
        "unjudged_at_2": Mean(3 / 4, 2),
    }
    assert list(evaluation.per_query) == ["hit", "miss", "empty", "missing"]
    assert evaluation.per_query["hit"]["unjudged_at_2"] == 1 / 2
    assert evaluation.per_query["missing"] == evaluation.per_query["empty"]
    assert set(evaluation.per_query["empty"].values()) == {0.0, None}


@each_row(
    ("lists", "qrels", "message"),
    [
        pytest.param({"q": "a"}, {"q": {"a": 0}}, "no query with a relevant document", id="nothing relevant"),
        pytest.param({}, {"q": {"a": 1}}, "no result list for any of 1 judged query, but 0 lists of", id="no lists"),
        pytest.param({"Q": "a"}, {"q": {"a": 1}}, "any of 1 judged query, but 1 list of", id="other ids"),
    ],
)
def test_nothing_to_measure(lists: dict[str, str], qrels: dict[str, dict[str, int]], message: str) -> None:
    """What could not be measured is an error, not a mean of 0."""
    with pytest.raises(UsageError, match=message):
        evaluated(lists, qrels)


def test_files_in_step_are_not_held() -> None:
    """Judgements in the order of the lists are read one ahead at most."""
    read = []

    def judgements() -> Iterable[QueryGrades]:
        for number in count():
            read.append(number)
            yield QueryGrades(str(number), {"a": 1})

    def rankings() -> Iterable[Ranking]:
        for number in range(3):
            yield Ranking(str(number), {"a": 1}, 0)
            assert read == list(range(number + 1))
        raise InterruptedError

    with pytest.raises(InterruptedError):
        evaluate(rankings(), judgements())


@each_row(
    ("lists", "judged"),
    [
        pytest.param("aa", "a", id="list twice"),
        pytest.param("ab", "aba", id="judgements twice, both given"),
        pytest.param("b", "aab", id="judgements twice, both waiting"),
        pytest.param("b", "abb", id="judgements twice at the end"),
    ],
)
def test_twice(lists: str, judged: str) -> None:
    """A query that comes twice is never counted twice."""
    with pytest.raises(Scattered):
        evaluate([Ranking(query, {"a": 1}, 0) for query in lists], [QueryGrades(query, {"a": 1}) for query in judged])


def write_scores(path: Path, run: Mapping[str, Mapping[str, float]]) -> Path:
    """Write a run of documents with scores; their ranks say nothing."""
    return write(path, *(f"{name} Q0 {doc_id} 1 {score!r} t" for name in run for doc_id, score in run[name].items()))


def write(path: Path, *lines: str) -> Path:
    """Write lines."""
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_run_and_lists_agree(tmp_path: Path) -> None:
    """The same results give the same means from TREC and from JSON lines, grouped or scattered."""
    qrels = write(tmp_path / "qrels", "q1 0 a 1", "q2 0 b 2", "q2 0 c 1")
    lists = write(
        tmp_path / "lists", '{"query_id": "q2", "doc_ids": ["c", "b"]}', '{"query_id": "q1", "doc_ids": ["x", "a"]}'
    )
    run = write(tmp_path / "run", "q1 Q0 x 1 2 t", "q1 Q0 a 2 1 t", "q2 Q0 c 1 2 t", "q2 Q0 b 2 1 t")
    torn = write(tmp_path / "torn", "q1 Q0 a 2 1 t", "q2 Q0 b 2 1 t", "q1 Q0 x 1 2 t", "q2 Q0 c 1 2 t")
    torn_qrels = write(tmp_path / "torn-qrels", "q2 0 b 2", "q1 0 a 1", "q2 0 c 1")
    results = [
        evaluate_files(Files(qrels=given, **kind), per_query=True)
        for given in (qrels, torn_qrels)
        for kind in ({"lists": lists}, {"run": run}, {"run": torn})
    ]
    assert results[0].per_query["q1"]["mrr_at_3"] == 1 / 2
    for result in results:
        assert result.per_query == results[0].per_query
        assert result.counts == results[0].counts


def test_pipes(tmp_path: Path) -> None:
    """A pipe, which can be read once only, works also where lines of a query stand apart."""
    qrels = write(tmp_path / "qrels", "q1 0 a 1", "q2 0 a 1")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = ("q1 Q0 x 1 2 t", "q2 Q0 a 1 1 t", "q1 Q0 a 2 1 t")
    writer = threading.Thread(target=write, args=(pipe, *lines))
    writer.start()
    evaluation = evaluate_files(Files(qrels=qrels, run=pipe))
    writer.join()
    assert evaluation.metrics["mrr_at_10"] == Mean(3 / 4, 2)


def test_list_twice_is_named(tmp_path: Path) -> None:
    """A second list of a query is an error with its line."""
    qrels = write(tmp_path / "qrels", "q 0 a 1")
    lists = write(tmp_path / "lists", *['{"query_id": "q", "doc_ids": []}'] * 2)
    with pytest.raises(UsageError, match=r"lists:2: query 'q' has a list already"):
        evaluate_files(Files(qrels=qrels, lists=lists))


def test_ties_repetition_and_ranks_are_counted(tmp_path: Path) -> None:
    """Ties count only across a cut-off, repeated entries before it, ranks where they disagree."""
    qrels = write(tmp_path / "qrels", *(f"{query} 0 a 1" for query in "pqrs"))
    run = write(
        tmp_path / "run",
        # a tie of ranks 2 and 3: across k = 2
        "p Q0 c 1 3 t",
        "p Q0 b 2 2 t",
        "p Q0 a 3 2 t",
        # a tie of ranks 1 and 2: not across
        "q Q0 c 1 3 t",
        "q Q0 b 2 3 t",
        "q Q0 a 3 2 t",
        # one document left, no tie
        "r Q0 a 1 3 t",
        "r Q0 a 2 3 t",
        "r Q0 b 3 2 t",
        "s Q0 a 1 1 t",
        "s Q0 b 2 2 t",
        "s Q0 c 3 3 t",
    )
    counts = evaluate_files(Files(qrels=qrels, run=run, keep_first=True), cutoffs=[2]).counts
    assert counts == Counts(queries=4, tied=1, repeated=1, rank_disagrees=1)


def test_duplicates_leave_before_the_cutoff(tmp_path: Path) -> None:
    """A repeated document does not push another one behind the cut-off."""
    qrels = write(tmp_path / "qrels", "q 0 b 1")
    lists = write(tmp_path / "lists", '{"query_id": "q", "doc_ids": ["a", "a", "a", "b"]}')
    evaluation = evaluate_files(Files(qrels=qrels, lists=lists), cutoffs=[2])
    assert evaluation.metrics["hit_at_2"].value == 1
    assert evaluation.metrics["mrr_at_2"].value == 1 / 2
    assert evaluation.counts.repeated == 2


@pytest.mark.parametrize(
    "row",
    [
        {"query_id": "7", "doc_ids": ["a", "5"]},
        {"id": 7, "results": ["a", 5]},
        {"id": 7, "results": [{"doc_id": "a", "score": 1}, {"id": 5}]},
        {"query_id": 7, "doc_ids": None, "docs": [{"docid": "a"}, {"docid": 5}], "extra": {}},
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff", "\n \n"])
def test_spellings_of_lists(tmp_path: Path, row: dict[str, Any], mark: str) -> None:
    """The common ways to write a result list are read."""
    path = tmp_path / "lists"
    path.write_text(mark + json.dumps(row) + "\r\n", encoding="utf-8")
    (ranking,) = iter_lists(path)
    assert (ranking.query_id, ranking.ranks) == ("7", {"a": 1, "5": 2})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param('{"query_id": "q"', ":2: is not JSON", id="cut off"),
        pytest.param('{"query_id": "q", "doc_ids": [NaN]}', ":2: is not JSON", id="NaN"),
        pytest.param('{"query_id": "q", "doc_ids": [], "x": ' + "[" * 9999, ":2: is not JSON", id="nested deeply"),
        pytest.param("[1]", ":2: '[1]', expected a JSON object", id="a list"),
        pytest.param('{"doc_ids": []}', ":2: no query id", id="no id"),
        pytest.param('{"query_id": true, "doc_ids": []}', ":2: no query id", id="a truth value"),
        pytest.param('{"query_id": "q"}', ":2: no list of documents", id="no list"),
        pytest.param('{"query_id": "q", "doc_ids": "abc"}', ":2: no list of documents", id="a text"),
        pytest.param('{"query_id": "q", "doc_ids": ["a", null]}', ":2: entry 2 is 'None'", id="null"),
        pytest.param('{"query_id": "q", "doc_ids": [{"text": "a"}]}', ":2: entry 1 is", id="no id in an entry"),
    ],
)
def test_bad_lists(tmp_path: Path, line: str, message: str) -> None:
    """A line that is no result list is named."""
    path = write(tmp_path / "lists", '{"query_id": "p", "doc_ids": []}', line)
    with pytest.raises(UsageError) as caught:
        list(iter_lists(path))
    assert message in str(caught.value)


SHARED = {"hit": "success", "recall": "recall", "precision": "P", "ndcg": "ndcg_cut"}


@pytest.mark.parametrize("seed", range(8))
def test_agreement_with_pytrec_eval(tmp_path: Path, seed: int) -> None:
    """Every metric we share has the same value for every query, ties and short lists included.

    Left out of the comparison is what differs by intent: queries without a list, which pytrec_eval leaves out, and
    those without a relevant document, which it averages as 0. Its reciprocal rank has no cut-off, so ours has one
    behind every list. Scores are multiples of 1/8, which 32-bit floats hold exactly.
    """
    chance = random.Random(seed)  # noqa: S311 - seeded on purpose
    documents = [f"d{number}" for number in range(60)]
    qrels = {
        f"q{number}": {
            doc_id: chance.choice([-1, 0, 0, 1, 2, 3]) for doc_id in chance.sample(documents, chance.randint(1, 20))
        }
        for number in range(40)
    }
    run = {
        f"q{number}": {doc_id: chance.randint(0, 200) / 8 for doc_id in chance.sample(documents, chance.randint(1, 60))}
        for number in range(5, 45)
    }
    trec.write_qrels(tmp_path / "qrels", qrels.items())
    write_scores(tmp_path / "run", run)
    cutoffs = (*CUTOFFS, 60)
    evaluation = evaluate_files(Files(qrels=tmp_path / "qrels", run=tmp_path / "run"), cutoffs=cutoffs, per_query=True)
    names = {f"{theirs}.{','.join(map(str, cutoffs))}" for theirs in SHARED.values()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names | {"recip_rank", "map"}).evaluate(run)
    scored = {query_id for query_id, grades in qrels.items() if max(grades.values()) > 0}
    assert set(evaluation.per_query) == scored
    assert len(scored & set(run)) > 20
    for query_id in scored & set(run):
        ours, other = evaluation.per_query[query_id], theirs[query_id]
        assert ours["map"] == pytest.approx(other["map"], abs=1e-12)
        assert ours["mrr_at_60"] == pytest.approx(other["recip_rank"], abs=1e-12)
        for name, their_name in SHARED.items():
            for k in cutoffs:
                assert ours[f"{name}_at_{k}"] == pytest.approx(other[f"{their_name}_{k}"], abs=1e-12), (name, k)
    assert evaluation.counts.missing == len(scored - set(run))


@given(
    st.lists(st.integers(0, 9), unique=True, max_size=10),
    st.dictionaries(st.integers(0, 9), st.integers(1, 4), min_size=1, max_size=6),
    st.integers(1, 12),
)
def test_agreement_with_the_gate(ranking: list[int], grades: dict[int, int], k: int) -> None:
    """The gate's own metrics say the same of a list of whole notes as the evaluator does of its documents."""
    places = list(grades)
    matches = [(places.index(place),) if place in grades else () for place in ranking]
    item = make_ranked(matches, grades=tuple(grades.values()))
    doc_ids = [str(place) for place in ranking]
    top, _ = Measures([k]).of(ranked(doc_ids), {str(key): grade for key, grade in grades.items()})
    ours = dict(zip(Measures([k]).names, top.values, strict=False))
    for name in ("hit", "mrr", "precision", "ndcg", "ndcg_exp"):
        assert ours[f"{name}_at_{k}"] == pytest.approx(getattr(retrieval, name)(item, k), abs=1e-12), name
