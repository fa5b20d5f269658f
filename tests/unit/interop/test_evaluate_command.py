"""`raggate evaluate`: what it prints, how it refuses, and that it starts without the rest of raggate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raggate.base.errors import UsageError
from raggate_interop.evaluate_command import evaluate

TABLE = """\
                @1       @2
hit         0.3333   0.6667
recall      0.1667   0.3333
precision   0.3333   0.3333
mrr         0.3333   0.5000
ndcg        0.3333   0.3333
ndcg_exp    0.3333   0.3333
judged      0.5000   0.5000
unjudged    0.5000   0.5000
map         0.2500

3 queries with a relevant document. Means are over all, judged over lists that contain any
  1 without a result list, counted as 0
  1 in the result lists only, ignored
  1 with equal scores on both sides of a cut-off
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a small evaluation and go there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 a 1\nq2 0 b 1\nq3 0 a 1\n")
    run = ("q1 Q0 a 1 2 t", "q1 Q0 x 2 1 t", "q2 Q0 y 1 2 t", "q2 Q0 b 2 2 t", "q9 Q0 a 1 1 t")
    (tmp_path / "run").write_text("\n".join(run))
    rows = ({"query_id": "q1", "doc_ids": ["a", "x"]}, {"query_id": "q2", "doc_ids": ["y", "b"]})
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def output(*arguments: str) -> str:
    """Run the command and give what it prints."""
    done = CliRunner().invoke(evaluate, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.usefixtures("folder")
def test_table() -> None:
    """The table has a row per metric and a column per cut-off, and tells what was odd."""
    # ndcg@2: q1 has 1 of 1 + 1/log2(3), q2 has 1/log2(3) of the same, q3 nothing: together 1 of 3
    assert output("--qrels", "qrels", "--run", "run", "--k", "2, 1") == TABLE


@pytest.mark.usefixtures("folder")
def test_per_query() -> None:
    """Values per query come on request; what does not apply is null and a dash."""
    arguments = ("--qrels", "qrels", "--lists", "lists.jsonl", "--k", "1", "--per-query")
    document = CliRunner().invoke(evaluate, arguments, standalone_mode=False).return_value.result.per_query
    assert {query_id: values["hit_at_1"] for query_id, values in document.items()} == {"q1": 1, "q2": 0, "q3": 0}
    assert document["q3"]["judged_at_1"] is None
    rows = [line.split("\t") for line in output(*arguments).splitlines()[:4]]
    assert rows[0][:3] == ["query", "hit_at_1", "recall_at_1"]
    assert rows[1][:3] == ["q1", "1.0000", "0.5000"]
    assert rows[3][-1] == "–"


def test_hostile_ids(folder: Path) -> None:
    """An id in a message or a table cannot say anything to a terminal or a CI log."""
    (folder / "qrels").write_text("::error::x\x1b[31m 0 a 1\n")
    (folder / "run").write_text("::error::x\x1b[31m Q0 a 1 1 t\n")
    text = output("--qrels", "qrels", "--run", "run", "--per-query")
    assert "\x1b" not in text
    assert "::error::" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give either --qrels FILE or --beir DIR", id="nothing"),
        pytest.param(["--qrels", "qrels"], "give either --run FILE or --lists FILE", id="no lists"),
        pytest.param(
            ["--qrels", "qrels", "--run", "run", "--lists", "lists.jsonl"],
            "give either --run FILE or --lists FILE",
            id="two lists",
        ),
        pytest.param(["--qrels", "none", "--run", "run"], "none: No such file", id="no file"),
        pytest.param(["--qrels", "qrels", "--run", "."], ".: Is a directory", id="a folder"),
        pytest.param(["--qrels", "qrels", "--run", "run", "--k", "1,x"], "--k '1,x', expected whole numbers", id="k"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_refusals(arguments: list[str], message: str) -> None:
    """What is wrong with flags or files is a usage error."""
    done = CliRunner().invoke(evaluate, arguments)
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)


@pytest.mark.parametrize("source", [["--run", "run"], ["--lists", "lists.jsonl"]])
def test_imports_stay_few(folder: Path, source: list[str]) -> None:
    """The path imports neither the gate's nouns nor any heavy library, and a JSON reader for files of JSON alone."""
    code = (
        "import sys; from raggate_interop.evaluate_command import evaluate; before = set(sys.modules);"
        "evaluate(sys.argv[1:], standalone_mode=False);"
        "print(*sorted(before), file=sys.stderr); print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--qrels", "qrels", *source],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = (set(line.split()) for line in done.stderr.splitlines())
    heavy = {"httpx", "pydantic", "docker", "markdown_it", "yaml", "numpy", "asyncio", "raggate.models.run"}
    assert not heavy & after
    assert not {"orjson", "raggate_interop.evaluate", "raggate_interop.trec_beir"} & before
    assert {"raggate_interop.evaluate", "raggate_interop.trec_beir"} <= after
    assert "orjson" not in after or source[0] != "--lists"
