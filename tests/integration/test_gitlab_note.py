"""The one note of a merge request, on a GitLab that keeps the rules of its API."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fakes.gitlab_api import MAX_CHARACTERS, TOKEN, FakeGitLab
from here import Done, called
from raggate.cli.main import run_command
from raggate.reports import markdown
from reviews import foreign


def note(at: Path, gitlab: FakeGitLab, *flags: str, **instead: str) -> Done:
    """Write the report of a directory as a note."""
    environment = {**gitlab.variables(), **instead}
    return called(lambda: run_command(["gitlab-note", "rag.md", *flags]), at=at, environment=environment)


def test_one_note_that_is_replaced(tmp_path: Path) -> None:
    """The first pipeline writes a note, later ones replace it, wherever it stands among others."""
    report = tmp_path / "rag.md"
    with FakeGitLab() as gitlab:
        gitlab.add("Looks good", author=1)
        report.write_text("### ✅ pass\n")
        assert note(tmp_path, gitlab).out == "wrote note 1001 of merge request !3\n"
        for number in range(250):
            gitlab.add(f"comment {number}", author=2)
        report.write_text("### ❌ regression\n")
        assert note(tmp_path, gitlab).out == "replaced note 1001 of merge request !3\n"
    bodies = [entry["body"] for entry in gitlab.notes if "raggate" in entry["body"]]
    assert bodies == ["<!-- raggate:gate -->\n### ❌ regression\n\n<sub>commit `0123456789ab` · job 99</sub>\n"]


def test_the_notes_of_others_stay(tmp_path: Path) -> None:
    """A note that somebody else began like raggate's is not taken for it, nor is that of another gate."""
    (tmp_path / "rag.md").write_text("### pass\n")
    with FakeGitLab() as gitlab:
        gitlab.add("<!-- raggate:gate --> fooled", author=2)
        note(tmp_path, gitlab)
        note(tmp_path, gitlab, "--name", "private")
        assert [entry["body"][:24] for entry in gitlab.notes] == [
            "<!-- raggate:gate --> fo",
            "<!-- raggate:gate -->\n##",
            "<!-- raggate:private -->",
        ]


def test_a_job_without_a_report_replaces_the_old_note(tmp_path: Path) -> None:
    """Where no report was left, the note does not keep the pass of an earlier push."""
    with FakeGitLab() as gitlab:
        gitlab.add("<!-- raggate:gate -->\n### ✅ pass")
        done = note(tmp_path, gitlab, "--json")
    assert json.loads(done.out)["result"] == {"note": 1000, "new": False, "merge_request": "3", "report": False}
    assert "no report" in gitlab.notes[0]["body"]
    assert "pass" not in gitlab.notes[0]["body"]


ORDERS = ("/close", "\n/merge\n", "!1 %2 &3 ~bug $4 ^alert#5", "x\r/assign @a", "> /lock", "@all")
WRONG = "glpat-wrong"


@pytest.mark.parametrize("text", ORDERS)
def test_hostile_reports_give_no_orders(tmp_path: Path, text: str) -> None:
    """No text of a question or an answer is a quick action or refers to anything of the project."""
    (tmp_path / "rag.md").write_text(markdown.render(foreign(text)))
    with FakeGitLab() as gitlab:
        assert note(tmp_path, gitlab).code == 0
    assert gitlab.executed == []
    # GitLab looks for neither in code
    body = re.sub(r"```.*?```|`[^`\n]*`", "", gitlab.notes[0]["body"], flags=re.DOTALL)
    assert not any(reference in body for reference in ("!1 ", "%2", "&3", "~bug", "$4", "^alert", "@all", "@a"))


def test_raw_orders(tmp_path: Path) -> None:
    """The fake obeys orders, and raggate's notes have none, also of a report that somebody else wrote."""
    with FakeGitLab() as gitlab:
        assert gitlab.write(None, "hi\n  /close\n")[0] == 201
        assert gitlab.executed == ["close"]
        (tmp_path / "rag.md").write_text("# a\n/merge\n   /close\n\t/lock !7 [!NOTE]\n> [!CAUTION]\n")
        note(tmp_path, gitlab)
    assert gitlab.executed == ["close"]
    assert "> [!CAUTION]" in gitlab.notes[1]["body"]
    assert "!7" not in gitlab.notes[1]["body"]


def test_a_report_that_is_too_long(tmp_path: Path) -> None:
    """GitLab's limit is kept by leaving out whole lines, and that is said."""
    (tmp_path / "rag.md").write_text("a line of the report\n" * 60_000)
    with FakeGitLab() as gitlab:
        assert note(tmp_path, gitlab).code == 0
    body = gitlab.notes[0]["body"]
    assert MAX_CHARACTERS - 200 < len(body) <= MAX_CHARACTERS
    assert "a line of the report\n\n… The rest is in the report of the job." in body


def test_what_is_refused_says_why(tmp_path: Path) -> None:
    """A missing variable, a bad token, a right that lacks, no server: each says so, and no secret."""
    (tmp_path / "rag.md").write_text("x")
    with FakeGitLab(may_write=False) as gitlab:
        missing = note(tmp_path, gitlab, RAGGATE_GITLAB_TOKEN="", CI_MERGE_REQUEST_IID="")
        assert missing.code == 2
        assert "not set: CI_MERGE_REQUEST_IID, RAGGATE_GITLAB_TOKEN" in missing.err
        wrong = note(tmp_path, gitlab, RAGGATE_GITLAB_TOKEN=WRONG)
        assert (wrong.code, "401" in wrong.err, "not valid" in wrong.err) == (3, True, True)
        forbidden = note(tmp_path, gitlab)
        assert (forbidden.code, "403" in forbidden.err, "scope `api`" in forbidden.err) == (3, True, True)
        nowhere = note(tmp_path, gitlab, CI_API_V4_URL="http://127.0.0.1:1/api/v4")
        assert nowhere.code == 3
    for done in (missing, wrong, forbidden, nowhere):
        assert not {TOKEN, WRONG, "Traceback"} & {*done.err.split(), *done.out.split()}
