"""The helloworld commands: what they print, what they write and how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from builders import make_labelled, make_result, make_run
from helloworld_files import CASES, FLAT, OPERATIONAL, ROWS, make_chunk_row, make_row, write_golden, write_run
from raggate import rundir
from raggate.cli_helloworld import helloworld
from raggate.errors import RaggateError, UsageError
from raggate.pipeline import config_of


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command; give what it exits with, its output and its notes. Errors of raggate are raised."""
    result = CliRunner().invoke(helloworld, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(result.exception, RaggateError):
        raise result.exception
    assert result.exception is None, result.exception
    return int(result.return_value or 0), result.stdout, result.stderr


def test_score_shows_both(tmp_path: Path) -> None:
    """Both sides stand next to each other; JSON holds them with counts."""
    golden = write_golden(tmp_path)
    directory = write_run(tmp_path)
    _, out, _ = run("score", directory, "--golden", golden)
    (line,) = [line for line in out.splitlines() if line.startswith("recall_at_k_avg")]
    assert line.split() == ["recall_at_k_avg", "0.6667", "hit_at_5", "0.5000", "2"]
    _, out, _ = run("score", directory, "--golden", golden, "--json")
    found = json.loads(out)
    assert found["helloworld"]["recall_at_k_avg"] == pytest.approx(2 / 3)
    assert found["raggate"]["hit_at_5"] == {"value": 0.5, "n": 2, "unscored": 1}
    assert found["helloworld"]["operational_metrics"]["error_rate"] == 0.0
    assert found["raggate"]["operational_metrics"]["error_rate"] == 0.0


def test_score_says_what_is_missing(tmp_path: Path) -> None:
    """Questions that were not asked, rows of unknown cases and cut texts are named; a failed call is counted."""
    cut = make_row("test_002", make_chunk_row("a.md", text="x" * 200 + "..."))
    rows = [cut, make_row("stranger\x1b[31m")]
    # one of three calls failed: 1 / (2 + 3)
    aggregates = {**OPERATIONAL, "operational_metrics": {"error_rate": 1 / 5}}
    directory = write_run(tmp_path, rows=rows, aggregates=aggregates)
    _, out, notes = run("score", directory, "--golden", write_golden(tmp_path), "--json")
    assert "1 questions of" in notes
    assert "1 rows are left out" in notes
    assert "\x1b" not in notes
    found = json.loads(out)
    assert (found["truncated"], found["raggate"]["operational_metrics"]["error_rate"]) == (1, 0.5)


def test_score_refuses_another_eval_set(tmp_path: Path) -> None:
    """An eval set that has none of the cases is an error, not a score of nothing."""
    directory = write_run(tmp_path, rows=[make_row("other")])
    with pytest.raises(UsageError, match="no row of"):
        run("score", directory, "--golden", write_golden(tmp_path))


def test_score_needs_rows(tmp_path: Path) -> None:
    """A run of which only the committed files are there cannot be scored again, and the message says why."""
    directory = write_run(tmp_path, rows=None, aggregates=FLAT)
    with pytest.raises(UsageError, match=r"results\.jsonl is missing or empty"):
        run("score", directory, "--golden", write_golden(tmp_path))


def test_export_says_what_does_not_fit(tmp_path: Path) -> None:
    """A run of several modes needs one named, and answers that were not asked for are told."""
    items = [make_labelled(result=make_result(mode=mode)) for mode in ("bm25", "hybrid")]
    rundir.write(tmp_path / "run", make_run(*items, fingerprint={"k": 5}))
    with pytest.raises(UsageError, match="bm25, hybrid"):
        run("export", tmp_path / "run", "--out", tmp_path / "out")
    _, out, notes = run("export", tmp_path / "run", "--out", tmp_path / "out", "--mode", "bm25")
    assert "1 rows" in out
    assert "asked for no answers" in notes


def test_aggregate_only_takes_stored_scores(tmp_path: Path) -> None:
    """With --aggregate-only what results.jsonl holds is averaged."""
    stored = {"recall_at_k": 0.0, "mrr": 0.0, "precision_at_k": 0.0, "scope_miss": True, "attribution_hit": False}
    directory = write_run(tmp_path, rows=[{**ROWS[0], "retrieval_metrics": stored}])
    golden = write_golden(tmp_path)
    values = [
        json.loads(run("score", directory, "--golden", golden, "--json", *flags)[1])["helloworld"]["recall_at_k_avg"]
        for flags in ((), ("--aggregate-only",))
    ]
    assert values == [1.0, 0.0]


def test_compare_gates(tmp_path: Path) -> None:
    """A fall beyond the threshold exits 1, unless it is allowed or the threshold is wider."""
    before = write_run(tmp_path, "a", rows=None, aggregates=FLAT)
    new = write_run(tmp_path, "b", rows=None, aggregates={**FLAT, "recall_at_k_avg": 0.6}, config={"k": 8})
    code, out, _ = run("compare", before, new)
    assert code == 1
    assert "REGRESSION recall_at_k_avg: 0.700 → 0.600 (-0.100, allowed 0.05)" in out
    assert "setting k: 5 → 8" in out
    assert run("compare", before, new, "--allow-regressions")[0] == 0
    assert run("compare", before, new, "--regression-threshold-recall", "0.1")[0] == 0
    assert run("compare", new, before)[0] == 0


def test_compare_needs_equal_judges(tmp_path: Path) -> None:
    """Another judge model cannot be compared, exit 3, unless invariants are ignored; one side alone is a note."""
    before = write_run(tmp_path, "a", rows=None, aggregates=FLAT)
    new = write_run(tmp_path, "b", rows=None, aggregates=FLAT, config={"judge_model": "14B"})
    code, out, notes = run("compare", before, new)
    assert (code, out) == (3, "")
    assert "judge_model differs" in notes
    assert run("compare", before, new, "--ignore-invariants")[0] == 0
    unjudged = write_run(tmp_path, "c", rows=None, aggregates=FLAT, config={"judge_model": None})
    code, _, notes = run("compare", before, unjudged)
    assert code == 0
    assert "judge_model is missing on one side" in notes


def test_compare_scores_again(tmp_path: Path) -> None:
    """With a golden set rows and means are computed again, so that flips and a fall are seen; without, it says so."""
    before = write_run(tmp_path, "a")
    worse = [make_row("test_001", make_chunk_row("z.md")), *ROWS[1:]]
    new = write_run(tmp_path, "b", rows=worse)
    code, out, notes = run("compare", before, new)
    assert code == 0
    assert "metrics.json holds no scores" in notes
    assert "recall_at_k_avg is missing on a side and not gated" in notes
    code, out, _ = run("compare", before, new, "--golden", write_golden(tmp_path))
    assert code == 1
    assert "regressions: 1 questions" in out
    assert "test_001: recall_at_k: 1.0 → 0.0" in out


def test_import_and_export(tmp_path: Path) -> None:
    """A run of theirs becomes a raggate run directory, and that one a run of theirs again."""
    golden = write_golden(tmp_path)
    directory = write_run(tmp_path, rows=ROWS[:1] + ROWS[2:])
    _, out, notes = run("import", directory, "--golden", golden, "--out", tmp_path / "in")
    assert "3 questions" in out
    assert "scores stay behind" in notes
    measured = rundir.read(tmp_path / "in")
    assert [item.result.failure is None for item in measured.results] == [True, False, True]
    assert config_of(measured).ask.k == 5
    _, out, _ = run("export", tmp_path / "in", "--out", tmp_path / "out" / "r1", "--description", "back")
    assert "2 rows, 1 failed calls" in out
    metrics = json.loads((tmp_path / "out" / "r1" / "metrics.json").read_text())
    assert metrics["aggregate_metrics"]["recall_at_k_avg"] == 0.5
    assert metrics["aggregate_metrics"]["operational_metrics"]["error_rate"] == 1 / 5
    assert metrics["config_hash"] == "03254b2cb94682e1"
    _, out, _ = run("score", tmp_path / "out" / "r1", "--golden", golden)
    assert "hit_at_5" in out


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A target that holds something already is refused."""
    with pytest.raises(UsageError, match="is not empty"):
        run("import", write_run(tmp_path), "--golden", write_golden(tmp_path, CASES), "--out", tmp_path)
