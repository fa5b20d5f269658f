"""`/raggate explain` on a pull request: one question of its last run, judged by the base commit's files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checkouts import files_below
from commanded import NAME, Conversation
from fakes.github_api import FakeGitHub
from project import Project
from promotable import packed
from stored_rows import files_of

Files = dict[str, bytes]


@cache
def measured(root: Path, behaviour: str) -> Files:
    """Measure once with an API that behaves like this, and give the files of the run directory."""
    project = Project(root)
    done = project.command("check", FAKE_BEHAVIOUR=behaviour) if behaviour else project.command("check")
    assert done.code == (1 if behaviour else 0)
    return files_of(project.last_run())


@pytest.fixture(scope="module")
def project(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A gate of six questions with a baseline, which the tests only run."""
    return promoted_few.copied(tmp_path_factory.mktemp("project"))


@pytest.fixture
def talk(project: Project, tmp_path: Path) -> Iterator[Conversation]:
    """Open a pull request whose run found less than the baseline's."""
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        repository.roles["ada"] = "write"
        base = repository.add_commit(files_below(project.root), branch="main")
        head = repository.add_commit({"README": "change"}, [base], branch="change")
        repository.add_pull(7, head_sha=head, base_sha=base)
        repository.add_run(9, head_sha=head, head_branch="change", conclusion="failure")
        yield Conversation(fake, repository, tmp_path)


def asked(talk: Conversation, case_id: str, files: Files | None = None) -> str:
    """Ask for a question and give the reply, once the run has left these files."""
    if files is not None:
        talk.repository.add_artifact(9, "raggate-run", packed(files))
    assert talk.say(f"/raggate explain {case_id}").code == 0
    return talk.replies[-1]


def test_a_question_that_broke(talk: Conversation, project: Project) -> None:
    """The reply has the question, where its passage stood and stands, why, and the old list beside the new one."""
    lines = asked(talk, "anchovy-first", measured(project.root, "worse")).splitlines()
    head, server = talk.repository.pulls[7].head_sha, talk.fake.server_url
    assert lines[0] == (f"[`{head[:7]}`]({server}/{NAME}/commit/{head}), [run 9]({server}/{NAME}/actions/runs/9):")
    assert lines[2] == "- **anchovy matter one is 0 litres** <sub>anchovy-first</sub><br>"
    assert lines[3].startswith(
        "  rank 1 → not found: the passage at rank 1 in the baseline (score 1) did not come back"
    )
    note = f"{talk.repository.pulls[7].base_sha}/vault/personal/Notes/anchovy.md?plain=1#L3"
    assert lines[4] == f"  expected: [personal/Notes/anchovy.md › Anchovy › First]({server}/{NAME}/blob/{note})<br>"
    assert lines[5] == "  in its place: personal/Notes/cardamom.md › Cardamom › First<br>"
    assert lines[8:12] == [
        "| rank | baseline | now |",
        "|---:|---|---|",
        "| 1 | ✅ personal/Notes/anchovy.md › Anchovy › First | personal/Notes/cardamom.md › Cardamom › First |",
        "| 2 | personal/Notes/cardamom.md › Cardamom › First | personal/Notes/bicycle.md › Bicycle › First |",
    ]
    assert talk.reactions == ["eyes", "+1"]


def test_a_question_that_does_not_exist(talk: Conversation, project: Project) -> None:
    """An unknown question is refused with those that are like it; what was written is shown as text."""
    reply = asked(talk, "anchovy-frist", measured(project.root, ""))
    assert reply.startswith("The golden set of the base commit has no question anchovy-frist. Like it: anchovy-first")
    assert asked(talk, "zebra") == "The golden set of the base commit has no question zebra.\n"
    reply = asked(talk, "<img src=x> @eve #1")
    assert "<img" not in reply
    assert "@eve" not in reply
    assert talk.reactions == ["eyes", "-1"]


def test_what_an_artifact_says(talk: Conversation, project: Project) -> None:
    """Names that the run made up are shown as text, in cells that they do not end."""
    files = dict(measured(project.root, "worse"))
    files["results.jsonl"] = files["results.jsonl"].replace(b"Notes/cardamom.md", b"<b>|@eve|[x](http://x.test).md")
    reply = asked(talk, "anchovy-first", files)
    assert "&#124;" in reply
    assert not [live for live in ("<b>", "@eve", "](http://x.test") if live in reply]
