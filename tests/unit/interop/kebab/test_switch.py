"""The switch-over checklist of a kebab user, item by item, on files of their exact shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kebab_builders import (
    answer,
    hit,
    jsonl,
    query,
    row,
    write_database,
)
from raggate.base.errors import CannotTell, UsageError
from raggate_interop.kebab import golden as kebab_golden, metrics
from raggate_interop.kebab.command import kebab

DOCS = {"bread.md": "bread bakes forty minutes"}
D1, D2, C1 = "aa" * 16, "bb" * 16, "cc" * 16
GOLDEN = f"""\
# expected_doc_ids: [] means: should refuse
- id: q1
  query: "How long does bread bake?"
  lang: en
  expected_doc_ids: ["{D1}"]
  expected_chunk_ids: ["{C1}"]
  must_contain: ["forty"]
  forbidden: ["fifty"]
  difficulty: medium
  group: baking
- id: q2
  query: "Baking time of bread"
  expected_doc_ids: ["{D1}"]
  group: baking
- id: q3
  query: "Who won in 1911?"
  expected_doc_ids: []
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the golden set where kebab looks for it, and go there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEBAB_EVAL_GOLDEN", raising=False)
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "golden_queries.yaml").write_text(GOLDEN)
    return tmp_path


def run(*arguments: str) -> Result:
    """Run the command; an error that raggate's command line would print is raised."""
    return CliRunner().invoke(kebab, arguments, catch_exceptions=False, standalone_mode=False)


def rows() -> list[dict[str, Any]]:
    """Return a run of the golden set with answers."""
    return [
        row("q1", hit(1, C1, D1), query="How long does bread bake?", answer=answer("forty minutes")),
        row("q2", hit(2, "x", D1), query="Baking time of bread", answer=answer("forty")),
        row("q3", query="Who won in 1911?", answer=answer("I cannot tell", grounded=False, paths=())),
    ]


def test_golden_set_against_the_index(here: Path) -> None:
    """Item 1: the ids of the golden set are looked up in the database."""
    write_database(here / "kebab.sqlite", {"run_1": rows()}, chunks={C1: (D1, (1, 9))})
    assert run("aggregate", "kebab.sqlite", "--check-ids").return_value == 0
    write_database(here / "other.sqlite", {"run_1": rows()}, chunks={C1: (D2, (1, 9))})
    with pytest.raises(UsageError, match=f"missing doc_ids: {D1}"):
        run("aggregate", "other.sqlite", "--check-ids")


def without(items: Sequence[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Return rows whose hits lack some keys."""
    return [
        {**item, "hits_top_k": [{k: v for k, v in hit.items() if k not in keys} for hit in item["hits_top_k"]]}
        for item in items
    ]


def test_stored_runs(here: Path) -> None:
    """Item 3: runs are read from SQLite and per_query.jsonl alike, also those of older versions."""
    old = without(rows(), "score_kind", "stale")
    by_id = {entry.id: entry for entry in kebab_golden.read_golden(GOLDEN.encode(), "g").queries}
    stored = metrics.aggregate(rows(), by_id)
    del stored["precision_at_k_chunk"]
    write_database(here / "kebab.sqlite", {"run_1": old, "run_2": rows()}, aggregates={"run_1": stored})
    (here / "run_1").mkdir()
    (here / "run_1" / "per_query.jsonl").write_bytes(jsonl(old))
    outputs = [
        run("aggregate", source, "--json")
        for source in ("kebab.sqlite#run_1", "kebab.sqlite#run_2", "run_1", "run_1/per_query.jsonl")
    ]
    assert len({entry.stdout for entry in outputs}) == 1
    assert outputs[0].stderr == ""
    before = (here / "kebab.sqlite").read_bytes()
    assert run("runs", "kebab.sqlite").stdout.split()[0] == "run_1"
    assert (here / "kebab.sqlite").read_bytes() == before
    with pytest.raises(UsageError, match="2 runs, expected one to be named as"):
        run("aggregate", "kebab.sqlite")


def test_metrics(here: Path) -> None:
    """Item 4: every metric of a run with answers, weak and strict citations, and the paraphrase report."""
    database = write_database(here / "kebab.sqlite", {"run_1": rows()}, chunks={C1: (D1, (1, 9))})
    document = json.loads(run("aggregate", str(database), "--json").stdout)
    assert document == {
        "hit_at_k": {"1": 1.0, "3": 1.0, "5": 1.0, "10": 1.0},
        "mrr": 1.0,
        "recall_at_k_doc": {"1": 0.5, "3": 1.0, "5": 1.0, "10": 1.0},
        "precision_at_k_chunk": {"1": 1.0, "3": 0.3333, "5": 0.2, "10": 0.1},
        "citation_coverage": 1.0,
        "groundedness": 1.0,
        "empty_result_rate": 0.3333,
        "refusal_correctness": 1.0,
        "total_queries": 3,
        "failed_queries": 0,
    }
    strict = json.loads(run("aggregate", str(database), "--json", "--strict-citations", str(database)).stdout)
    assert strict["citation_coverage"] == 0.0  # the answers cite docs/d1.md, which is not indexed
    wide = write_database(here / "wide.sqlite", {"run_1": rows()}, snapshots={"run_1": {"eval_k": 50}})
    groups = json.loads(run("variants", str(wide), "--json").stdout)
    assert [variant["class"] for variant in groups["groups"][0]["variants"]] == ["Ok", "Ok"]
    assert groups["fully_consistent_groups"] == 1
    with pytest.raises(CannotTell, match="asked for 10 candidates, expected at least 50"):
        run("variants", str(database))


@pytest.mark.parametrize(("flags", "match"), [((), "fallback_doc_span"), (("--fallback", "doc"), "fallback_doc")])
def test_compare_across_chunkers(here: Path, flags: tuple[str, ...], match: str) -> None:
    """Item 6: a changed chunker falls back to documents, or to spans, marks what is not comparable, or is refused."""
    golden = query("q1", expected_chunk_ids=("old",), expected_doc_ids=("d",))
    (here / "g.yaml").write_bytes(kebab_golden.write_golden([golden]))
    runs = {
        "run_a": [row("q1", hit(1, "old", "d", lines=(1, 10)))],
        "run_b": [row("q1", hit(2, "new", "d", lines=(1, 5)))],
    }
    write_database(here / "k.sqlite", runs, snapshots={"run_b": {"chunker_version": "md-heading-v3"}})
    arguments = ("compare", "k.sqlite#run_a", "k.sqlite#run_b", "--golden", "g.yaml", "--json", *flags)
    done = run(*arguments)
    report = json.loads(done.stdout)
    assert report["deltas"]["chunker_version_match"] == match
    assert report["per_query"][0]["note"] == "rank 1→2"
    assert report["raggate"]["not_comparable"] == ["hit_at_k", "mrr", "precision_at_k_chunk"]
    assert report["raggate"]["fallback_b"]["mrr"] == 0.5
    assert "chunker_version differs: md-heading-v2 and md-heading-v3" in done.stderr
    with pytest.raises(CannotTell, match="different chunkers: md-heading-v2 and md-heading-v3"):
        run(*arguments, "--strict-chunker-version")
