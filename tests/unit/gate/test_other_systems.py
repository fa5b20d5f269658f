"""Other systems beside the gate: their files as baselines, and their numbers of a run, never in the way of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_result, make_run, make_support
from raggate import plugins
from raggate.errors import UsageError
from raggate.gate import baseline
from raggate.gate.other_systems import compat_scores
from raggate.pipeline import result_rows, run_directory
from raggate.scoring import score

UNCOUNTED = {"by_retriever": {"hybrid": {"overall": {"hit_at_5": 0.7, "count": 50}}}}


CASE = make_case("q1", gold_supports=(make_support("a.md"),))


def test_without_its_system_no_file_is_a_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metrics file of another system is refused where nobody says how its means are to be read."""
    monkeypatch.setattr(plugins, "names", lambda _group: ())
    for content in ({"k": 5, "aggregate_metrics": {"recall_at_k_avg": 0.7}}, UNCOUNTED):
        with pytest.raises(UsageError, match=r"^m.json: not a (baseline|metrics file): "):
            baseline.read(json.dumps(content).encode(), "m.json", score.directions([5]))


def test_by_system_and_mode() -> None:
    """Every mode of the run has numbers of its own; nothing is computed that is not asked for."""
    results = [
        replace(make_result("q1", make_chunk(rel_path=path)), mode=mode)
        for mode, path in (("bm25", "b.md"), ("hybrid", "a.md"))
    ]
    run = make_run(*(make_labelled(CASE, result) for result in results))
    scores = compat_scores(run, ["helloworld"], full_text=False)
    assert list(scores) == ["helloworld"]
    assert {mode: values["recall_at_k_avg"] for mode, values in scores["helloworld"].items()} == {
        "bm25": 0,
        "hybrid": 1,
    }
    assert compat_scores(run, [], full_text=False) == {}


def test_what_stops_their_code_does_not_stop_a_run() -> None:
    """A rank of 0, by which their script divides, is a problem that is told in place of the numbers."""
    run = make_run(make_labelled(CASE, make_result("q1", make_chunk(rel_path="a.md", rank=0))))
    (scores,) = compat_scores(run, ["helloworld"], full_text=False)["helloworld"].values()
    assert list(scores) == ["problem"]
    assert "has no rank above 0" in scores["problem"]


def test_whole_texts_are_scored_whole(tmp_path: Path) -> None:
    """A snippet behind the 200th character is found by their code where the run keeps whole texts, live and stored."""
    case = make_case("q1", gold_supports=(make_support("a.md", snippets=("the end",)),))
    run = make_run(make_labelled(case, make_result("q1", make_chunk(rel_path="a.md", text="x" * 300 + " the end"))))
    for full_text, recall in ((True, 1), (False, 0)):
        run_directory.write(tmp_path, run, full_text=full_text)
        again = run_directory.read(tmp_path)
        live = compat_scores(run, ["helloworld"], full_text=full_text)
        assert live["helloworld"]["hybrid"]["recall_at_k_avg"] == recall
        assert result_rows.keeps_whole_texts(again) is full_text
        assert compat_scores(again, ["helloworld"], full_text=full_text) == live
