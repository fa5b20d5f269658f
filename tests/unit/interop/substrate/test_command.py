"""The substrate commands: what they print, what they write and how they exit."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_result, make_run, make_support
from invoked import ended
from raggate.base.errors import CannotTell, UsageError
from raggate.pipeline import run_directory
from raggate_interop.substrate.command import substrate
from substrate_files import put
from tables import each_row

QUERIES = [
    {"query": "One?", "expected_docs": ["a"], "difficulty": "easy", "scenario": "exact_match"},
    {"query": "Two?", "expected_docs": ["b"], "difficulty": "hard"},
]


run = partial(ended, substrate)


def listed(query: str, mode: str, *doc_ids: str) -> dict[str, Any]:
    """Build a row of results.jsonl."""
    return {
        "query": query,
        "mode": mode,
        "results": [{"rank": at, "doc_id": name} for at, name in enumerate(doc_ids, 1)],
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return queries and results: a hit, and a query without results."""
    return put(tmp_path / "queries.json", QUERIES), put(tmp_path / "results.jsonl", [listed("One?", "fts", "x", "a")])


def test_score_table(files: tuple[Path, Path]) -> None:
    """Without --json a table is printed; what is not told has a dash, and a query without results is named."""
    code, output = run("score", *files)
    assert code == 0
    lines = output.splitlines()
    assert "raggate: 1 query without results in a mode, each a miss: bm25: Two?" in lines
    assert "bm25 overall: 2 queries" in lines
    assert "  hit_at_3                   0.5000" in lines
    assert "  heading_dominance_rate          –" in lines


def test_score_at_the_depths_of_their_options(files: tuple[Path, Path], tmp_path: Path) -> None:
    """--limit is that of run_experiment, --k and --heading-threshold are build_metrics'; the defaults are theirs."""
    entries = [{"rank": at, "doc_id": name, "score": 1.0, "scores": {"fts": 0.5}} for at, name in enumerate("xya", 1)]
    rows = [{"query": "One?", "mode": "fts", "results": entries}, listed("Two?", "fts")]
    results = put(tmp_path / "deep.jsonl", rows)

    def easy(*arguments: str) -> dict[str, float]:
        output = run("score", files[0], results, "--exact", "--shape", "by_mode", "--json", *arguments)[1]
        return dict(json.loads(output[output.index("{") :])["by_mode"]["fts"]["easy"])

    assert {key for key in easy() if "_at_" in key} == {"hit_at_1", "hit_at_3", "hit_at_10", "mrr_at_10", "ndcg_at_10"}
    bucket = easy("--limit", "2", "--k", "3", "--heading-threshold", "0.5")
    assert bucket == {
        "count": 1.0,
        "hit_at_1": 0.0,
        "hit_at_3": 1.0,
        "hit_at_2": 0.0,
        "mrr_at_2": 0.0,
        "ndcg_at_3": 0.5,
        "heading_dominance_rate": 1.0,
    }
    assert easy("--heading-threshold", "0.51")["heading_dominance_rate"] == 0.0
    output = run("score", files[0], results, "--json", "--k", "2", "--heading", "build_metrics")[1]
    overall = json.loads(output[output.index("{") :])["by_retriever"]["bm25"]["by_difficulty"]["easy"]
    assert (overall["hit_at_2"], overall["hit_at_3"], overall["heading_dominance_rate"]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("--limit", "5"), "--limit needs --exact --shape by_mode", id="limit-of-the-seed"),
        pytest.param(("--exact", "--shape", "bare", "--k", "5"), "add --shape by_mode", id="depths-of-the-catalog"),
    ],
)
def test_depths_that_nothing_looks_at(files: tuple[Path, Path], arguments: tuple[str, ...], problem: str) -> None:
    """An option that the numbers asked for do not know is refused, not ignored."""
    with pytest.raises(UsageError, match=problem):
        run("score", *files, *arguments)


def test_a_comparison_says_the_modes_of_its_files(tmp_path: Path) -> None:
    """A file by mode says `fts`, and so does what is told of it; limits of `bm25` are those of that mode."""
    before = {"by_mode": {"fts": {"easy": {"hit_at_1": 0.9, "hit_at_3": 1.0, "count": 9}, "hard": {"hit_at_1": 0.5}}}}
    now = {"by_mode": {"fts": {"easy": {"hit_at_1": 0.5, "count": 9}, "fusion": {"hit_at_1": 0.5}}}}
    paths = put(tmp_path / "now.json", now), put(tmp_path / "before.json", before)
    code, output = run("compare", *paths, "--floors", "--output", tmp_path / "comparison.json")
    written = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert code == 1
    assert [row["mode"] for row in written["regressions"]] == ["fts"]
    assert (written["vanished"], written["added"]) == (["fts/easy/hit_at_3", "fts/hard"], ["fts/fusion"])
    assert {limit["mode"] for limit in written["limits"]} == {"fts"}
    assert "bm25" not in output


def test_nothing_to_score(tmp_path: Path) -> None:
    """Results of other queries cannot be scored, which is not the same as a score of 0."""
    queries = put(tmp_path / "queries.json", QUERIES)
    results = put(tmp_path / "results.jsonl", [listed("Other?", "fts", "a")])
    for arguments in ([], ["--exact", "--shape", "bare"], ["--exact", "--shape", "by_mode"]):
        with pytest.raises(CannotTell, match="no query matches the results"):
            run("score", queries, results, *arguments)
    with pytest.raises(UsageError, match="none of their programs"):
        run("score", queries, results, "--exact")


def test_foreign_names_cannot_speak_to_the_log(tmp_path: Path) -> None:
    """Names from files reach the log as text, not as commands or escape codes."""
    name = "::error::\x1b[31mx"
    table = {name: {name: {name: 0.5, "hit_at_1": 1.0}}}
    other = {"bm25": {"easy": {"hit_at_1": 1.0}}}
    arguments = ("compare", put(tmp_path / "a.json", table), put(tmp_path / "b.json", {**table, **other}))
    _, output = run(*arguments)
    assert "\x1b" not in output
    assert not any(line.lstrip().startswith("::") for line in output.splitlines())


def test_floors_of_ones_own(tmp_path: Path) -> None:
    """--floors-file demands other minima; limits of which none applies are not green."""
    metrics = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 0.5}}})
    low, high = {"fts": {"easy": {"hit_at_1": 0.5}}}, {"bm25": {"easy": {"hit_at_1": 0.6}}}
    assert run("compare", metrics, metrics, "--floors-file", put(tmp_path / "low.json", low))[0] == 0
    assert run("compare", metrics, metrics, "--floors-file", put(tmp_path / "high.json", high))[0] == 1
    other = put(tmp_path / "other.json", {"vector": {"easy": {"hit_at_1": 0.5}}})
    with pytest.raises(CannotTell, match="none of the limits"):
        run("compare", metrics, metrics, "--floors-file", other)


@each_row(
    "beside",
    [
        {"hybird": {"easy": {"hit_at_1": 0.5}}},
        {"bm25": {"Hard": {"hit_at_1": 0.5}}},
        {"bm25": {"overall": {"hit_at_1": 0.5}}},
        {"bm25": {"easy": {"hit_at_01": 0.5}}},
    ],
)
def test_a_limit_that_cannot_be_checked_is_not_green(tmp_path: Path, beside: dict[str, Any]) -> None:
    """A mode, difficulty or metric that the run does not have is asked for and not measured, whatever is let go."""
    metrics = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 0.5}}, "vector": {"easy": {"hit_at_1": 1}}})
    floors = put(tmp_path / "floors.json", {"vector": {"easy": {"hit_at_1": 0.5}}, **beside})
    for leniency in ((), ("--allow-vanished",), ("--as-written",)):
        code, output = run("compare", metrics, metrics, "--floors-file", floors, *leniency)
        assert (code, "not measured" in output) == (3, True), leniency


def test_limits_of_one_mode_under_both_its_names_are_refused(tmp_path: Path) -> None:
    """One of the two would count, and nobody could tell which."""
    metrics = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 0.5}}})
    both = {"bm25": {"easy": {"hit_at_1": 0.9}}, "fts": {"easy": {"hit_at_1": 0.1}}}
    with pytest.raises(UsageError, match="mode fts and its other name are both there"):
        run("compare", metrics, metrics, "--floors-file", put(tmp_path / "floors.json", both))
    targets = {mode: levels["easy"] for mode, levels in both.items()}
    manifest = put(tmp_path / "manifest.json", {"scenarios": {"a": {"metric_targets": targets}}})
    with pytest.raises(UsageError, match=r"a\.metric_targets: mode fts and its other name are both there"):
        run("compare", metrics, metrics, "--manifest", manifest)


def test_a_value_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """The last of two counts, and who looks at the file may see the first."""
    metrics = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 0.9}}})
    twice = tmp_path / "twice.json"
    twice.write_text('{"hit_at_1": 0.01, "hit_at_1": 1}')
    for option in ("--thresholds", "--floors-file"):
        with pytest.raises(UsageError, match=r"twice\.json: key 'hit_at_1' occurs twice"):
            run("compare", metrics, metrics, option, twice)


@each_row("scenarios", [{}, {"a": {"metric_targets": {}}}, {"a": {"metric_targets": {"bm25": {}}}}])
def test_a_manifest_that_demands_nothing_is_not_green(tmp_path: Path, scenarios: dict[str, Any]) -> None:
    """Who names a manifest has its targets checked, or is told that there is none."""
    metrics = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 0.5}}})
    with pytest.raises(CannotTell, match="none of the limits"):
        run("compare", metrics, metrics, "--manifest", put(tmp_path / "manifest.json", {"scenarios": scenarios}))


def test_percent_are_no_shares(tmp_path: Path) -> None:
    """90 in place of 0.9 would be an improvement over everything."""
    before = put(tmp_path / "before.json", {"bm25": {"easy": {"hit_at_1": 0.95, "heading_dominance_rate": 0.1}}})
    for metric, value in (("hit_at_1", 90), ("mrr_at_10", 1.01), ("heading_dominance_rate", -5)):
        now = put(tmp_path / "now.json", {"bm25": {"easy": {metric: value}}})
        with pytest.raises(UsageError, match=f"bm25.easy: {metric}: expected a share from 0 to 1, found"):
            run("compare", now, before)


def test_a_metric_that_raggate_does_not_know_is_told(tmp_path: Path) -> None:
    """Of one of another name more is better, as in their script, and who has errors counted so hears of it."""
    before, now = (
        put(tmp_path / f"{name}.json", {"bm25": {"easy": {"hit_at_1": 1, "error_rate": value}}})
        for name, value in (("before", 0.0), ("now", 0.9))
    )
    code, output = run("compare", now, before)
    assert code == 0
    assert "no metric of these names, and assumes that more is better: error_rate\n" in output
    assert "no metric of these names" not in run("compare", now, before, "--as-written")[1]


def test_heading_limits(tmp_path: Path) -> None:
    """--heading-limits demands the maxima of heading_bias, over all queries of each mode."""
    rates = {"heading_only_hit_rate": 0.2, "duplicate_doc_rate": 0.31, "heading_dominance_rate": 0.15}
    metrics = put(tmp_path / "metrics.json", {"by_retriever": {"bm25": {"overall": {**rates, "count": 5}}}})
    code, output = run("compare", metrics, metrics, "--heading-limits")
    assert code == 1
    assert [line for line in output.splitlines() if line.startswith("limit")] == [
        "limit: bm25/overall/duplicate_doc_rate: 31.0% > 30.0%"
    ]


def test_targets_of_a_manifest(tmp_path: Path) -> None:
    """--manifest takes the targets of one's own scenarios, all of them unless some are named."""
    metrics = put(tmp_path / "metrics.json", {"by_retriever": {"bm25": {"overall": {"hit_at_1": 0.5, "count": 5}}}})
    scenarios = {name: {"metric_targets": {"bm25": {"hit_at_1": target}}} for name, target in (("a", 0.5), ("b", 0.6))}
    manifest = put(tmp_path / "scenario_manifest.json", {"scenarios": scenarios})
    assert run("compare", metrics, metrics, "--manifest", manifest)[0] == 1
    assert run("compare", metrics, metrics, "--manifest", manifest, "--scenario", "a")[0] == 0
    with pytest.raises(UsageError, match="Known: a, b"):
        run("compare", metrics, metrics, "--manifest", manifest, "--scenario", "c")


def test_a_baseline_without_a_record(tmp_path: Path) -> None:
    """Metrics without a run record have no key of their own: a key must be given, or the record named."""
    metrics, directory = put(tmp_path / "metrics.json", {"bm25": {"easy": {"hit_at_1": 1}}}), tmp_path / "baselines"
    with pytest.raises(UsageError, match="no key"):
        run("baseline", "update", metrics, "--dir", directory)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no key"):
        run("compare", metrics, tmp_path / "empty")
    assert run("baseline", "update", metrics, "--dir", directory, "--key", "vault/main")[0] == 0
    (stored,) = directory.iterdir()
    assert stored.name.startswith("vault-main-")
    assert "is the same already" in run("baseline", "update", metrics, "--dir", directory, "--key", "vault/main")[1]


def test_metrics_of_a_part_are_refused(tmp_path: Path) -> None:
    """Raggate's own metrics.json says whether all questions were asked: one that says no is compared nowhere."""
    values = {"by_retriever": {"bm25": {"overall": {"hit_at_1": 0.7, "count": 40}}}}
    whole = put(tmp_path / "whole.json", {**values, "complete": True})
    part = put(tmp_path / "part.json", {**values, "complete": False})
    assert run("compare", whole, whole)[0] == 0
    for command in (
        ("compare", part, whole),
        ("compare", whole, part),
        ("baseline", "update", part, "--dir", tmp_path / "baselines", "--key", "k"),
    ):
        with pytest.raises(UsageError, match=r"part\.json: complete: not all questions were asked"):
            run(*command)
    assert not (tmp_path / "baselines").exists()


def test_trace_of_a_run(tmp_path: Path) -> None:
    """The trace of a run directory is printed in either form, or written."""
    case = make_case("q1", gold_supports=(make_support("a.md"),))
    good = make_labelled(case, make_result("q1", make_chunk(score_final=0.5, score_lexical=0.2)))
    failed = make_labelled(make_case("q2"), make_result("q2", failure=make_failure()))
    run_directory.write(tmp_path / "run", make_run(good, failed))
    code, output = run("trace", tmp_path / "run")
    assert (code, json.loads(output)["hit"]) == (0, True)
    assert json.loads(run("trace", tmp_path / "run", "--form", "scripts")[1]) == {
        "query": "Question q1?",
        "mode": "hybrid",
        "rank": 1,
        "doc_id": "a.md",
        "score_final": 0.5,
        "score_components": {"fts": 0.2},
        "source_channel_ranks": {"fts": 0.2},
    }
    assert run("trace", tmp_path / "run", "--out", tmp_path / "trace.jsonl")[0] == 0
    assert (tmp_path / "trace.jsonl").read_text(encoding="utf-8") == output


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        pytest.param("overall", "vanished: bm25/overall", id="overall of every mode"),
        pytest.param("count", "vanished: bm25/easy/count", id="every count"),
    ],
)
def test_what_the_seeds_shape_can_say_is_missed(tmp_path: Path, lost: str, message: str) -> None:
    """A file by retriever that lost its overall or its counts is not green; one by mode never had an overall."""
    values = {"hit_at_1": 0.7, "count": 40}
    full = {"by_retriever": {"bm25": {"by_difficulty": {"easy": values}, "overall": values}}}
    kept = {name: value for name, value in values.items() if name != lost}
    levels = {"by_difficulty": {"easy": kept}, **({} if lost == "overall" else {"overall": kept})}
    baseline = put(tmp_path / "baseline.json", full)
    code, output = run("compare", put(tmp_path / "now.json", {"by_retriever": {"bm25": levels}}), baseline)
    assert (code, message in output.splitlines()) == (3, True)
    code, output = run("compare", put(tmp_path / "scripts.json", {"by_mode": {"fts": {"easy": values}}}), baseline)
    assert code == 0
    assert "one of the files has no overall, so only difficulties are compared" in output


def test_thresholds_stand_in_the_specification_of_an_experiment(tmp_path: Path) -> None:
    """spec.md tells them in one JSON block, a JSON specification under `thresholds`; none or two blocks are refused."""
    before, now = ({"by_mode": {"fts": {"easy": {"hit_at_1": value, "count": 40}}}} for value in (0.9, 0.86))
    files = (put(tmp_path / "now.json", now), put(tmp_path / "before.json", before))
    assert run("compare", *files)[0] == 0
    strict = '```json\n{"hit_at_1": 0.03}\n```'
    spec = tmp_path / "spec.md"
    spec.write_text(f'# Spec\n\n```json\n{{"slug": "x"}}\n```\n\n## Regression gate\n\n{strict}\n')
    assert run("compare", *files, "--thresholds", spec)[0] == 1
    spec.write_text('```json\n{"slug": "x", "thresholds": {"hit_at_1": 0.03}}\n```\n')
    assert run("compare", *files, "--thresholds", spec)[0] == 1
    nested = put(tmp_path / "spec.json", {"slug": "x", "thresholds": {"hit_at_1": 0.03}})
    assert run("compare", *files, "--thresholds", nested)[0] == 1
    for text, count in (("# Nothing", 0), (f"{strict}\n{strict}", 2)):
        spec.write_text(text)
        with pytest.raises(UsageError, match=f"expected one JSON block with thresholds, found {count}"):
            run("compare", *files, "--thresholds", spec)
