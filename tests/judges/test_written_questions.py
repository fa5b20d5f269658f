"""`raggate golden propose --model` by a model with real weights, which is far too small to write good questions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from judges.real_server import BUILD, NAME, RealServer
from project import Project, make_project
from raggate.inputs.headings import holds

pytestmark = [pytest.mark.judges, pytest.mark.timeout(600)]

SECTION = """
judges:
  models: [{{model: {name}, build: "{build}", base_url: "{url}"}}]
  concurrency: 1
"""
NOTES = {
    "Shots.md": "# Shots\n\n## Done\n\nDr. Weber gave the tetanus shot in Basel on 9 May 2019.\n",
    "Tyres.md": "# Tyres\n\n## Winter\n\nThe winter tyres wait in the cellar of the house in Bergen.\n",
    "Bread.md": "# Bread\n\n## Rye\n\nThe dough of the rye bread rests for eleven hours in the cold kitchen.\n",
}
WANTED = 3


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a repository with three notes that nobody asked about."""
    project = make_project(tmp_path)
    for name, text in NOTES.items():
        (project.root / "vault" / "personal" / "Notes" / name).write_text(text)
    return project


def test_each_reply_is_proposed_or_refused_with_a_reason(small_model: RealServer, project: Project) -> None:
    """What is proposed answers from its passage in its own words; the rest is counted, and a replay says the same."""
    section = SECTION.format(name=NAME, build=BUILD, url=small_model.url)
    project.config.write_text(project.config.read_text() + section)
    before = (project.root / "golden.jsonl").read_bytes()
    done = project.command("golden", "propose", "--model", "--limit", str(WANTED))
    assert done.code == 0, done.err
    assert (project.root / "golden.jsonl").read_bytes() == before
    replies = lines(project.root / "golden" / "judge_cassette.jsonl")
    assert WANTED <= len(replies) <= 2 * WANTED
    assert {reply["reply"]["model"] for reply in replies} == {NAME}
    proposals = [row for row in lines(project.root / "golden.proposals.jsonl") if row["source"] == "model"]
    for proposal in proposals:
        [support] = proposal["case"]["gold_supports"]
        note = project.root / "vault" / "personal" / support["rel_path"]
        assert holds(note.read_text(), proposal["answer"])
    refused = re.search(rf"{NAME}: (\d+) questions? not proposed: ", done.err)
    gaps = len(re.findall(rf"{NAME}: \w+: ", done.err))
    assert len(proposals) + int(refused[1] if refused else 0) + gaps >= WANTED
    (project.root / "golden.proposals.jsonl").unlink()
    project.config.write_text(project.config.read_text() + "  mode: replay\n")
    again = project.command("golden", "propose", "--model", "--limit", str(WANTED))
    assert again.code == 0, again.err
    assert [row for row in lines(project.root / "golden.proposals.jsonl") if row["source"] == "model"] == proposals
