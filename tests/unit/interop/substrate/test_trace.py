"""trace.jsonl: one line for every retrieved chunk, in the schema of substrate."""

from __future__ import annotations

import json
from typing import Any

from builders import make_case, make_chunk, make_labelled, make_result, make_run, make_support
from raggate.models.golden import Support
from raggate.models.run import Run
from raggate_interop.substrate import trace

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
