"""Files of substrate: what is read, what is refused and where, and what comes back after writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_labelled,
    make_result,
    make_run,
    make_support,
)
from raggate.base.errors import UsageError
from raggate.models.golden import Support
from raggate.models.run import Run
from raggate_interop.substrate import (
    golden as substrate_golden,
    metrics_files,
    records,
    results as substrate_results,
    trace,
)
from raggate_interop.substrate.golden import Document
from substrate_files import put
from tables import each_row

QUERY = {"query": "Where?", "expected_docs": ["a.md"], "difficulty": "easy", "retriever_types": ["bm25"]}
ROW = {
    "query": "Where?",
    "mode": "fts",
    "difficulty": "easy",
    "expected_docs": ["a.md"],
    "results": [{"rank": 1, "doc_id": "a.md", "score": 1.5, "scores": {"fts": 1.5}}],
}
LINE = {"query": "Where?", "mode": "hybrid", "rank": 1, "doc_id": "a.md", "score_final": 0.5}
BUCKET = {"hit_at_1": 0.75, "mrr_at_10": 0.82, "count": 12}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"items": []}, "with the key 'queries'", id="no queries"),
        pytest.param([QUERY, 1], "queries: 1", id="not an object"),
        pytest.param(
            [{"query": "Where?"}], "query 1: Object missing required field `expected_docs`", id="no expected_docs"
        ),
        pytest.param([{**QUERY, "relevance": {"a": -1}}], "at `$.relevance[...]`", id="a negative grade"),
        pytest.param([QUERY, {**QUERY, "retriever_types": ["fts"]}], "query 2: 'Where?' is already in 1", id="twice"),
        pytest.param([QUERY, {**QUERY, "retriever_types": None}], "query 2", id="twice, once in all modes"),
        pytest.param([{**QUERY, "id": "x"}, {**QUERY, "query": "Who?", "id": "x"}], "query 2: id 'x'", id="id twice"),
    ],
)
def test_queries_that_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    """A queries.json that is not as it should be is refused, naming the file and the query."""
    path = put(tmp_path / "queries.json", value)
    with pytest.raises(UsageError, match=r"queries\.json") as error:
        substrate_golden.read_queries(path)
    assert message in error.value.message


def test_corpus(tmp_path: Path) -> None:
    """A corpus is read by id, front matter and all, and an id that occurs twice is refused."""
    path = put(tmp_path / "corpus.jsonl", [{"doc_id": "a", "title": "A", "body": "x", "frontmatter": {"cluster": "c"}}])
    documents = substrate_golden.read_corpus(path)
    assert documents == {"a": Document(doc_id="a", title="A", body="x", frontmatter={"cluster": "c"})}
    bare = substrate_golden.read_corpus(put(path, [{"doc_id": "a"}, {"doc_id": "b"}]))
    assert bare == {name: Document(doc_id=name, title="", body="", frontmatter={}) for name in ("a", "b")}
    with pytest.raises(UsageError, match=r"corpus\.jsonl:2: doc_id 'a' occurs twice"):
        substrate_golden.read_corpus(put(path, [{"doc_id": "a"}, {"doc_id": "a"}]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([{"mode": "fts"}], r"results\.jsonl:1: query", id="no query"),
        pytest.param([ROW, {**ROW, "mode": "bm25"}], r"results\.jsonl:2: .* is already in .*:1", id="twice by alias"),
        pytest.param([{**ROW, "results": [{"rank": 2, "doc_id": "a"}]}], "expected ranks from 1 on", id="ranks"),
        pytest.param([{**ROW, "results": [{"rank": 0, "doc_id": "a"}]}], r"results\.0\.rank", id="rank 0"),
    ],
)
def test_results_that_are_refused(tmp_path: Path, rows: list[Any], message: str) -> None:
    """A results.jsonl that is not as it should be is refused, naming the line."""
    with pytest.raises(UsageError, match=message):
        substrate_results.read_results(put(tmp_path / "results.jsonl", rows))


def test_corpus_tells_what_a_heading_is(tmp_path: Path) -> None:
    """With the corpus a result whose title meets the question and whose body does not is heading-only."""
    row = {"query": "sourdough starter", "mode": "fts", "results": []}
    row["results"] = [{"rank": rank, "doc_id": f"{name}.md"} for rank, name in enumerate("abc", 1)]
    corpus = {
        "a": Document(doc_id="a", title="Sourdough", body="# Sourdough\n\nNothing yet."),
        "b": Document(doc_id="b", title="Bread", body="# Bread\n\nFeed the starter."),
    }
    rows = substrate_results.read_results(put(tmp_path / "results.jsonl", [row]))
    (completed,) = substrate_results.with_texts(rows, corpus)
    assert [entry.get("heading_only") for entry in completed["results"]] == [True, False, None]
    assert [entry.get("body_text") for entry in completed["results"]] == ["\nNothing yet.", "\nFeed the starter.", None]


def test_a_run_becomes_rows(tmp_path: Path) -> None:
    """A run's results are written in their shape; texts are cut, and a failed call has no results."""
    case, other = make_case("q1", gold_supports=(make_support("a.md"),)), make_case("q2")
    chunk = make_chunk("c1", text="# A\n" + "x" * 300, score_final=0.5, score_lexical=0.2)
    run = make_run(
        make_labelled(case, make_result("q1", chunk)), make_labelled(other, make_result("q2", failure=make_failure()))
    )
    rows = substrate_results.from_run(run)
    entry = rows[0]["results"][0]
    assert (entry["rank"], entry["doc_id"], entry["node_id"]) == (1, "a.md", "c1")
    assert (entry["score"], entry["scores"], entry["body_text"]) == (0.5, {"fts": 0.2}, "x" * 200)
    assert (rows[0]["expected_docs"], rows[1]["results"]) == (["a.md"], [])
    path = tmp_path / "results.jsonl"
    path.write_text(substrate_results.render_results(rows), encoding="utf-8")
    assert substrate_results.read_results(path) == rows


@each_row(
    ("second", "modes"),
    [
        pytest.param("q1", ("fts", "bm25"), id="one question in both names of a mode"),
        pytest.param("q2", ("hybrid", "hybrid"), id="two questions of one text"),
    ],
)
def test_a_run_with_two_lists_for_one_row_is_refused(second: str, modes: tuple[str, str]) -> None:
    """Where two results of a run are of one text and mode, none of them is silently the row."""
    items = [
        make_labelled(make_case(name, question="Same?"), replace(make_result(name, make_chunk()), mode=mode))
        for name, mode in zip(("q1", second), modes, strict=True)
    ]
    with pytest.raises(UsageError, match=rf"q1 \({modes[0]}\) and {second} \({modes[1]}\) ask 'Same\?' in one mode"):
        substrate_results.from_run(make_run(*items))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([LINE, LINE], "rank 1 of this query and mode", id="twice"),
        pytest.param([{**LINE, "rank": 0}], r"trace\.jsonl:1: rank", id="rank 0"),
        pytest.param([{**LINE, "source_channel_ranks": {"bm25_rank": 1.5}}], "expected a whole number", id="rank 1.5"),
    ],
)
def test_traces_that_are_refused(tmp_path: Path, rows: list[Any], message: str) -> None:
    """A trace.jsonl that is not as it should be is refused, naming the line."""
    with pytest.raises(UsageError, match=message):
        trace.read_trace(put(tmp_path / "trace.jsonl", rows))


def test_a_trace_becomes_rows(tmp_path: Path) -> None:
    """Lines of one query and mode become its result list by rank, whatever their order; a gap is refused."""
    lines = [{**LINE, "rank": 2, "doc_id": "b", "heading_only": True}, LINE]
    results = trace.to_rows(trace.read_trace(put(tmp_path / "trace.jsonl", lines)))
    assert [entry["doc_id"] for entry in results[0]["results"]] == ["a.md", "b"]
    assert results[0]["results"][1]["heading_only"] is True
    gap = r"trace\.jsonl:2: expected rank 2 of 'Where\?' in mode hybrid, found 3: its ranks have gaps"
    gapped = put(tmp_path / "trace.jsonl", [LINE, {**LINE, "rank": 3}])
    with pytest.raises(UsageError, match=gap):
        trace.to_rows(trace.read_trace(gapped))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param([], "Input should be a valid dictionary", id="an array"),
        pytest.param({"by_mode": {"fts": {"easy": {"count": 1}}}}, "has no metric", id="counts alone"),
        pytest.param({"fts": {"easy": BUCKET}, "bm25": {"easy": BUCKET}}, "its other name", id="both names"),
        pytest.param({"bm25": {"easy": {"hit_at_1": "0.5"}}}, r"bm25\.easy: hit_at_1", id="a text"),
    ],
)
def test_metrics_that_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    """A file that is no metrics file is refused, naming the key."""
    with pytest.raises(UsageError, match=message):
        metrics_files.read_shaped(put(tmp_path / "metrics.json", value))


def test_raggates_own_metrics_are_read(tmp_path: Path) -> None:
    """A metrics.json of raggate is the seed's shape with more beside it, which is left aside."""
    content = {
        "schema": "raggate/metrics/1",
        "by_retriever": {
            "hybrid": {
                "by_difficulty": {"easy": {**BUCKET, "n": {"hit_at_1": 12}, "unscored": {}}},
                "by_tag": {"x": BUCKET},
                "overall": {**BUCKET, "ndcg_at_5": None},
            }
        },
    }
    table, _ = metrics_files.read_shaped(put(tmp_path / "metrics.json", content))
    assert table == {"hybrid": {"easy": BUCKET, "overall": {**BUCKET, "ndcg_at_5": None}}}


@pytest.mark.parametrize("value", [{"hit_at_1": -0.1}, {"hit_at_1": "x"}, [0.05], {"hit_at_1": None}])
def test_thresholds_that_are_refused(tmp_path: Path, value: Any) -> None:
    """A threshold is a number from 0; anything else is refused rather than left out."""
    with pytest.raises(UsageError, match=r"thresholds\.json"):
        metrics_files.read_thresholds(put(tmp_path / "thresholds.json", value))


@given(st.text(min_size=1, max_size=400))
def test_baseline_names_are_safe(key: str) -> None:
    """Whatever the key, the name is a short one of plain characters, and other keys have other names."""
    name = records.baseline_name(key)
    assert len(name) <= 100
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789=_-.")
    assert not name.startswith((".", "-"))
    assert records.baseline_name(key + "x") != name


def test_a_baseline_at_the_path_that_their_scripts_write(tmp_path: Path) -> None:
    """A key with a `/`, as in the name of a model, names a file in a directory; raggate's own name counts first."""
    key = "sha256:ab__1.0__mlx-community/all-MiniLM-L6-v2-bf16__sqlite_fts5__chunk_size=800"
    theirs = tmp_path / f"{key}.json"
    assert records.baseline_path(tmp_path, key) == tmp_path / records.baseline_name(key)
    theirs.parent.mkdir()
    theirs.write_text("{}", encoding="utf-8")
    assert records.baseline_path(tmp_path, key) == theirs
    own = put(tmp_path / records.baseline_name(key), {})
    assert records.baseline_path(tmp_path, key) == own


@pytest.mark.parametrize("key", ["../outside", "a/../../outside", "/outside", "a//outside", "link/outside"])
def test_a_key_never_leads_out_of_the_directory(tmp_path: Path, key: str) -> None:
    """Whatever a run record says, no file beside the directory of baselines is taken for one."""
    directory = tmp_path / "baselines"
    (directory / "a").mkdir(parents=True)
    (directory / "link").symlink_to(tmp_path)
    for name in ("outside.json", "baselines/a/outside.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert records.baseline_path(directory, key) == directory / records.baseline_name(key)


CASE = make_case("q1", gold_supports=(make_support("a.md", "# A"),), difficulty="hard")


def lines(run: Run) -> list[Any]:
    """Write the trace of a run and read the lines back."""
    return [json.loads(line) for line in trace.trace_of(run).splitlines()]


def test_every_field() -> None:
    """A line holds what the schema asks for, and what raggate knows of the chunk beside it."""
    chunk = make_chunk("c1", vault="work", score_final=0.5, score_lexical=0.2, score_vector=0.6, rank=7)
    assert lines(make_run(make_labelled(CASE, make_result("q1", chunk)))) == [
        {
            "query": "Question q1?",
            "case_id": "q1",
            "mode": "hybrid",
            "rank": 1,
            "doc_id": "a.md",
            "node_id": "c1",
            "score_final": 0.5,
            "score_components": {"fts": 0.2, "vector": 0.6},
            "source_channel_ranks": {"fused_rank": 1},
            "vault": "work",
            "heading_path": "# A",
            "text": "Text of the note.",
            "difficulty": "hard",
            "hit": True,
            "expected": True,
            "supports": [0],
            "heading_only": False,
            "duplicate": False,
        }
    ]


def test_modes() -> None:
    """Only bm25 has another name, only hybrid modes have ranks of channels, and only hybrid itself a fused one."""
    modes = ("bm25", "vector", "hybrid", "hybrid_rerank")
    found = lines(make_run(*(make_labelled(CASE, make_result("q1", make_chunk(), mode=mode)) for mode in modes)))
    assert [(line["mode"], line.get("source_channel_ranks")) for line in found] == [
        ("fts", None),
        ("vector", None),
        ("hybrid", {"fused_rank": 1}),
        ("hybrid_rerank", {}),
    ]


def test_flags() -> None:
    """A chunk of the right note and another section is expected and no hit; repeats are marked, and texts are cut."""
    chunks = (
        make_chunk("c1", rel_path="b.md"),
        make_chunk("c2", heading_path="# B"),
        make_chunk("c3", text="x" * 201),
        make_chunk("c3", text="y" * 200),
    )
    found = lines(make_run(make_labelled(CASE, make_result("q1", *chunks))))
    assert [line["rank"] for line in found] == [1, 2, 3, 4]
    assert [line["expected"] for line in found] == [False, True, True, True]
    assert [line["hit"] for line in found] == [False, False, True, True]
    assert [line["duplicate"] for line in found] == [False, False, False, True]
    assert [line["text"] for line in found[2:]] == ["x" * 200 + "...", "y" * 200]


def test_documents_by_id() -> None:
    """A document that is expected by its id is known by it, and its id stands in the line."""
    case = make_case("q1", gold_supports=(Support(rel_path="", doc_id="d1"),))
    found = lines(make_run(make_labelled(case, make_result("q1", make_chunk(doc_id="d1"), make_chunk("c2")))))
    assert [(line["doc_id"], line["expected"]) for line in found] == [("d1", True), ("a.md", False)]


def test_an_expected_note_of_another_vault_is_not_expected() -> None:
    """The same path in a vault that the case does not ask in is another note."""
    case = make_case("q1", gold_supports=(make_support("a.md", "# A", vault="work"),))
    (line,) = lines(make_run(make_labelled(case, make_result("q1", make_chunk(vault="personal")))))
    assert line["expected"] is False
