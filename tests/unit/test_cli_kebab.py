"""`raggate kebab`: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kebab_builders import hit, jsonl, query, row, three_queries, three_queries_later, write_database
from raggate.cli_kebab import kebab as command
from raggate.errors import CannotTell, UsageError
from raggate.formats import kebab

TABLE = """\
hit_at_1                 0.3333
hit_at_3                 0.3333
hit_at_5                 0.6667
hit_at_10                0.6667
mrr                      0.4167
recall_at_1_doc          0.3333
recall_at_3_doc          0.3333
recall_at_5_doc          0.6667
recall_at_10_doc         0.6667
precision_at_1_chunk     0.3333
precision_at_3_chunk     0.1111
precision_at_5_chunk     0.1333
precision_at_10_chunk    0.0667
citation_coverage        null
groundedness             0.0000
empty_result_rate        0.0000
refusal_correctness      null
total_queries            3
failed_queries           0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two runs as files and as a database, with their golden set, and go there."""
    monkeypatch.chdir(tmp_path)
    before, golden = three_queries()
    for name, rows in (("a", before), ("b", three_queries_later())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "per_query.jsonl").write_bytes(jsonl(rows))
    (tmp_path / "g.yaml").write_bytes(kebab.write_golden(golden.values()))
    monkeypatch.setenv("KEBAB_EVAL_GOLDEN", "g.yaml")
    return tmp_path


def run(*arguments: str) -> Result:
    """Run the command; an error that raggate's command line would print is raised."""
    return CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)


@pytest.mark.usefixtures("folder")
def test_table() -> None:
    """Every metric has a line; the golden set is found as kebab finds it."""
    assert run("aggregate", "a").stdout == TABLE


@pytest.mark.usefixtures("folder")
def test_compare_prints_the_report_and_the_verdict() -> None:
    """The report goes to standard output, the verdict to standard error and into the exit code."""
    done = run("compare", "a", "b")
    assert done.return_value == 0
    assert done.stdout.startswith("# Eval compare: `a` vs `b`\n")
    assert done.stderr == "raggate: verdict: pass\n"
    back = run("compare", "b", "a")
    assert back.return_value == 1
    assert back.stderr.startswith("raggate: verdict: regression\nraggate: q3: hit→miss\n")
    assert run("compare", "b", "a", "--max-drop", "1").return_value == 1


def test_compare_that_cannot_tell(folder: Path) -> None:
    """A run that lacks queries, or failed too often, ends with 3."""
    rows, _ = three_queries()
    (folder / "less.jsonl").write_bytes(jsonl(rows[:2]))
    less = run("compare", "a", "less.jsonl")
    assert less.return_value == 3
    assert "1 queries of run a are not in run b, the first is q3" in less.stderr
    (folder / "failed.jsonl").write_bytes(jsonl([row(f"q{number}", error="down") for number in (1, 2, 3)]))
    failed = run("compare", "a", "failed.jsonl")
    assert failed.return_value == 3
    assert "3 of 3 queries of run b failed" in failed.stderr


def test_what_cannot_be_measured(folder: Path) -> None:
    """A run without any query of the golden set, and one without groups, are no result."""
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "other.jsonl").write_bytes(jsonl([row("zz", hit(1, "c", "d"))]))
    for source in ("empty.jsonl", "other.jsonl"):
        with pytest.raises(CannotTell, match=r"queries is in g\.yaml"):
            run("aggregate", source)
    with pytest.raises(CannotTell, match="no query of the run is in a group"):
        run("variants", "a")


def test_what_is_told_beside(folder: Path) -> None:
    """Ignored keys, questions in other words and stored values that differ are told, harmless for a log."""
    golden = query("q1", query="new words", expected_chunk_ids=("c1",))
    (folder / "g.yaml").write_bytes(kebab.write_golden([golden]) + b"  '::error::': 1\n")
    write_database(folder / "k.sqlite", {"run_1": three_queries()[0]}, aggregates={"run_1": {"mrr": 0.25}})
    said = run("aggregate", "k.sqlite").stderr.splitlines()
    assert said[0].startswith("raggate: g.yaml:5: key ':\u200b:error:\u200b:' is ignored")
    assert said[1:] == [
        "raggate: run run_1: query q1 was asked in other words",
        "raggate: not as stored in the file: mrr: stored 0.25, computed 1",
    ]


def test_runs(folder: Path) -> None:
    """Runs are listed oldest first, as lines or JSON."""
    write_database(folder / "k.sqlite", {"run_z": three_queries()[0], "run_a": []})
    assert run("runs", "k.sqlite").stdout.splitlines() == [
        "run_z 2026-01-01T00:00:00Z golden 3 queries",
        "run_a 2026-01-02T00:00:00Z golden 0 queries",
    ]
    assert json.loads(run("runs", "k.sqlite", "--json").stdout)[1] == {
        "run_id": "run_a",
        "suite": "golden",
        "created_at": "2026-01-02T00:00:00Z",
        "queries": 0,
    }


def test_variants_as_text(folder: Path) -> None:
    """The paraphrase report is Markdown, with foreign text escaped."""
    golden = [query(name, query="<b>@me</b>", expected_doc_ids=("d1",), group="g") for name in ("q1", "q2")]
    (folder / "g.yaml").write_bytes(kebab.write_golden(golden))
    text = run("variants", "a").stdout
    assert "groups=1 fully_consistent=0 A_dominant=0 B_dominant=1 mean_spread@10=1.000 pool=top-50" in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("aggregate", "gone"), "gone: No such file"),
        (("aggregate", "a#run_1"), "not an SQLite file, so it has no run 'run_1'"),
        (("aggregate", "a", "--golden", "gone.yaml"), "gone.yaml: No such file"),
        (("aggregate", "k.sqlite#run_9"), "no run 'run_9'"),
        (("aggregate", "a", "--check-ids"), "cannot be read|no such file"),
        (("compare", "a", "b", "--report", "g.yaml/report.md"), "cannot write"),
        (("runs", "gone"), "no such file"),
    ],
)
def test_what_is_refused(folder: Path, arguments: tuple[str, ...], problem: str) -> None:
    """What cannot be read or written is one clear error."""
    write_database(folder / "k.sqlite", {"run_1": []})
    with pytest.raises(UsageError, match=problem):
        run(*arguments)


def test_starts_alone() -> None:
    """The command's help needs neither the files' readers nor a database."""
    heavy = "('raggate.formats', 'raggate.compat', 'sqlite3', 'yaml', 'pydantic')"
    code = f"import sys, raggate.cli_kebab; print([name for name in sys.modules if name.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
