"""Headings that an engine does not tell: from `init` to a red verdict, by the place of a passage's text in its note."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from here import Done, called
from raggate.cli import main

KEYS = "# Keys\n\n## Spare\n\nThe spare key lies under the mat.\n\n## Car\n\nThe car key hangs beside the door.\n"
FOOD = "# Food\n\n## Bread\n\nBread is made of flour and water.\n\n## Tea\n\nTea steeps for four whole minutes.\n"
# as LlamaIndex's parser of Markdown tells it: the parents alone, and the own heading as the first line of the text
RETRIEVER = r"""
import re

class Node:
    def __init__(self, text, path, above):
        self.text, self.metadata = text, {"file_path": path, "header_path": above}
    def get_content(self):
        return self.text

def build(vault):
    nodes = []
    for note in sorted(vault.glob("*.md")):
        title, *sections = re.split(r"\n(?=## )", note.read_text())
        nodes += [Node(part.strip(), str(note), "/%s/" % title.strip("# \n")) for part in sections]
    def search(question, k):
        words = set(question.lower().split())
        return sorted(nodes, key=lambda node: -len(words & set(node.text.lower().split())))[:k]
    return search
"""
QUESTIONS = {
    "spare": ("Where is the spare key?", "Keys.md", "# Keys > ## Spare"),
    "car": ("Where does the car key hang?", "Keys.md", "# Keys > ## Car"),
    "bread": ("Of what is bread made?", "Food.md", "# Food > ## Bread"),
    "tea": ("How many minutes for tea?", "Food.md", "# Food > ## Tea"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two notes, four questions about their sections, and a retriever."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Keys.md").write_text(KEYS)
    (tmp_path / "notes" / "Food.md").write_text(FOOD)
    (tmp_path / "rag.py").write_text(RETRIEVER)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "golden").mkdir()
    with (tmp_path / "golden" / "eval_set.jsonl").open("w") as golden:
        for name, (question, path, headings) in QUESTIONS.items():
            support = {"rel_path": path, "heading_path": headings}
            case = {"id": name, "question": question, "answerable": True, "gold_supports": [support]}
            golden.write(json.dumps(case) + "\n")
    return tmp_path


def raggate(root: Path, *words: str) -> Done:
    return called(lambda: main.main(words), at=root, environment={"PATH": f"{root / 'bin'}:/usr/bin:/bin"})


def test_parents_alone_are_gated_by_the_text(root: Path) -> None:
    """`init` proposes it, run and baseline say it, a text that is nowhere is red, and without it nothing compares."""
    done = raggate(root, "init", "--python", "rag:build", "--vault", "notes")
    assert done.code == 0, done.out + done.err
    assert "or the place of the text in its note" in done.out
    config = root / "raggate.yml"
    assert "heading_path: {from: text, path: heading_path}" in config.read_text()

    first = raggate(root, "check")
    assert "headings of 16 passages found by text (4 matches)" in first.out
    promoted = raggate(root, "promote", "latest")
    assert promoted.code == 0, promoted.err
    assert "note: 4 matches rest on headings that raggate found by the passage's text" in promoted.out
    stored = json.loads((root / "baselines" / "notes.json").read_text())["fingerprint"]
    assert stored["headings"] == "by text"
    assert stored["found_headings"] == {"no-mode": {"matches": 4, "passages": 16}}
    assert raggate(root, "check").code == 0

    # whole notes as one passage, whose headings are those of its longest section
    (root / "rag.py").write_text(
        RETRIEVER.replace("*sections = re.split", "*sections = '', *re.split").replace("(?=## )", "(?=\\0)")
    )
    red = raggate(root, "check")
    assert red.code == 1, red.out + red.err

    (root / "rag.py").write_text(RETRIEVER)
    config.write_text(config.read_text().replace("{from: text, path: heading_path}", "heading_path"))
    other = raggate(root, "check")
    assert other.code == 3, other.out + other.err
    said = "How headings are found (heading_path) changed: by text in the baseline, as the API tells them now"
    assert said in other.out.replace("\n", " ")
