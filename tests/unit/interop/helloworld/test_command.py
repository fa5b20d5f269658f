"""The helloworld commands: what they print, what they write and how they exit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import make_labelled, make_result, make_run
from helloworld_files import CASES, FLAT, OPERATIONAL, ROWS, make_chunk_row, make_row, write_golden, write_run
from invoked import invoked
from raggate.base.errors import UsageError
from raggate.cli.main import run_command
from raggate.pipeline import run_directory
from raggate_interop.helloworld.command import helloworld


def run(*arguments: object) -> tuple[int, str, str]:
    """Run a command; give what it exits with, its output and its notes."""
    result = invoked(helloworld, *arguments)
    return int(result.return_value or 0), result.stdout, result.stderr


def scored(directory: Path, golden: Path, *flags: str) -> dict[str, Any]:
    """Score a run; give what programs are told."""
    result: dict[str, Any] = invoked(helloworld, "score", directory, "--golden", golden, *flags).return_value.result
    return result


def test_score_shows_both(tmp_path: Path) -> None:
    """Both sides stand next to each other; JSON holds them with counts."""
    golden = write_golden(tmp_path)
    directory = write_run(tmp_path)
    _, out, _ = run("score", directory, "--golden", golden)
    (line,) = [line for line in out.splitlines() if line.startswith("recall_at_k_avg")]
    assert line.split() == ["recall_at_k_avg", "0.6667", "hit_at_5", "0.5000", "2"]
    document = scored(directory, golden)
    assert document["helloworld"]["recall_at_k_avg"] == pytest.approx(2 / 3)
    assert document["raggate"]["hit_at_5"] == {"value": 0.5, "n": 2, "unscored": 1}
    assert document["helloworld"]["operational_metrics"]["error_rate"] == 0.0
    assert document["raggate"]["operational_metrics"]["error_rate"] == 0.0


def test_score_says_what_is_missing(tmp_path: Path) -> None:
    """Questions that were not asked, rows of unknown cases and cut texts are named; a failed call is counted."""
    cut = make_row("test_002", make_chunk_row("a.md", text="x" * 200 + "..."))
    rows = [cut, make_row("stranger\x1b[31m")]
    # one of three calls failed: 1 / (2 + 3)
    aggregates = {**OPERATIONAL, "operational_metrics": {"error_rate": 1 / 5}}
    directory = write_run(tmp_path, rows=rows, aggregates=aggregates)
    golden = write_golden(tmp_path)
    _, _, notes = run("score", directory, "--golden", golden)
    assert "1 question of" in notes
    assert "1 row left out" in notes
    assert "\x1b" not in notes
    document = scored(directory, golden)
    assert (document["truncated"], document["raggate"]["operational_metrics"]["error_rate"]) == (1, 0.5)


@pytest.mark.parametrize(
    ("rows", "message"), [([make_row("other")], "no row of"), (None, r"results\.jsonl is missing or empty")]
)
def test_score_of_nothing_is_refused(tmp_path: Path, rows: Any, message: str) -> None:
    """An eval set with none of the cases, or a run of which only the committed files are there, is an error."""
    directory = write_run(tmp_path, rows=rows, aggregates=FLAT)
    with pytest.raises(UsageError, match=message):
        run("score", directory, "--golden", write_golden(tmp_path))


def test_export_says_what_does_not_fit(tmp_path: Path) -> None:
    """A run of several modes needs one named, and answers that were not asked for are told."""
    items = [make_labelled(result=make_result(mode=mode)) for mode in ("bm25", "hybrid")]
    run_directory.write(tmp_path / "run", make_run(*items, fingerprint={"k": 5}))
    with pytest.raises(UsageError, match="bm25, hybrid"):
        run("export", tmp_path / "run", "--out", tmp_path / "out")
    _, out, notes = run("export", tmp_path / "run", "--out", tmp_path / "out", "--mode", "bm25")
    assert "1 row" in out
    assert "asked for no answers" in notes


def test_compare_gates(tmp_path: Path) -> None:
    """A fall beyond the threshold exits 1, unless it is allowed or the threshold is wider."""
    before = write_run(tmp_path, "a", rows=None, aggregates=FLAT)
    new = write_run(tmp_path, "b", rows=None, aggregates={**FLAT, "recall_at_k_avg": 0.6}, config={"llm_model": "9B"})
    code, out, _ = run("compare", before, new)
    assert code == 1
    assert "REGRESSION recall_at_k_avg: 0.7000 → 0.6000 (-0.1000, allowed 0.05)" in out
    assert "setting llm_model: Qwen2.5-3B-Instruct-Q4_K_M → 9B" in out
    assert run("compare", before, new, "--allow-regressions")[0] == 0
    assert run("compare", before, new, "--regression-threshold-recall", "0.1")[0] == 0
    assert run("compare", new, before)[0] == 0


def test_compare_scores_again(tmp_path: Path) -> None:
    """With a golden set rows and means are computed again, so that flips and a fall are seen; without, it says so."""
    before = write_run(tmp_path, "a")
    worse = [make_row("test_001", make_chunk_row("z.md")), *ROWS[1:]]
    new = write_run(tmp_path, "b", rows=worse)
    code, out, notes = run("compare", before, new)
    assert code == 3
    assert "metrics.json has no scores" in notes
    assert "recall_at_k_avg is missing on a side and not gated" in notes
    assert "cannot tell: no gated mean is on both sides" in notes
    code, out, _ = run("compare", before, new, "--golden", write_golden(tmp_path))
    assert code == 1
    assert "regressions: 1 question" in out
    assert "test_001: recall_at_k: 1.0 → 0.0" in out


def test_compare_misses_questions(tmp_path: Path) -> None:
    """Questions that vanish are no pass but exit 3, unless that is allowed; the means are over those of both runs."""
    before = write_run(tmp_path, "a")
    new = write_run(tmp_path, "b", rows=[ROWS[0], ROWS[2]])
    golden = write_golden(tmp_path)
    code, out, notes = run("compare", before, new, "--golden", golden)
    assert code == 3
    assert "only in the baseline: 1 question: test_002" in out
    assert "recall_at_k_avg                  0.5000 → 0.5000" in out
    assert "cannot tell: questions of the baseline have no row now" in notes
    assert run("compare", before, new, "--golden", golden, "--allow-vanished")[0] == 0
    code, out, _ = run("compare", new, before, "--golden", golden)
    assert (code, "only in the new run: 1 question: test_002" in out) == (0, True)


def test_compare_needs_scores(tmp_path: Path) -> None:
    """Runs without a gated mean in common cannot be compared, and an eval set that has no case of a run is refused."""
    before = write_run(tmp_path, "a", aggregates={**OPERATIONAL, "mrr_avg": 0.9})
    new = write_run(tmp_path, "b", aggregates={**OPERATIONAL, "mrr_avg": 0.1})
    assert run("compare", before, new)[0] == 3
    golden = write_golden(tmp_path, [{**CASES[0], "id": "other"}])
    with pytest.raises(UsageError, match="no row of a is of a case in the golden set"):
        run("compare", before, new, "--golden", golden)
    # each has questions of the golden set, but none is in both
    golden = write_golden(tmp_path)
    halves = [write_run(tmp_path, name, rows=rows) for name, rows in (("c", ROWS[:1]), ("d", ROWS[1:]))]
    assert run("compare", *halves, "--golden", golden, "--allow-vanished")[0] == 3


def raggate(*arguments: str | Path) -> int:
    """Run raggate itself; give what it exits with."""
    return run_command([str(argument) for argument in arguments])


def test_imported_runs_are_compared_and_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Imported runs, whose vault is not known, are compared with each other and promoted, and their settings named."""
    monkeypatch.chdir(tmp_path)
    covered = [{**row, "indexing_coverage": {"docs_processed": 17, "index_version": "aaa"}} for row in ROWS]
    golden = write_golden(tmp_path)
    for name, model in (("a", "one"), ("b", "two")):
        directory = write_run(tmp_path / "theirs", name, rows=covered, config={"embedding_model": model})
        assert raggate("helloworld", "import", directory, "--golden", golden, "--out", tmp_path / name) == 0
    assert raggate("compare", "b", "--baseline", "a") == 0
    page = (tmp_path / "b" / "compared" / "summary.md").read_text(encoding="utf-8")
    assert "embedding_model" in page
    assert raggate("promote", "a") == 0
    assert raggate("compare", "b", "--baseline", "baselines/default.json") == 0
    assert "not in the vault" not in capsys.readouterr().out


@pytest.mark.parametrize(("recall", "code"), [(0.3, 0), (0.9, 1)])
def test_their_metrics_are_a_baseline(tmp_path: Path, recall: float, code: int) -> None:
    """A metrics.json of theirs with flat means is a baseline for an imported run, by its own config.json's K."""
    golden = write_golden(tmp_path)
    directory = write_run(tmp_path, "a")
    assert raggate("helloworld", "import", directory, "--golden", golden, "--out", tmp_path / "in") == 0
    old = write_run(tmp_path, "old", rows=None, aggregates={**OPERATIONAL, "recall_at_k_avg": recall})
    assert raggate("compare", tmp_path / "in", "--baseline", old / "metrics.json") == code
    bare = write_run(tmp_path, "bare", rows=None)
    assert raggate("compare", tmp_path / "in", "--baseline", bare / "metrics.json") == 2


def test_import_and_export(tmp_path: Path) -> None:
    """A run of theirs becomes a raggate run directory, and that one a run of theirs again."""
    golden = write_golden(tmp_path)
    directory = write_run(tmp_path, rows=ROWS[:1] + ROWS[2:])
    _, out, notes = run("import", directory, "--golden", golden, "--out", tmp_path / "in")
    assert "3 results" in out
    assert notes == ""
    measured = run_directory.read(tmp_path / "in")
    assert [item.result.failure is None for item in measured.results] == [True, False, True]
    assert measured.fingerprint["k"] == 5
    _, out, _ = run("export", tmp_path / "in", "--out", tmp_path / "out" / "r1", "--description", "back")
    assert "2 rows, 1 failed call" in out
    metrics = json.loads((tmp_path / "out" / "r1" / "metrics.json").read_text())
    assert metrics["aggregate_metrics"]["recall_at_k_avg"] == 0.5
    assert metrics["aggregate_metrics"]["operational_metrics"]["error_rate"] == 1 / 5
    assert metrics["config_hash"] == "03254b2cb94682e1"
    _, out, _ = run("score", tmp_path / "out" / "r1", "--golden", golden)
    assert "hit_at_5" in out


def test_score_updates_the_run_in_place(tmp_path: Path) -> None:
    """--update writes every row's scores and the means as their scripts do; a second time it changes nothing."""
    golden, directory = write_golden(tmp_path), write_run(tmp_path, rows=[*ROWS, make_row("stranger")])
    before = (directory / "results.jsonl").read_bytes()
    run("score", directory, "--golden", golden)
    assert (directory / "results.jsonl").read_bytes() == before
    run("score", directory, "--golden", golden, "--update", "--output-metrics", tmp_path / "means.json")
    rows = [json.loads(line) for line in (directory / "results.jsonl").read_text().splitlines()]
    assert [row.get("retrieval_metrics", {}).get("recall_at_k") for row in rows] == [1.0, 1.0, 0.0, None]
    assert rows[2]["abstention"] == {"abstained": True, "hallucinated": False}
    assert rows[0]["groundedness"] == ROWS[0]["groundedness"]
    metrics = json.loads((directory / "metrics.json").read_text())
    assert metrics["aggregate_metrics"]["recall_at_k_avg"] == pytest.approx(2 / 3)
    assert metrics["aggregate_metrics"]["latency"] == OPERATIONAL["latency"]
    assert json.loads((tmp_path / "means.json").read_text())["recall_at_k_avg"] == pytest.approx(2 / 3)
    once = [(directory / name).read_bytes() for name in ("results.jsonl", "metrics.json")]
    run("score", directory, "--golden", golden, "--update")
    assert [(directory / name).read_bytes() for name in ("results.jsonl", "metrics.json")] == once
    with pytest.raises(UsageError, match="cannot be combined"):
        run("score", directory, "--golden", golden, "--update", "--aggregate-only")


def test_redact_keeps_the_structure(tmp_path: Path) -> None:
    """A redacted run has no text of question, answer, chunk or judge, and its stored scores still give the means."""
    golden, directory = write_golden(tmp_path), write_run(tmp_path)
    run("score", directory, "--golden", golden, "--update")
    run("redact", directory, "--out", tmp_path / "public")
    public = (tmp_path / "public" / "results.jsonl").read_text()
    for row in ROWS:
        for text in (row["question"], row["answer"], *(chunk["text"] for chunk in row["retrieved_chunks"])):
            assert text not in public
    first = json.loads(public.splitlines()[0])
    assert first["retrieved_chunks"][0] == {**ROWS[0]["retrieved_chunks"][0], "text": "[redacted]"}
    means = [scored(path, golden, "--aggregate-only") for path in (directory, tmp_path / "public")]
    assert means[0]["helloworld"] == means[1]["helloworld"]
    with pytest.raises(UsageError, match="is not empty"):
        run("redact", directory, "--out", tmp_path / "public")


@pytest.mark.parametrize(
    "words",
    [("score", "{run}"), ("import", "{run}", "--out", "{out}"), ("compare", "{run}", "{run}")],
    ids=lambda words: words[0],
)
def test_a_run_without_texts_is_not_labelled_anew(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without texts no snippet is found: every command that would call that a miss refuses the run."""
    golden, directory = write_golden(tmp_path), write_run(tmp_path)
    run("redact", directory, "--out", tmp_path / "public")
    places = {"run": tmp_path / "public", "out": tmp_path / "in"}
    with pytest.raises(UsageError, match=r"run .*: \d+ rows? without texts, where no snippet can match"):
        run(*(word.format(**places) for word in words), "--golden", golden)


def test_export_compares_with_the_run_before(tmp_path: Path) -> None:
    """summary.md compares with the last run before it in the same directory; a later or broken one is passed over."""
    golden, results = write_golden(tmp_path), tmp_path / "results"
    first = write_run(results, "20251201_000000", aggregates={**OPERATIONAL, **FLAT})
    write_run(results, "20991231_000000")
    run("import", first, "--golden", golden, "--out", tmp_path / "in")
    run("export", tmp_path / "in", "--out", results / "20251203_000000")
    summary = (results / "20251203_000000" / "summary.md").read_text()
    assert "**Previous Run ID**: `20251201_000000`" in summary
    assert "- **Recall@K**: 0.700 → 0.667 (-0.033)" in summary
    (results / "20251202_000000").mkdir()
    _, _, notes = run("export", tmp_path / "in", "--out", results / "20251202_120000")
    assert "20251202_000000: neither metrics.json nor results.jsonl" in notes
    assert "`20251201_000000`" in (results / "20251202_120000" / "summary.md").read_text()


def test_compare_needs_equal_debug_fields(tmp_path: Path) -> None:
    """Runs whose retrieved chunks tell other fields are not comparable; some chunks may leave a field out."""
    golden = write_golden(tmp_path)
    before = write_run(tmp_path, "a", rows=[make_row("test_001", make_chunk_row(score_lexical=0.1), make_chunk_row())])
    now = write_run(tmp_path, "b", rows=[make_row("test_001", make_chunk_row())])
    code, _, notes = run("compare", before, now, "--golden", golden)
    assert code == 3
    assert "invariant debug_fields differs" in notes
    assert run("compare", before, now, "--golden", golden, "--invariant", "debug_fields=off")[0] == 0
    same = write_run(tmp_path, "c", rows=[make_row("test_001", make_chunk_row(), make_chunk_row(score_lexical=0.0))])
    assert run("compare", before, same, "--golden", golden)[0] == 0
    nothing = write_run(tmp_path, "d", rows=[make_row("test_001")])
    assert "debug_fields" not in run("compare", before, nothing, "--golden", golden)[2]
