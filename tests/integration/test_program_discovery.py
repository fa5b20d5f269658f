"""`raggate init --python` and `--program`: from a function to a red verdict, without a line of YAML by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from checkouts import commit_all
from here import Done, called
from raggate.cli import main

FAKE = Path(__file__).parents[1] / "fakes" / "program.py"
RETRIEVER = """
class Document:
    def __init__(self, page_content, metadata):
        self.page_content, self.metadata = page_content, metadata

class Retriever:
    def __init__(self, notes):
        self.notes = sorted(notes.glob("*.md"))
    def invoke(self, input, config=None):
        words = set(input.lower().split())
        found = [Document(note.read_text(), {"source": str(note), **LEVELS[note.name]}) for note in self.notes]
        return sorted(found, key=lambda doc: -len(words & set(doc.page_content.lower().split())))[:LIMIT]

def build(vault):
    return Retriever(vault)

LEVELS = {"Keys.md": {"Header 1": "Keys"}, "Food.md": {}}
LIMIT = 5
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two notes, a retriever, and the tests' own Python as `python`."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Keys.md").write_text("# Keys\n\nthe spare key is under the mat\n")
    (tmp_path / "notes" / "Food.md").write_text("# Food\n\nbread of flour and water\n")
    (tmp_path / "rag.py").write_text(RETRIEVER)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    return tmp_path


def raggate(root: Path, *words: str) -> Done:
    return called(lambda: main.main(words), at=root, environment={"PATH": f"{root / 'bin'}:/usr/bin:/bin"})


def promoted(root: Path) -> None:
    """Make the first run the baseline."""
    assert raggate(root, "check").code == 3
    (run,) = (path for path in (root / ".raggate" / "runs").iterdir() if path.is_dir())
    assert raggate(root, "promote", str(run)).code == 0


def test_a_retriever_is_gated_to_a_red_verdict(root: Path) -> None:
    """Three commands make a gate, and the retriever that returns nothing of use is red with the question it lost."""
    done = raggate(root, "init", "--python", "rag:build", "--vault", "notes", "--question", "spare key")
    assert done.code == 0, done.out + done.err
    assert "this configuration can be measured (exit 0)" in done.out
    written = (root / "raggate.yml").read_text()
    assert "[python, '{shim}', 'rag:build', --vault, 'notes={vault.notes}']" in written
    # not every hit has headings, and the absolute path in the metadata is none of the repository
    by_text = "heading_path: {from: text, path: heading_path}"
    assert f"chunks: {{list: hits, rel_path: path, {by_text}, text: text}}" in written
    assert str(root) not in written
    for question, anchor in (("Where is the spare key?", "Keys.md"), ("What is bread made of?", "Food.md")):
        added = raggate(root, "golden", "add", question, "--anchor", anchor)
        assert added.code == 0, added.out + added.err
    promoted(root)
    assert raggate(root, "check").code == 0
    (root / "rag.py").write_text(RETRIEVER.replace("LIMIT = 5", "LIMIT = 0 * 5"))
    red = raggate(root, "check")
    assert red.code == 1, red.out + red.err


def test_the_workflow_gates_what_init_found(root: Path) -> None:
    """The step `Gate` of the workflow is green for a change that loses nothing, and red for one that does."""
    assert raggate(root, "init", "--python", "rag:build", "--vault", "notes", "--question", "spare key").code == 0
    assert raggate(root, "golden", "add", "Where is the spare key?", "--anchor", "Keys.md").code == 0
    promoted(root)
    (root / "rag.py").write_text(RETRIEVER)
    commit_all(root)
    temporary = root.parent / "runner"
    for place, script in (
        ("raggate", f'exec {sys.executable} -m raggate "$@"'),
        ("own", f'exec {sys.executable} "$@"'),
    ):
        tool = temporary / place / "bin" / {"raggate": "raggate", "own": "python"}[place]
        tool.parent.mkdir(parents=True)
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    job = yaml.safe_load((root / ".github/workflows/rag-gate.yml").read_text())["jobs"]["gate"]
    assert job["permissions"] == {"contents": "read"}
    (step,) = (step["run"] for step in job["steps"] if step.get("name") == "Gate")
    summary = temporary / "summary.md"
    environment = {**os.environ, "RUNNER_TEMP": str(temporary), "GITHUB_STEP_SUMMARY": str(summary), "BASE": "HEAD"}
    # of another length: Python keeps what it compiled of a file as long, changed within the second
    for limit, code in (("5", 0), ("0 * 5", 1)):
        (root / "rag.py").write_text(RETRIEVER.replace("LIMIT = 5", f"LIMIT = {limit}"))
        done = subprocess.run(["bash", "-e", "-c", step], cwd=root, env=environment, capture_output=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
    assert "Where is the spare key?" in summary.read_text()


def test_a_program_is_recognised(root: Path) -> None:
    """The directory of the notes in its command is a placeholder, and an image that listens is not the program's."""
    (root / "Dockerfile").write_text("FROM scratch\nexpose $PORT\n")
    command = f"{sys.executable} -S {FAKE} notes"
    done = raggate(root, "init", "--program", command, "--vault", "notes", "--question", "spare key")
    assert done.code == 0, done.out + done.err
    written = (root / "raggate.yml").read_text()
    assert "'{vault.notes}']}, stdio: true}" in written
    assert "heading_path: headings" in written


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--program", "python -c 'print(1)'"), 3, "the program exited with code 0"),
        (("--python", "rag:buidl"), 3, "rag has no 'buidl'. It has Document"),
        (("--program", "no-such-program"), 2, "no command 'no-such-program' on PATH"),
        (("--program", "'"), 2, "--program: No closing quotation"),
        (("--program", "a", "--python", "b:c"), 2, "--python cannot be combined with --program"),
        (("--program", "a", "--probe", "http://127.0.0.1:1"), 2, "--program cannot be combined with --probe"),
        (("--program", "a", "--tool", "b"), 2, "--tool is for an MCP server"),
    ],
)
def test_what_cannot_be_asked_writes_nothing(root: Path, words: tuple[str, ...], code: int, said: str) -> None:
    """A sentence says why, and no file is left."""
    done = raggate(root, "init", *words, "--vault", "notes")
    assert done.code == code, done.out + done.err
    assert said in done.out + done.err
    assert not (root / "raggate.yml").exists()
