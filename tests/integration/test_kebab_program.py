"""raggate gating a program that is run for the questions, from the configuration to the verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fakes.kebab_stub import short
from kebab_builders import hit, query, row, write_database
from project import Project
from raggate_interop.kebab import golden as kebab

STUB = Path(__file__).parents[1] / "fakes" / "kebab_stub.py"
DOCS = {"a.md": "the anchovy swims upstream", "b.md": "the bicycle needs a new chain", "c.md": "cardamom grows slowly"}
CASES = [
    {"id": "q1", "question": "Where does the anchovy swim?", "answerable": True, "expected_doc_ids": [short("a.md")]},
    {"id": "q2", "question": "What does the bicycle need?", "answerable": True, "expected_doc_ids": [short("b.md")]},
    {"id": "q3", "question": "How does cardamom grow?", "answerable": True, "gold_supports": [{"rel_path": "c.md"}]},
]
CONFIG = """\
suite: kb
golden: golden.jsonl
vault: {kb: notes}
api:
  command: {run: [%s, %s], pass_env: [KEBAB_STUB, KEBAB_STUB_DOCS, PATH]}
ask: {adapter: kebab, modes: [lexical], k: 5, timeout: 20}
gate: {min_cases: 1}
invariants: {notes_exist: off, index_complete: off, list_deep_enough: off}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A gate of three questions, asked by the stand-in's command line."""
    (tmp_path / "notes").mkdir()
    for name, text in DOCS.items():
        (tmp_path / "notes" / name).write_text(f"# Top\n\n## Part\n\n{text}\n")
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    (tmp_path / "raggate.yml").write_text(CONFIG % (sys.executable, STUB))
    return Project(tmp_path, {"KEBAB_STUB_DOCS": json.dumps({f"{name}": text for name, text in DOCS.items()})})


def test_from_the_first_run_to_a_regression(project: Project) -> None:
    """A first run has no baseline; promoted, the same passes; with a document gone it is a regression."""
    first = project.command("check")
    assert first.code == 3, first.out + first.err
    done = project.command("promote", str(project.last_run()), "--reason", "the first")
    assert done.code == 0, done.err
    again = project.raggate("check")
    assert again.code == 0, again.out + again.err
    assert "a program is not asked twice" in again.err
    assert project.verdict()["repeated"] is None
    worse = project.command("check", KEBAB_STUB_DOCS=json.dumps({name: DOCS[name] for name in ("a.md", "c.md")}))
    assert worse.code == 1, worse.out + worse.err
    assert {flip["case_id"] for flip in project.verdict()["flips"]} == {"q2"}


def test_stored_runs_are_compared_and_promoted(tmp_path: Path) -> None:
    """Runs that kebab stored are imported; a baseline made of one lets an equal one pass and a worse one not."""
    golden = [query(f"q{n}", expected_doc_ids=(f"d{n}",), expected_chunk_ids=(f"c{n}",)) for n in range(4)]
    (tmp_path / "g.yaml").write_bytes(kebab.write_golden(golden))
    # a lexical snippet is cut around the words of the question, so the text of a chunk differs from list to list
    found = [
        row(f"q{n}", hit(1, f"c{n}", f"d{n}", snippet=f"for {n}"), hit(2, "x", "y", snippet=f"for {n}"))
        for n in range(4)
    ]
    runs = {"run_a": found, "run_b": found, "run_c": [row("q0", hit(1, "x", "y")), *found[1:]], "run_d": found[1:]}
    write_database(tmp_path / "k.sqlite", runs)
    project = Project(tmp_path)
    for name in runs:
        done = project.command("kebab", "import", f"k.sqlite#{name}", "--golden", "g.yaml", "--out", f"runs/{name}")
        assert done.code == 0, done.err
    promoted = project.command("promote", "runs/run_a", "--reason", "the first")
    assert promoted.code == 0, promoted.err
    codes = [
        project.command("compare", f"runs/{name}", "--baseline", against).code
        for name in ("run_b", "run_c", "run_d")
        for against in ("baselines/default.json", "runs/run_a")
    ]
    assert codes == [0, 0, 1, 1, 3, 3]
    assert project.command("promote", "runs/run_c").code == 2
    assert project.command("promote", "runs/run_d", "--allow-regression", "--reason", "x").code == 3
