"""`raggate kebab`: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from invoked import invoked
from kebab_builders import answer, hit, jsonl, query, row, three_queries, three_queries_later, write_database
from raggate.base.errors import CannotTell, UsageError
from raggate.pipeline import result_rows
from raggate_interop.kebab import golden as kebab_golden, metrics
from raggate_interop.kebab.command import kebab

run = partial(invoked, kebab)


def write_rows(directory: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write a run as kebab exports it."""
    directory.mkdir()
    (directory / "per_query.jsonl").write_bytes(jsonl(rows))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two runs as files and as a database, with their golden set, and go there."""
    monkeypatch.chdir(tmp_path)
    before, golden = three_queries()
    write_rows(tmp_path / "a", before)
    write_rows(tmp_path / "b", three_queries_later())
    (tmp_path / "g.yaml").write_bytes(kebab_golden.write_golden(golden.values()))
    monkeypatch.setenv("KEBAB_EVAL_GOLDEN", "g.yaml")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_table() -> None:
    """Every metric has a line with four digits or null; the golden set is found as kebab finds it."""
    lines = run("aggregate", "a").stdout.splitlines()
    assert len(lines) == 19
    assert lines[3:5] == ["hit_at_10                0.6667", "mrr                      0.4167"]
    assert lines[13:15] == ["citation_coverage        null", "groundedness             0.0000"]


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


def read_run(directory: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the configuration and the results of a raggate run directory."""
    path = Path(directory)
    _, lines = result_rows.packed_lines(path)
    return json.loads((path / "config.json").read_text()), [json.loads(line) for line in lines]


def test_import(folder: Path) -> None:
    """A run becomes a raggate run directory; what stays behind is told, and the time stands in the run's name."""
    name = "run_0190a1b2c3d47abc8def0123456789ab"
    rows = [row("q1", hit(3, "c1", "d1")), row("q2", hit(1, "c2", "d2"), error="llm down"), row("zz")]
    write_rows(folder / name, rows)
    done = run("import", name, "--out", "in")
    assert done.stdout == "wrote in: 3 results. Next: raggate promote in, or raggate compare in --baseline FILE\n"
    assert done.stderr.splitlines() == [
        "raggate: the run does not say how many hits it requested: its deepest rank, 3, counts unless you give --k",
        "raggate: 1 row left out: the golden set has no such question",
        "raggate: 1 case without a row: counted as failed",
    ]
    config, results = read_run("in")
    assert config["started"] == "2024-07-11T12:09:25Z"
    assert [item["result"]["failure"] is None for item in results] == [True, False, False]
    assert run("import", name, "--out", "deeper", "--k", "7").return_value == 0
    assert read_run("deeper")[0]["fingerprint"]["k"] == 7


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("import", "a", "--out", "a"), "a exists and is not empty"),
        (("import", "a", "--out", "in", "--k", "1"), "k is 1, but run a has a hit of rank 4"),
        (("import", "k.sqlite", "--out", "in", "--k", "5"), "k is 5, but run run_1 asked for 10"),
        (("import", "a", "--out", "in", "--golden", "open.yaml"), "whether to refuse it: q1"),
        (
            ("import", "a", "--out", "in", "--golden", "open.yaml", "--unlabelled", "skip"),
            "no query with an expected answer is left",
        ),
        (("export", "a", "--out", "out"), "config.json: No such file"),
    ],
)
def test_import_and_export_refuse(folder: Path, arguments: tuple[str, ...], problem: str) -> None:
    """What cannot be turned into the other's is one clear error, and nothing is written."""
    write_database(folder / "k.sqlite", {"run_1": three_queries()[0]})
    (folder / "open.yaml").write_bytes(kebab_golden.write_golden([query("q1")]))
    with pytest.raises(UsageError, match=problem):
        run(*arguments)
    assert not (folder / "in").exists()
    assert not (folder / "out").exists()


def seeded_rows(seed: int) -> list[dict[str, Any]]:
    """Make rows of the three queries whose hits have gaps, ties and another order than their ranks."""
    lots = Random(seed)  # noqa: S311 - nobody guesses a test
    expected = [(f"c{n}", f"d{n}") for n in (1, 2, 3)]
    rows = []
    for number in (1, 2, 3):
        named = lots.sample([*expected, *((f"x{n}", f"y{n}") for n in range(8))], lots.randint(0, 9))
        hits = [hit(lots.randint(1, 12), *names) for names in named]
        rows.append(row(f"q{number}", *hits, error="down" if not hits and lots.random() < 0.5 else None))
    return rows


def test_an_export_scores_as_the_run_that_was_imported(folder: Path) -> None:
    """Fifty runs with gaps and ties among their ranks have kebab's numbers before and after."""
    for seed in range(50):
        (folder / "a" / "per_query.jsonl").write_bytes(jsonl(seeded_rows(seed)))
        run("import", "a", "--out", f"in{seed}", "--k", "12")
        run("export", f"in{seed}", "--out", f"back{seed}")
        assert run("aggregate", f"back{seed}").stdout == run("aggregate", "a").stdout, seed


def test_what_cannot_be_measured(folder: Path) -> None:
    """A run without any query of the golden set, and one without groups, are no result."""
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "other.jsonl").write_bytes(jsonl([row("zz", hit(1, "c", "d"))]))
    for source in ("empty.jsonl", "other.jsonl"):
        with pytest.raises(CannotTell, match=r"queries is in g\.yaml"):
            run("aggregate", source)
    with pytest.raises(CannotTell, match="no query of the run has a group"):
        run("variants", "a")


def test_warnings_beside_the_output(folder: Path) -> None:
    """Ignored keys, questions in other words and stored values that differ are told, harmless for a log."""
    golden = query("q1", query="new words", expected_chunk_ids=("c1",))
    (folder / "g.yaml").write_bytes(kebab_golden.write_golden([golden]) + b"  '::error::': 1\n")
    write_database(folder / "k.sqlite", {"run_1": three_queries()[0]}, aggregates={"run_1": {"mrr": 0.25}})
    lines = run("aggregate", "k.sqlite").stderr.splitlines()
    assert lines[0].startswith("raggate: g.yaml:5: key ':\u200b:error:\u200b:' is ignored")
    assert lines[1:] == [
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
    """On a terminal the paraphrase report holds the letters of foreign text; as a Markdown file they are escaped."""
    golden = [query(name, expected_doc_ids=("d1",), group="<b>R&D @me</b>") for name in ("q1", "q2")]
    (folder / "g.yaml").write_bytes(kebab_golden.write_golden(golden))
    text = run("variants", "a", "--report", "variants.md").stdout
    assert "groups=1 fully_consistent=0 A_dominant=0 B_dominant=1 mean_spread@10=1.000 pool=top-50" in text
    assert "## <b>R&D @me</b> —" in text
    report = (folder / "variants.md").read_text()
    assert "<b>" not in report
    assert "R&#38;D" in report


def test_ids_are_looked_up_in_the_database(folder: Path) -> None:
    """A golden set that names what the index does not have is refused."""
    chunks = {f"c{number}": (f"d{number}", (1, 9)) for number in (1, 2, 3)}
    write_database(folder / "k.sqlite", {"run_1": three_queries()[0]}, chunks=chunks)
    assert run("aggregate", "k.sqlite", "--check-ids").return_value == 0
    write_database(folder / "other.sqlite", {"run_1": three_queries()[0]}, chunks={**chunks, "c1": ("d2", (1, 9))})
    with pytest.raises(UsageError, match="missing doc_ids: d1"):
        run("aggregate", "other.sqlite", "--check-ids")


def test_stored_runs(folder: Path) -> None:
    """Runs are read from SQLite, which stays as it is, and per_query.jsonl alike, also those of older versions."""
    rows, golden = three_queries()
    old = json.loads(json.dumps(rows))
    for found in (found for entry in old for found in entry["hits_top_k"]):
        del found["score_kind"], found["stale"]
    stored = metrics.aggregate(rows, golden)
    del stored["precision_at_k_chunk"]
    write_database(folder / "k.sqlite", {"run_1": old, "run_2": rows}, aggregates={"run_1": stored})
    write_rows(folder / "run_1", old)
    before = (folder / "k.sqlite").read_bytes()
    sources = ("k.sqlite#run_1", "k.sqlite#run_2", "run_1", "run_1/per_query.jsonl")
    outputs = [run("aggregate", source, "--json") for source in sources]
    assert len({done.stdout for done in outputs}) == 1
    assert outputs[0].stderr == ""
    assert (folder / "k.sqlite").read_bytes() == before
    with pytest.raises(UsageError, match="2 runs, expected one to be named as"):
        run("aggregate", "k.sqlite")


@pytest.mark.usefixtures("folder")
def test_strict_citations(folder: Path) -> None:
    """A citation counts with any path, or of notes that are in a database alone."""
    (folder / "g.yaml").write_bytes(kebab_golden.write_golden([query("q1")]))
    write_rows(folder / "cited", [row("q1", hit(1, "c1", "d1"), answer=answer("yes"))])
    write_database(folder / "k.sqlite", {}, chunks={"c1": ("d9", (1, 9))})
    flags = ((), ("--strict-citations", "k.sqlite"))
    found = [json.loads(run("aggregate", "cited", "--json", *own).stdout)["citation_coverage"] for own in flags]
    assert found == [1.0, 0.0]


@pytest.mark.parametrize(("flags", "match"), [((), "fallback_doc_span"), (("--fallback", "doc"), "fallback_doc")])
def test_compare_across_chunkers(folder: Path, flags: tuple[str, ...], match: str) -> None:
    """A changed chunker falls back to spans or documents, marks what is not comparable, or is refused."""
    golden = query("q1", expected_chunk_ids=("old",), expected_doc_ids=("d",))
    (folder / "g.yaml").write_bytes(kebab_golden.write_golden([golden]))
    runs = {
        "run_a": [row("q1", hit(1, "old", "d", lines=(1, 10)))],
        "run_b": [row("q1", hit(2, "new", "d", lines=(1, 5)))],
    }
    write_database(folder / "k.sqlite", runs, snapshots={"run_b": {"chunker_version": "md-heading-v3"}})
    arguments = ("compare", "k.sqlite#run_a", "k.sqlite#run_b", "--json", *flags)
    done = run(*arguments)
    report = json.loads(done.stdout)
    assert (report["deltas"]["chunker_version_match"], report["raggate"]["fallback_b"]["mrr"]) == (match, 0.5)
    assert "chunker_version differs: md-heading-v2 and md-heading-v3" in done.stderr
    with pytest.raises(CannotTell, match="different chunkers: md-heading-v2 and md-heading-v3"):
        run(*arguments, "--strict-chunker-version")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("aggregate", "gone"), "gone: No such file"),
        (("aggregate", "a#run_1"), "not an SQLite file, so it has no run 'run_1'"),
        (("aggregate", "k.sqlite#run_9"), "no run 'run_9'"),
        (("aggregate", "a", "--check-ids"), "cannot be read|no such file"),
        (("compare", "a", "b", "--report", "g.yaml/report.md"), "cannot write"),
    ],
)
def test_what_is_refused(folder: Path, arguments: tuple[str, ...], problem: str) -> None:
    """What cannot be read or written is one clear error."""
    write_database(folder / "k.sqlite", {"run_1": []})
    with pytest.raises(UsageError, match=problem):
        run(*arguments)
