"""The issue about the default branch: opened once, kept up to date, closed by a pass; and who is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from events import make_event
from fakes.github_api import BOT, COMMIT_THEN_DROP, FakeGitHub, Repository
from raggate.github import marker
from raggate.github.publish import Settings, StepReporter
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.models.publication import Push
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Review
from rendered import problems
from reviews import HOSTILE, hostile_everywhere, review

NAME = "octo/notes"
WRITES = {"contents": "read", "issues": "write"}
COMMITS = {number: f"{number:x}" * 40 for number in range(1, 8)}


@dataclass
class Stage:
    """A repository on a fake, and what a run said about what it could not show."""

    fake: FakeGitHub
    repository: Repository
    said: list[str] = field(default_factory=list)

    def run(
        self,
        number: int,
        kind: str | Review,
        *,
        attempt: int = 1,
        branch: str = "main",
        permissions: dict[str, str] | None = None,
    ) -> None:
        """Let a push be judged: the number is that of the run and of its commit."""
        event = make_event("push", self.fake, run_id=number, attempt=attempt, head=COMMITS[number], head_ref=branch)
        token = self.fake.token(permissions or WRITES)
        judged = review(kind) if isinstance(kind, str) else kind
        code = int(judged.verdict.exit_code)
        outcome = SuiteOutcome(config="raggate.yml", suite=judged.run.suite, code=code, review=judged)
        with self.fake.client(token) as github:
            settings = Settings(issue=True)
            reporter = StepReporter(event, GitHubRepository(github, NAME), settings, self.said.append)
            reporter.finish_suite(outcome)

    @property
    def issues(self) -> list[tuple[str, str]]:
        return [(issue.state, issue.title) for issue in self.repository.issues.values()]

    def body(self, number: int) -> str:
        return self.repository.issues[number].body or ""


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Yield a repository on either flavour; what was sent has to fit GitHub's description."""
    with FakeGitHub(request.param) as fake:
        yield Stage(fake, fake.add_repository(NAME))


TITLE = "raggate: 7 of 27 questions broke on main (suite notes)"
BROKEN = "raggate: invariant broken on main (suite notes)"


def test_opened_once_and_closed_by_a_pass(stage: Stage) -> None:
    """The first red run opens it, further ones rewrite it, and a pass closes it with a comment."""
    stage.run(1, "pass")
    assert stage.issues == []
    stage.run(2, "regression")
    assert stage.issues == [("open", TITLE)]
    assert f"**main** has been red since [`{COMMITS[2][:7]}`]" in stage.body(1)
    assert ", last at" not in stage.body(1)
    assert "Questions that broke" in stage.body(1)
    assert stage.body(1).index("questions broke") < stage.body(1).index("has been red since")
    stage.run(3, "invariant-broken")
    assert stage.issues == [("open", BROKEN)]
    assert f"has been red since [`{COMMITS[2][:7]}`]" in stage.body(1)
    assert f", last at [`{COMMITS[3][:7]}`]" in stage.body(1)
    stage.run(4, "pass")
    assert stage.issues == [("closed", BROKEN)]
    (comment,) = stage.repository.comments_of(1)
    assert f"✅ It passes again: [`{COMMITS[4][:7]}`]" in comment.body
    assert f"✅ **main** passes again: [`{COMMITS[4][:7]}`]" in stage.body(1)
    for text in (comment.body, stage.body(1)):
        assert f". Red since [`{COMMITS[2][:7]}`]" in text
    assert "has been red since" not in stage.body(1)
    stage.run(5, "regression")
    assert stage.issues == [("closed", BROKEN), ("open", TITLE)]
    assert f"has been red since [`{COMMITS[5][:7]}`]" in stage.body(2)
    assert stage.said == []


def test_what_was_not_measured_changes_nothing(stage: Stage) -> None:
    """A run that could not tell neither opens nor closes an issue, nor does it write into one."""
    stage.run(1, "cannot-tell")
    assert stage.issues == []
    stage.run(2, "regression")
    before = stage.body(1)
    stage.run(3, "cannot-tell")
    assert (stage.issues, stage.body(1)) == ([("open", TITLE)], before)


def test_older_runs_change_nothing(stage: Stage) -> None:
    """A run that ends after a newer one, or is run again, tells nothing of the branch as it is."""
    stage.run(4, "regression")
    before = stage.body(1)
    stage.run(3, "pass")
    stage.run(2, "regression", attempt=2)
    assert (stage.issues, stage.body(1)) == ([("open", TITLE)], before)
    stage.run(5, "pass")
    stage.run(3, "regression", attempt=2)
    assert stage.issues == [("closed", TITLE)]


def test_an_old_commit_run_again_opens_none(stage: Stage) -> None:
    """A red run of a commit that the branch has left behind opens no issue when it is run again."""
    stage.run(2, "regression", attempt=2)
    assert stage.issues == []


def test_what_a_person_closes_stays_closed(stage: Stage) -> None:
    """An issue that a person closed is not opened again before the branch has passed once."""
    stage.run(1, "regression")
    stage.repository.issues[1].state = "closed"
    stage.run(2, "regression")
    assert stage.issues == [("closed", TITLE)]
    stage.run(3, "pass")
    assert stage.repository.comments_of(1) == []
    stage.run(4, "regression")
    assert stage.issues == [("closed", TITLE), ("open", TITLE)]


def test_only_its_own_are_believed(stage: Stage) -> None:
    """An issue or pull request of somebody else with the same marker is neither taken for raggate's nor changed."""
    push = Push(head=COMMITS[7], verdict="pass", run=99, attempt=1)
    body = marker.encode(marker.State(suite=marker.slug("main:notes"), pushes=(push,)))
    stage.repository.add_issue("mallory", TITLE, body)
    stage.repository.add_issue(BOT, "Something else of the workflow's", None)
    stage.repository.add_pull(3, head_sha=stage.repository.head, login=BOT, body=body)
    stage.run(1, "regression")
    assert [issue.login for issue in stage.repository.issues.values()] == ["mallory", BOT, BOT]
    assert stage.body(1) == body
    stage.run(2, "pass")
    assert [state for state, _ in stage.issues] == ["open", "open", "closed"]


def test_an_answer_that_is_lost_opens_no_second(stage: Stage) -> None:
    """When GitHub opened it and the answer got lost, it is looked for and not opened again."""
    stage.fake.fail_next("issues/create", COMMIT_THEN_DROP)
    stage.run(1, "regression")
    assert stage.issues == [("open", TITLE)]
    stage.fake.fail_next("issues/create-comment", COMMIT_THEN_DROP)
    stage.run(2, "pass")
    assert len(stage.repository.comments_of(1)) == 1
    assert stage.said == []


def test_foreign_text_is_text(stage: Stage) -> None:
    """Whatever questions, notes and names hold, the issue mentions nobody and has no markup of theirs."""
    stage.run(1, hostile_everywhere(), branch=HOSTILE.replace(":", "")[:200])
    (issue,) = stage.repository.issues.values()
    body = (issue.body or "").split("-->\n", 2)[2]
    assert list(problems(body, links=(f"{stage.fake.server_url}/",))) == []
    assert issue.title.isprintable()
