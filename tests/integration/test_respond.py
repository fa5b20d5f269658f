"""Commands in comments of a pull request: who may give them, what they do, and that each is answered once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commanded import NAME, Conversation
from e2e import grammar
from fakes.github_api import COMMIT_THEN_DROP, FakeGitHub, status
from raggate.base.errors import CannotTell

RECHECK = "/raggate recheck"


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Conversation]:
    """Open a pull request whose gate has run once, in a repository where ada writes and eve reads."""
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        repository.roles |= {"ada": "write", "mai": "maintain", "root": "admin", "tri": "triage", "eve": "read"}
        head = repository.add_commit({"README": "change"}, [repository.head], branch="change")
        repository.add_pull(7, head_sha=head, login="eve")
        repository.add_run(9, head_sha=head, head_branch="change", conclusion="failure")
        yield Conversation(fake, repository, tmp_path)


class TestWho:
    """Who may give a command, by the role that GitHub tells of."""

    @pytest.mark.parametrize("who", ["eve", "tri", "stranger"])
    def test_who_may_not(self, talk: Conversation, who: str) -> None:
        """Nobody else starts anything or gets raggate to write: one thumb down, also for the author of the change."""
        assert "may not write" in talk.say(RECHECK, by=who).message
        assert (talk.attempts, talk.reactions, talk.replies) == (1, ["-1"], [])

    def test_no_person(self, talk: Conversation) -> None:
        """A bot is not even reacted to, so that no two talk to each other for ever, whatever its role is."""
        talk.repository.roles["helper"] = "admin"
        talk.say(RECHECK, by="helper", person=False)
        assert talk.fake.requests == []

    def test_a_role_that_cannot_be_asked_for(self, talk: Conversation) -> None:
        """Where GitHub does not tell the role, nothing is done."""
        talk.fake.fail_next("repos/get-collaborator-permission-level", *[status(500)] * 4)
        with pytest.raises(CannotTell):
            talk.say(RECHECK)
        assert (talk.attempts, talk.replies) == (1, [])


class TestOnce:
    """A comment is answered once, whatever is delivered twice or breaks."""

    def test_delivered_again(self, talk: Conversation) -> None:
        """The workflow of a comment that was answered does nothing when it runs again."""
        first = talk.say(RECHECK)
        talk.repository.runs[9][-1]["status"] = "completed"
        again = talk.respond(RECHECK)
        assert "answered before" in again.message
        assert (again.url, talk.attempts, len(talk.replies)) == (first.url, 2, 1)

    def test_a_reply_that_somebody_else_wrote(self, talk: Conversation) -> None:
        """Nobody can keep a command from being answered by writing what looks like its reply."""
        talk.comment = talk.repository.add_comment(7, "ada", RECHECK).id
        talk.repository.add_comment(7, "eve", f"<!-- raggate:reply {talk.comment} -->\nno")
        talk.respond(RECHECK)
        assert talk.attempts == 2

    @pytest.mark.parametrize("operation", ["actions/re-run-workflow", "issues/create-comment"])
    def test_an_answer_that_is_lost(self, talk: Conversation, operation: str) -> None:
        """Where GitHub did it and its answer is lost on the way, it is not done a second time."""
        talk.fake.fail_next(operation, COMMIT_THEN_DROP)
        assert talk.say(RECHECK).code == 0
        assert (talk.attempts, len(talk.replies), talk.reactions) == (2, 1, ["eyes", "+1"])


def another_commit(talk: Conversation) -> None:
    """Push to the pull request."""
    talk.repository.pulls[7].head_sha = talk.repository.add_commit({"README": "more"}, [talk.repository.head])


def closed(talk: Conversation) -> None:
    talk.repository.pulls[7].state = "closed"


def last(**about: object) -> Callable[[Conversation], None]:
    """Change what GitHub says of the gate's run."""
    return lambda talk: talk.repository.runs[9][-1].update(about)


class TestRecheck:
    """What `/raggate recheck` starts, and what it does not."""

    def test_what_it_says(self, talk: Conversation) -> None:
        """The reply names run, commit and attempt, and by which base commit is judged."""
        talk.say(RECHECK)
        head, server = talk.repository.pulls[7].head_sha, talk.fake.server_url
        assert talk.replies == [
            f"[Run 9]({server}/{NAME}/actions/runs/9) for [`{head[:7]}`]({server}/{NAME}/commit/{head}) starts again, "
            "as attempt 2. The same base commit judges it. If a newer one should judge, update the branch.\n"
        ]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (another_commit, "There is no run of the gate's workflow for"),
            (closed, "This pull request is not open."),
            (last(status="in_progress", conclusion=None), "has not ended yet"),
            (last(conclusion="action_required"), "waits for approval"),
            (last(event="push"), "There is no run of the gate's workflow for"),
            (
                last(pull_requests=[{"id": 1, "number": 8, "url": "", "head": {}, "base": {}}]),
                "There is no run of the gate's workflow for",
            ),
            (last(head_repository="octo/other"), "There is no run of the gate's workflow for"),
        ],
    )
    def test_what_is_not_started(self, talk: Conversation, change: Callable[[Conversation], None], words: str) -> None:
        """Only a run of the pull request's own present commit that has ended is started again."""
        talk.fake.add_repository("octo/other")
        change(talk)
        assert talk.say(RECHECK).code == 0
        assert words in talk.replies[0]
        assert (talk.attempts, talk.reactions) == (1, ["eyes", "-1"])

    def test_the_newest_run_of_the_gate(self, talk: Conversation) -> None:
        """Of several runs for one commit the newest of the gate's own workflow is started, not another workflow's."""
        head = talk.repository.pulls[7].head_sha
        talk.repository.add_run(12, head_sha=head, head_branch="change")
        talk.repository.add_run(13, head_sha=head, head_branch="change", path=".github/workflows/other.yml")
        talk.say(RECHECK)
        assert {run: len(attempts) for run, attempts in talk.repository.runs.items()} == {9: 1, 12: 2, 13: 1}


class TestOtherComments:
    """What is no command."""

    @pytest.mark.parametrize("body", ["/raggate rechek", "/raggate recheck @eve <b>now</b> `id`", "/raggate a\n@eve"])
    def test_an_unknown_command(self, talk: Conversation, body: str) -> None:
        """It is answered by the list of commands, in which nothing of the comment is repeated."""
        talk.say(body)
        assert "- `/raggate recheck` runs the gate again" in talk.replies[0]
        assert "eve" not in talk.replies[0]
        assert (talk.attempts, talk.reactions) == (1, ["eyes", "-1"])


def test_the_step_of_a_workflow(talk: Conversation, tmp_path: Path) -> None:
    """The whole step, from GitHub's event file to the reply, the outputs and a summary without a verdict."""
    done = talk.step(RECHECK)
    assert done.code == 0, done.err
    assert (talk.attempts, len(talk.replies)) == (2, 1)
    outputs = grammar.values((tmp_path / "GITHUB_OUTPUT").read_text())
    assert (outputs["verdict"], outputs["exit-code"]) == ("", "")
    assert "#issuecomment-" in outputs["comment-url"]
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "the command was carried out.\n"
