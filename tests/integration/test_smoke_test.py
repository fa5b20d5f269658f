"""`raggate probe`: one question of a running API, what its answer filled, and an exit code; nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fakes.other_api import OtherApi
from here import Done, called
from project import make_project
from raggate.cli import main
from raggate.models.golden import Case
from raggate.models.run import Chunk, Response, Result
from raggate.models.smoke_test import FilledField, SmokeTest
from raggate.reports.smoke_test import render
from tries import tried

NOTES = [("Keys.md", ["Keys", "Spare"], "the spare key is under the mat"), ("Food.md", ["Food"], "bread of flour")]
CONFIG = """\
vault: {{notes: notes}}
api: {{url: "{url}", ready: {{timeout: 20, settle: 0.05, health_path: /live}}}}
ask:
  adapter: mapped
  path: /search
  body: {{q: "{{question}}", top: "{{k}}"}}
  response:
    chunks:
      list: data.hits
      id: _id
      rel_path: meta.file
      path_prefix: /data/
      heading_path: meta.section
      text: body
      score: score
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two notes and a question."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Keys.md").write_text("# Keys\n\n## Spare\n\nthe spare key is under the mat\n")
    (tmp_path / "notes" / "Food.md").write_text("# Food\n\nbread of flour\n")
    (tmp_path / "golden").mkdir()
    support = {"rel_path": "Keys.md", "heading_path": "# Keys > ## Spare"}
    case = {"id": "keys-1", "question": "Where is the spare key?", "answerable": True, "gold_supports": [support]}
    case |= {"expected_key_facts": [], "tags": [], "vaults": ["notes"], "category": "factual", "difficulty": "easy"}
    (tmp_path / "golden" / "eval_set.jsonl").write_text(json.dumps(case) + "\n")
    return tmp_path


def probe(root: Path, url: str, *arguments: str, config: str = CONFIG) -> Done:
    (root / "raggate.yml").write_text(config.format(url=url))
    return called(lambda: main.main(["probe", *arguments]), at=root, environment={})


def test_a_sound_configuration(root: Path) -> None:
    """It tells where each field is read from, the rank of what is expected, exits with 0 and leaves nothing behind."""
    with OtherApi(notes=NOTES) as api:
        before = sorted(root.rglob("*"))
        counted = CONFIG.replace("mapped\n", "mapped\n  index: {{path: /stats, documents: index.files}}\n")
        done = probe(root, api.base_url, config=counted)
    assert done.code == 0, done.out + done.err
    assert "what is expected is at rank 1" in done.out
    assert "rel_path      data.hits[*].meta.file" in done.out
    assert re.search(r"^documents +index.files +yes +2$", done.out, re.MULTILINE)
    assert "the API is up" in done.err
    assert sorted(root.rglob("*")) == [*sorted({*before, root / "raggate.yml"})]


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("path_prefix: /data/", "vault: vault", 4, "chunks.path_prefix '/data/' removes what comes before"),
        ("heading_path: meta.section\n", "\n", 0, "`heading_path` is not mapped: labels that name a heading never"),
        ("adapter: mapped", "adapter: mapped", 0, "`documents` is not mapped: an index that lacks notes"),
        ("rel_path: meta.file", "rel_path: meta.path", 3, "data.hits[0].meta has the keys file, section"),
    ],
)
def test_what_is_wrong_is_said(root: Path, old: str, new: str, code: int, said: str) -> None:
    """Each mistake has its sentence and the exit code that a check would have for it."""
    assert old in CONFIG
    with OtherApi(notes=NOTES) as api:
        done = probe(root, api.base_url, config=CONFIG.replace(old, new))
    assert done.code == code, done.out + done.err
    assert said in done.out + done.err


def test_an_api_that_is_not_healthy(root: Path) -> None:
    """An API that runs is not waited for as long as configured, so that the command is soon done."""
    with OtherApi(notes=NOTES) as api:
        done = probe(root, api.base_url, config=CONFIG.replace("path: /live", "path: /nowhere"))
    assert done.code == 3
    assert "was not ready after 4 s" in done.err


TEXT = st.text(max_size=40) | st.sampled_from(["::error::x", "##[add-mask]x", "\x1b[2J", "\u202e", "a\nb", "\r::x"])


@tried(20)
@given(TEXT, TEXT, TEXT)
def test_whatever_the_api_says_is_harmless(path: str, heading: str, problem: str) -> None:
    """No text of an answer makes a line of its own, a command of the runner or a code of the terminal."""
    chunk = Chunk(chunk_id=path, rel_path=path, heading_path=heading, text=heading)
    fields: Any = {"mode": "hybrid", "failure": None, "retries": 0, "elapsed_ms": 1.0}
    test = SmokeTest(
        case=Case(id=path or "x", question=heading, answerable=True),
        result=Result(case_id="x", response=Response(chunks=(chunk,)), **fields),
        fields=(FilledField(name="rel_path", source=problem, filled=1, of=2, first=path),),
        broken=(problem,),
    )
    lines = render(test).split("\n")
    assert len(lines) == 10
    assert all(line.replace("\u200b", "").isprintable() for line in lines)
    assert not any(line.startswith("::") or "##[" in line for line in lines)


def test_an_api_that_raggate_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that is configured to be started is, is asked, and is gone; no run directory is left, and no file."""
    project = make_project(tmp_path / "project")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    done = project.command("probe")
    assert done.code == 0, done.out + done.err
    assert re.search(r"^rel_path +adapter ask +8 of 8 ", done.out, re.MULTILINE)
    assert "what is expected is at rank 1" in done.out
    assert not (project.root / ".raggate").exists()
    assert [*temporary.iterdir()] == []
