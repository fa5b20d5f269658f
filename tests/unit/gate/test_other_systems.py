"""Other systems beside the gate: their files as baselines, and their numbers of a run, never in the way of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_case,
    make_case_score,
    make_chunk,
    make_labelled,
    make_result,
    make_run,
    make_scorecard,
    make_support,
)
from raggate.base.errors import UsageError
from raggate.gate import baseline
from raggate.gate.other_systems import compat_scores
from raggate.models.baseline import Baseline
from raggate.models.scorecard import OVERALL, Direction
from raggate.pipeline import result_rows, run_directory
from raggate.reports import metrics_file
from tables import each_row

CASE = make_case("q1", gold_supports=(make_support("a.md"),))


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


DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "mrr_at_5": "higher", "wrong_rate": "lower"}
SCORECARD = make_scorecard(
    make_case_score("q2", {"hit_at_5": 0.0, "wrong_rate": None}, rank=None, slices=(OVERALL, "tag=x")),
    make_case_score("q1", {"hit_at_5": 1.0, "wrong_rate": 1 / 3}, rank=2, rank_all=4),
    make_case_score("q1", {"hit_at_5": 1.0, "wrong_rate": 0.1 + 0.2}, mode="bm25"),
)
# the shape substrate writes, without anything of raggate's own
BARE = {
    "by_retriever": {
        "hybrid": {
            "by_difficulty": {"hard": {"hit_at_5": 0.5, "mrr_at_5": 0.25, "count": 2}},
            "overall": {"hit_at_5": 0.92, "mrr_at_5": 0.78, "count": 40},
        }
    }
}


def read(value: object) -> Baseline:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return baseline.read(data, "baselines/default.json", DIRECTIONS)


def bare(**overall: object) -> Any:
    return {"by_retriever": {"bm25": {"overall": {"count": 3, **overall}}}}


def test_raggates_own_metrics_file() -> None:
    """What raggate writes as metrics.json reads back as the same means, with n and what was not scored."""
    scorecard = replace(SCORECARD, cases=())
    held = read(metrics_file.render(make_run(), scorecard).encode()).scorecard
    assert (held.suite, held.run_id, held.counts) == ("default", "run-1", scorecard.counts)
    for mode, slices in scorecard.slices.items():
        for name, values in slices.items():
            for metric, value in values.items():
                again = held.slices[mode][name][metric]
                assert (again.n, again.unscored, again.direction) == (value.n, value.unscored, value.direction)
                assert again.value == (None if value.value is None else pytest.approx(value.value, abs=5e-5))


@each_row(
    ("value", "message"),
    [
        ({"by_retriever": []}, "by_retriever: "),
        ({"by_retriever": {"bm25": {"by_tag": 1}}}, "by_retriever.bm25.by_tag: "),
        ({"by_retriever": {"bm25": {"by_tag": {"x": {}}}}}, "by_retriever.bm25.by_tag.x.count: "),
        ({**BARE, "complete": False}, "complete: not all questions"),
        ({**BARE, "partial": "--limit 3"}, "partial: these metrics cover only a part"),
        (bare(count=-1), "by_retriever.bm25.overall.count: "),
        (bare(hit_at_5="0.5"), "by_retriever.bm25.overall.hit_at_5: "),
        (bare(n=3), "by_retriever.bm25.overall.n: "),
        (bare(hit_at_5=1, n={"hit_at_5": "3"}), "by_retriever.bm25.overall.n.hit_at_5: "),
    ],
)
def test_damaged(value: object, message: str) -> None:
    """A damaged metrics file is refused with the place of the damage."""
    with pytest.raises(UsageError) as caught:
        read(value)
    assert caught.value.message.startswith(f"baselines/default.json: not a metrics file: {message}")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)


@given(st.sampled_from([(), ("bm25",), ("bm25", "overall"), ("bm25", "overall", "hit_at_5"), ("bm25", "by_tag")]), JSON)
def test_any_json_in_a_bare_metrics_file(path: tuple[str, ...], value: object) -> None:
    """Whatever stands in one place of a metrics file, it is read or refused, never a crash."""
    inner: Any = value
    for part in reversed(path):
        inner = {"count": 3, part: inner} if part == "hit_at_5" else {part: inner}
    try:
        means = read({"by_retriever": inner})
    except UsageError:
        return
    baseline.write(means.scorecard, means.provenance, means.accepted)
