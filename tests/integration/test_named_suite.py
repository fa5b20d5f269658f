"""Commands in comments where the gate has a list of suites: each is about the suite that it names, or the only one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commanded import NAME, Conversation
from fakes.github_api import FakeGitHub
from raggate.config.schema import load
from rendered import visible

CONFIG = """\
suite: {suite}
golden: golden.jsonl
vault: {{notes: notes}}
api: {{url: http://127.0.0.1:9}}
"""
CASE = '{"id": "%s", "question": "What?", "answerable": true, "gold_supports": [{"rel_path": "a.md"}]}\n'
UNTIL = "until 2026-12-31 because the note is being rewritten"


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
        rights = {"actions": "read", "contents": "write", "pull-requests": "write"}
        yield Conversation(fake, repository, tmp_path, permissions=rights, configs=("services/*/raggate.yml",))
        fake.assert_clean()


def proposed(talk: Conversation) -> list[tuple[str, str]]:
    """Give suite and question of each waiver that a pull request proposes."""
    found = []
    for number, pull in talk.repository.pulls.items():
        for name in ("pay", "web"):
            data = talk.repository.read(f"services/{name}/raggate.yml", pull.head_sha) or b""
            found += [(name, str(waiver.case)) for waiver in load(data, name).waivers if number != 7]
    return found


@pytest.mark.parametrize(
    ("words", "waived"),
    [("web: q17", ("web", "q17")), ("pay: q17", ("pay", "q17")), ("web: pay: 1", ("web", "pay: 1"))],
)
def test_the_suite_that_is_named(talk: Conversation, words: str, waived: tuple[str, str]) -> None:
    """A waiver is added to the configuration of that suite alone."""
    talk.say(f"/raggate waive {words} {UNTIL}")
    assert proposed(talk) == [waived]


def test_a_suite_that_has_moved_since_is_the_one_that_is_waived(talk: Conversation) -> None:
    """The waiver goes to the suite of that name as the base branch has it now, which the pull request is behind."""
    moved = {
        f"services/{name}/raggate.yml": CONFIG.format(suite=suite) for name, suite in (("pay", "web"), ("web", "pay"))
    }
    talk.repository.add_commit(moved, [talk.repository.pulls[7].base_sha], branch="main")
    talk.say(f"/raggate waive pay: q17 {UNTIL}")
    assert proposed(talk) == [("web", "q17")]


@pytest.mark.parametrize(
    "words", ["q17", "mine: q17", "WEB: q17", "web q17", "services/web/raggate.yml: q17", "web:q17"]
)
def test_no_suite_is_guessed(talk: Conversation, words: str) -> None:
    """Without the name of a suite of the base commit nothing is done, and the reply names those there are."""
    talk.say(f"/raggate waive {words} {UNTIL}")
    assert proposed(talk) == []
    assert talk.reactions == ["eyes", "-1"]
    assert visible(talk.replies[-1]).startswith("It is not clear which suite is meant: pay, web. Begin with its name")


def test_of_many_suites_the_rest_is_counted(talk: Conversation) -> None:
    """A reply names twenty suites, and says how many more there are."""
    more = {f"services/s{number:02}/raggate.yml": CONFIG.format(suite=f"s{number:02}") for number in range(23)}
    talk.repository.add_commit(more, [talk.repository.pulls[7].base_sha], branch="main")
    talk.say(f"/raggate waive q17 {UNTIL}")
    names = visible(talk.replies[-1]).partition("is meant: ")[2].partition(". Begin")[0]
    assert names == f"pay, {', '.join(f's{number:02}' for number in range(19))} and 5 more"


def test_the_only_suite_needs_no_name(talk: Conversation) -> None:
    """Where the list has one suite, a command is about it, with its name or without."""
    talk.configs = ("services/w*/raggate.yml",)
    talk.say(f"/raggate waive q17 {UNTIL}")
    assert proposed(talk) == [("web", "q17")]


def test_a_question_of_one_suite_is_explained(talk: Conversation) -> None:
    """The run of that suite is taken out of the artifact of all, which is asked for by its own name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a/config.json", '{"suite": "pay"}')
        archive.writestr("b/verdict.json", '{"suite": "pay", "exit_code": 0, "headline": ""}')
    talk.repository.add_artifact(9, "raggate-run", packed.getvalue())
    talk.say("/raggate explain pay: q17")
    assert "the artifact has 2 runs of this suite" in visible(talk.replies[-1])
    talk.say("/raggate explain web: q17")
    assert "the artifact has no run of this suite" in visible(talk.replies[-1])


def test_a_recheck_is_about_all(talk: Conversation) -> None:
    """The gate's run starts again as a whole, without the name of a suite."""
    talk.permissions = {"actions": "write", "contents": "read", "pull-requests": "write"}
    talk.say("/raggate recheck")
    assert (talk.attempts, talk.reactions) == (2, ["eyes", "+1"])


def test_the_step_of_a_workflow(talk: Conversation) -> None:
    """The step takes the list from its input `config`, as the gate's does."""
    assert talk.step(f"/raggate waive pay: q17 {UNTIL}").code == 0
    assert proposed(talk) == [("pay", "q17")]
