"""A part of the questions, from the command line to the exit code: what is asked, said, kept and refused."""

from __future__ import annotations

import json
import shutil

import pytest

from project import Project
from raggate.pipeline import run_directory


def asked(project: Project) -> list[str]:
    return [item.case.id for item in run_directory.read(project.last_run()).results]


def test_one_question_of_many(promoted: Project) -> None:
    """`-k` asks what fits, says in its first lines that it is a part, and is no pass."""
    done = promoted.command("check", "-k", "anchovy and not second")
    assert done.code == 5, done.err
    assert asked(promoted) == ["anchovy-first"]
    words = "partial: 1 of 24 questions chosen (-k 'anchovy and not second')"
    assert done.err.splitlines()[0] == f"raggate: {words}. A partial run never passes, and you cannot promote it"
    assert words in done.out.strip().splitlines()[0]
    assert "verdict: partial (exit 5)" in done.out
    page = (promoted.last_run() / "summary.md").read_text()
    assert page.startswith(
        "## 🔎 raggate: partial (suite small)\n\n> [!WARNING]\n> **Partial: 1 of 24 questions chosen"
    )
    assert "**None of these questions got worse. This is no verdict on the whole suite.**" in page
    verdict = promoted.verdict()
    assert (verdict["verdict"], verdict["exit_code"]) == ("partial", 5)
    assert verdict["partial"] == {"asked": ["anchovy-first"], "of": 24, "selection": "-k 'anchovy and not second'"}
    metrics = json.loads((promoted.last_run() / "metrics.json").read_text())
    assert (metrics["complete"], metrics["partial"]) == (False, {"asked": 1, "of": 24})


def test_what_was_broken_last(promoted: Project) -> None:
    """`--failed` asks what broke, and then only what is still broken; with nothing left it says so."""
    assert promoted.command("check", "--failed").code == 2
    assert (
        promoted.command("check", "--case", "anchovy-first", "--case", "kernel-second", FAKE_BEHAVIOUR="worse").code
        == 1
    )
    assert promoted.command("check", "--case", "kernel-second").code == 5
    assert promoted.command("check", "--failed").code == 5
    assert asked(promoted) == ["anchovy-first"]
    assert "raggate check --case anchovy-first" in (promoted.last_run() / "summary.md").read_text()
    done = promoted.command("check", "--failed")
    assert done.code == 2
    assert "no question was broken when it was last asked" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-k", "anchowy"), "fits -k anchowy, so nothing was asked. Did you mean 'anchovy'?"),
        (("-k", "a b"), "-k 'a b': not an expression of words"),
        (("--case", "anchovy-frist"), "--case: the golden set has no question 'anchovy-frist'"),
    ],
)
def test_nothing_to_ask(promoted: Project, arguments: tuple[str, ...], said: str) -> None:
    """What fits no question is a usage error with the nearest ids, and nothing is started."""
    before = sorted((promoted.root / ".raggate" / "runs").iterdir())
    done = promoted.command("check", *arguments)
    assert done.code == 2
    assert said in done.err
    if "-k 'a b'" not in said:
        assert "nearest" in done.err
        assert "anchovy-first" in done.err
    assert sorted((promoted.root / ".raggate" / "runs").iterdir()) == before


def test_a_part_stays_a_part(promoted: Project) -> None:
    """No later command makes a partial run whole: it is not promoted, compared with, or made whole by an edit."""
    whole = promoted.last_run()
    assert promoted.command("check", "--limit", "3").code == 5
    part = promoted.last_run()
    assert promoted.command("promote", str(part)).code == 3
    assert promoted.command("compare", str(part)).code == 5
    done = promoted.command("compare", str(whole), "--baseline", str(part))
    assert done.code == 3
    assert "partial: 3 of 24 questions chosen" in done.out
    assert promoted.command("check", "--baseline", str(part / "metrics.json")).code == 2
    forged = promoted.root / ".raggate" / "runs" / "20990101_000000"
    shutil.copytree(part, forged)
    config = json.loads((forged / "config.json").read_text())
    del config["selection"]
    (forged / "config.json").write_text(json.dumps(config))
    (forged / "verdict.json").unlink()
    assert promoted.command("compare", str(forged)).code == 3
    assert promoted.command("promote", str(forged)).code == 3


def test_all_questions_chosen_is_a_whole_run(promoted: Project) -> None:
    """A choice that leaves nothing out is no choice: the run is whole, and may pass."""
    assert promoted.command("check", "--limit", "24").code == 0
    assert "partial" not in promoted.verdict()
