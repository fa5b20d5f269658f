"""`raggate golden add`: the API is asked, passages are chosen, and a line is added to the golden set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from project import Project, make_project
from raggate.cli import golden as command

QUESTION = "How many litres is the bicycle matter?"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a repository with notes and questions."""
    return make_project(tmp_path)


def added(project: Project, *arguments: str, question: str = QUESTION) -> dict[str, Any]:
    """Add a question, and give its line; the others stay as they are."""
    file = project.root / "golden.jsonl"
    before = file.read_bytes() if file.exists() else b""
    done = project.command("golden", "add", question, *arguments)
    assert done.code == 0, done.err
    assert file.read_bytes().startswith(before)
    row: dict[str, Any] = json.loads(file.read_bytes()[len(before) :])
    return row


def test_a_passage_that_the_api_found(project: Project) -> None:
    """The running API is asked; the picked passage is the gold support, and the set can be checked by it."""
    row = added(project, "--pick", "1", "--tag", "bikes")
    support = {"rel_path": "Notes/bicycle.md", "heading_path": "# Bicycle > ## First"}
    assert row["gold_supports"] == [support]
    assert (row["id"], row["tags"]) == ("how-many-litres-is-the-bicycle", ["bikes"])
    assert project.command("lint").code == 0
    assert not (project.root / ".raggate" / "runs").exists()


def test_passages_by_words(project: Project) -> None:
    """--search finds passages in the notes alone, so no API has to run; several picks can all be needed."""
    project.edit("api:\n  command:", "api:\n  url: http://127.0.0.1:9\n  #command:")
    text = project.config.read_text()
    begin, end = text.index("    run:"), text.index("  ready:")
    project.config.write_text(text[:begin] + text[end:])
    row = added(project, "--search", "handover grams litres", "--pick", "1", "--pick", "2", "--all-needed")
    assert {support["heading_path"] for support in row["gold_supports"]} == {
        "# Handover > ## First",
        "# Handover > ## Second",
    }
    assert (row["category"], row["required_support_groups"]) == ("multi_hop", [[0, 1]])


def test_an_api_without_headings(project: Project) -> None:
    """Where no answer has headings a picked passage is its note, and a heading that somebody names is warned of."""
    mapped = "path: '/s?q={question}', response: {chunks: {list: hits, rel_path: path, text: text}}"
    project.edit("ask: {timeout: 20, ", f"ask: {{adapter: mapped, {mapped}, timeout: 20, ")
    row = added(project, "--search", "handover grams litres", "--pick", "1", "--snippet", "handover")
    assert row["gold_supports"] == [{"rel_path": "Notes/handover.md", "snippets": ["handover"]}]
    done = project.command("golden", "add", QUESTION, "--anchor", "Notes/bicycle.md#First")
    assert "[unread-heading]" in done.err


def test_what_a_check_would_refuse(project: Project) -> None:
    """A snippet that stands elsewhere, and a number without a passage change nothing."""
    before = (project.root / "golden.jsonl").read_bytes()
    for arguments, message in (
        ((QUESTION, "--anchor", "Notes/bicycle.md#First", "--snippet", "weighs"), "is not in"),
        ((" ", "--unanswerable"), "expected a question"),
        ((QUESTION, "--search", "bicycle", "--pick", "11"), "no passage 11"),
    ):
        done = project.command("golden", "add", *arguments)
        assert (done.code, message in done.err) == (2, True)
    assert (project.root / "golden.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("said", "snippets"),
    [
        (["s bicycle matter", "99", "1", ""], ["bicycle matter one is 1 litres"]),
        (["1", "1 litres"], ["1 litres"]),
        (["1", "-"], []),
    ],
)
def test_a_choice_in_a_terminal(project: Project, said: list[str], snippets: list[str]) -> None:
    """Somebody may search again and picks; Enter takes the proposed snippet, and another text or none replaces it."""
    answers = iter(said)
    with (
        mock.patch.object(command.sys, "stdin", mock.Mock(isatty=lambda: True)),
        mock.patch("click.prompt", side_effect=lambda *_, default="", **__: next(answers) or default),
    ):
        row = added(project, "--search", "bicycle matter one litres")
    [support] = row["gold_supports"]
    assert (support["heading_path"], support.get("snippets", [])) == ("# Bicycle > ## First", snippets)


def test_a_snippet_is_proposed_where_nobody_sits(project: Project) -> None:
    """With --pick and --anchor the flag with the proposed snippet is printed, and the line has none."""
    arguments = ("golden", "add", QUESTION, "--anchor", "Notes/bicycle.md#First")
    assert "--snippet '" in project.command(*arguments).err
    assert project.cases()[-1]["gold_supports"][0].get("snippets", []) == []
    project.config.write_text(project.config.read_text() + "\nscore: {snippets: off}\n")
    assert "--snippet" not in project.command(*arguments).err


def test_private_notes_are_not_asked_about(project: Project) -> None:
    """What is private is neither proposed nor anchored to, and lint does not miss a question about it."""
    note = "# Shots\n\n## Done\n\n- Tetanus: 9 May 2019 in the morning\n"
    (project.root / "vault" / "personal" / "Notes" / "Shots.md").write_text(note)
    project.config.write_text(project.config.read_text() + "private: {places: [personal/Notes/Shots.md]}\n")
    assert "tetanus" not in project.command("golden", "propose").out
    (project.root / "qa.csv").write_text("question,answer\nWhen?,9 May 2019 in the morning\n")
    assert "0 added, 0 there already, 1 undecided" in project.command("golden", "import", "qa.csv").out
    assert "Shots" not in project.command("lint").out


def test_a_file_of_questions(project: Project) -> None:
    """What stands in one place is added, the rest is listed with candidates, and doing it again adds nothing."""
    table = 'question,answer\nHow much is the kernel?,kernel matter one is 4 litres\nWhat else?,"=HYPERLINK(""x"")"\n'
    (project.root / "qa.csv").write_text(table)
    before = (project.root / "golden.jsonl").read_bytes()
    done = project.command("golden", "import", "qa.csv")
    assert (done.code, done.out.splitlines()[0]) == (0, "read as csv: 1 added, 0 there already, 1 undecided")
    [row] = map(json.loads, (project.root / "golden.jsonl").read_bytes()[len(before) :].splitlines())
    assert row["gold_supports"][0]["heading_path"] == "# Kernel > ## First"
    [rest] = map(json.loads, (project.root / "golden.undecided.jsonl").read_text().splitlines())
    assert (rest["question"], rest["answers"]) == ("What else?", ['=HYPERLINK("x")'])
    assert "0 added, 1 there already, 1 undecided" in project.command("golden", "import", "qa.csv").out


def test_proposals_wait_for_a_person(project: Project) -> None:
    """Proposals are written beside the golden set; only one that is accepted enters it, and a rejected one is gone."""
    note = "# Shots\n\n## Done\n\n- **Tetanus**: 9 May 2019\n- Measles: as a child\n"
    (project.root / "vault" / "personal" / "Notes" / "Shots.md").write_text(note)
    before = (project.root / "golden.jsonl").read_bytes()
    done = project.command("golden", "propose", "--limit", "2")
    assert "What is noted for tetanus?" in done.out
    assert (project.root / "golden.jsonl").read_bytes() == before
    names = [json.loads(line)["id"] for line in (project.root / "golden.proposals.jsonl").read_text().splitlines()]
    assert project.command("golden", "propose", "--accept", names[0], "--reject", names[1]).code == 0
    row = json.loads((project.root / "golden.jsonl").read_bytes()[len(before) :])
    assert (row["question"], row["expected_key_facts"]) == ("What is noted for tetanus?", ["9 May 2019"])
    again = project.command("golden", "propose", "--limit", "2").out
    assert names[0] not in again
    assert names[1] not in again
    assert project.command("golden", "propose", "--accept", names[1]).code == 2


def test_proposals_in_a_terminal(project: Project) -> None:
    """Somebody who sits there takes one in other words, rejects one, and leaves; each decision is kept."""
    (project.root / "vault" / "personal" / "Notes" / "Shots.md").write_text(
        "# Shots\n\n## Done\n\n- Tetanus: 9 May 2019\n- Measles: as a child\n- Rabies: never\n"
    )
    with (
        mock.patch.object(command.sys, "stdin", mock.Mock(isatty=lambda: True)),
        mock.patch("click.prompt", side_effect=["e", "When was the last tetanus shot?", "n", "q"]),
    ):
        assert project.command("golden", "propose", "--limit", "3").code == 0
    assert project.cases()[-1]["question"] == "When was the last tetanus shot?"
    states = [json.loads(line)["state"] for line in (project.root / "golden.proposals.jsonl").read_text().splitlines()]
    assert sorted(states) == ["rejected", "waiting"]
