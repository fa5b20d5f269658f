"""Commands in comments if the gate has a list of suites: each is about the suite that it names, or the only one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commanded import NAME, Conversation
from fakes.github_api import FakeGitHub
from promotable import packed
from raggate.github import commands
from raggate.github.commands import Reply
from raggate.github.fork_comment import ForkRun
from rendered import visible

CONFIG = """\
suite: {suite}
golden: golden.jsonl
vault: {{notes: notes}}
api: {{url: http://127.0.0.1:9}}
"""
CASE = '{"id": "%s", "question": "What?", "answerable": true, "gold_supports": [{"rel_path": "a.md"}]}\n'


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversation]:
    """Open a pull request into a branch with two suites, of which both have a question q17, and let its gate run."""
    monkeypatch.chdir(tmp_path)
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        repository.roles["ada"] = "write"
        contents = {"services/README": "x"}
        for name in ("pay", "web"):
            contents[f"services/{name}/raggate.yml"] = CONFIG.format(suite=name)
            contents[f"services/{name}/golden.jsonl"] = CASE % "q17" + CASE % "pay: 1"
            contents[f"services/{name}/notes/a.md"] = "# A\n"
        base = repository.add_commit(contents, branch="main")
        change = {"services/mine/raggate.yml": CONFIG.format(suite="mine")}
        head = repository.add_commit(change, [base], branch="change")
        repository.add_pull(7, head_sha=head, base_sha=base)
        repository.add_run(9, head_sha=head, head_branch="change", conclusion="failure")
        yield Conversation(fake, repository, tmp_path, configs=("services/*/raggate.yml",))


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Collect the configuration and the question of each `explain`."""
    found: list[tuple[str, str]] = []

    def explain(_: object, gate: ForkRun, __: object, case_id: str, ___: object) -> Reply:
        found.append((gate.config_path, case_id))
        return Reply(text="done", done=True)

    monkeypatch.setattr(commands, "_explain", explain)
    return found


@pytest.mark.parametrize(
    ("words", "question"),
    [("web: q17", ("web", "q17")), ("pay: q17", ("pay", "q17")), ("web: pay: 1", ("web", "pay: 1"))],
)
def test_the_suite_that_is_named(
    talk: Conversation, explained: list[tuple[str, str]], words: str, question: tuple[str, str]
) -> None:
    """The question is looked up in that suite alone."""
    talk.say(f"/raggate explain {words}")
    assert explained == [(f"services/{question[0]}/raggate.yml", question[1])]


@pytest.mark.parametrize(
    "words", ["q17", "mine: q17", "WEB: q17", "web q17", "services/web/raggate.yml: q17", "web:q17"]
)
def test_no_suite_is_guessed(talk: Conversation, explained: list[tuple[str, str]], words: str) -> None:
    """Without the name of a suite of the base commit nothing is done, and the reply names those there are."""
    talk.say(f"/raggate explain {words}")
    assert explained == []
    assert talk.reactions == ["eyes", "-1"]
    assert visible(talk.replies[-1]).startswith("Which suite do you mean? Begin with its name: pay, web.")


def test_a_question_of_one_suite_is_explained(talk: Conversation) -> None:
    """The run of that suite is taken out of the artifact of all, which is asked for by its own name."""
    claims = {"a/config.json": b'{"suite": "pay"}', "b/verdict.json": b'{"suite": "pay"}'}
    talk.repository.add_artifact(9, "raggate-run", packed(claims))
    talk.say("/raggate explain pay: q17")
    assert "the artifact has 2 runs of this suite" in visible(talk.replies[-1])
    talk.say("/raggate explain web: q17")
    assert "the artifact has no run of this suite" in visible(talk.replies[-1])
