"""The pull request of a promotion: opened, updated in place, and right also when two promotions run at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fakes.github_api import COMMIT_THEN_DROP, FakeGitHub, Pull, Repository
from flavours import EITHER
from raggate.base.errors import CannotTell
from raggate.github.promotion import Change, ProposedFile, PullRequestResult, branch_of, propose
from raggate.github.rest.client import GitHubError
from raggate.github.rest.commits import Committed, Moved
from raggate.github.rest.repository import Repository as GitHubRepository

NAME = "octo/notes"
PATH = "baselines/small.json"
OLD, NEW, NEWER = b'{"v": 1}\n', b'{"v": 2}\n', b'{"v": 3}\n'
BRANCH = "refs/heads/raggate/baseline-small"
WRITES = {"contents": "write", "pull-requests": "write"}


@dataclass
class Stage:
    """A repository with a baseline on a fake."""

    fake: FakeGitHub
    repository: Repository

    def change(self, data: bytes = NEW, run: int = 5, suite: str = "small", **fields: object) -> Change:
        """Describe a promotion, computed against what stands on main now."""
        known = {
            "branch": branch_of([suite]),
            "target": "main",
            "head": self.repository.head,
            "files": (ProposedFile(path=PATH, present=self.repository.read(PATH), data=data),),
            "title": f"Baseline of small: run {run}",
            "message": "Reason: better",
            "body": lambda commit: f"Body of run {run}, verified: {commit.verified}",
        }
        return Change(**{**known, **fields})  # type: ignore[arg-type]

    def propose(
        self,
        change: Change | None = None,
        *,
        permissions: dict[str, str] | None = None,
        login: str = "github-actions[bot]",
    ) -> PullRequestResult:
        token = self.fake.token(permissions or WRITES, login=login)
        with self.fake.client(token) as github:
            return propose(GitHubRepository(github, NAME), change or self.change())

    def pulls(self) -> list[Pull]:
        return list(self.repository.pulls.values())

    def proposed(self) -> bytes | None:
        """Return the baseline on the branch of the pull request."""
        return self.repository.read(PATH, self.repository.refs[BRANCH])

    def changed_by(self, pull: Pull) -> set[str]:
        """Name the files that merging a pull request would change."""
        objects = self.repository.objects
        parted = objects.merge_base(pull.head_sha, self.repository.head)
        assert parted is not None
        old, new = (objects.walk(objects.commits[sha].tree) for sha in (parted, pull.head_sha))
        return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)} - {"baselines"}


@pytest.fixture
def stage(flavour: str) -> Iterator[Stage]:
    """Yield a repository; what is sent has to fit GitHub's description."""
    with FakeGitHub(flavour) as fake:
        yield Stage(fake, fake.add_repository(NAME, files={"README.md": "# Notes\n", PATH: OLD}))


@EITHER
def test_everything_that_is_asked(stage: Stage) -> None:
    """Among all that promotions ask on their way there is nothing that either flavour would not take."""
    stage.propose()
    stage.propose(stage.change(NEWER, run=6))
    stage.repository.add_commit({"README.md": "# New\n"}, [stage.repository.head], branch="main")
    stage.propose(stage.change(OLD + NEW, run=7))
    assert {request.operation for request in stage.fake.requests} == {
        *(f"git/{name}" for name in ("get-ref", "get-commit", "get-tree", "create-blob", "create-tree")),
        *("git/create-commit", "git/create-ref", "git/update-ref", "repos/compare-commits-with-basehead"),
        *("pulls/list", "pulls/get", "pulls/create", "pulls/update"),
    }


@EITHER
def test_opened(stage: Stage) -> None:
    """The first promotion opens a pull request with one file, and leaves main alone."""
    before = stage.repository.head
    done = stage.propose()
    (pull,) = stage.pulls()
    assert done.state == "created"
    assert done.url.endswith(f"/pull/{pull.number}")
    assert done.commit == Committed(sha=pull.head_sha, verified=True, reason="valid")
    assert (pull.title, pull.body) == ("Baseline of small: run 5", "Body of run 5, verified: True")
    assert (pull.head_ref, pull.base_ref) == ("raggate/baseline-small", "main")
    assert stage.changed_by(pull) == {PATH}
    assert (stage.proposed(), stage.repository.head) == (NEW, before)


@EITHER
def test_updated_in_place(stage: Stage) -> None:
    """A second promotion puts another commit into the same pull request and rewrites its text."""
    first = stage.propose()
    done = stage.propose(stage.change(NEWER, run=6))
    (pull,) = stage.pulls()
    assert (done.state, done.url) == ("updated", first.url)
    assert (pull.title, pull.body) == ("Baseline of small: run 6", "Body of run 6, verified: True")
    assert stage.proposed() == NEWER
    assert first.commit is not None
    assert stage.repository.objects.commits[pull.head_sha].parents == (first.commit.sha,)


def test_put_on_top_of_a_newer_main(stage: Stage) -> None:
    """When main went on with the same baseline, the proposal is put on top of it, and has one file."""
    stage.propose()
    change = stage.change(NEWER, run=6)
    stage.repository.add_commit({"README.md": "# New\n"}, [stage.repository.head], branch="main")
    stage.propose(change)
    (pull,) = stage.pulls()
    assert stage.changed_by(pull) == {PATH}


@pytest.mark.parametrize("data", [b"another", None])
def test_another_baseline_meanwhile(stage: Stage, data: bytes | None) -> None:
    """When the baseline on main is not the one that was compared with, nothing is written."""
    change = stage.change()
    stage.repository.add_commit({PATH: data}, [stage.repository.head], branch="main")
    with pytest.raises(CannotTell, match="the baseline on main changed meanwhile"):
        stage.propose(change)
    assert not stage.pulls()
    assert BRANCH not in stage.repository.refs


def test_a_first_baseline(stage: Stage) -> None:
    """Where main has no baseline yet, one is proposed; where somebody added one meanwhile, it is not."""
    change = stage.change(files=(ProposedFile(path="baselines/first.json", present=None, data=NEW),))
    assert stage.propose(change).state == "created"
    stage.repository.add_commit({"baselines/first.json": "{}"}, [stage.repository.head], branch="main")
    with pytest.raises(CannotTell, match="changed meanwhile"):
        stage.propose(change)


@pytest.mark.parametrize("merged", [True, False])
def test_a_closed_pull_request_is_left_closed(stage: Stage, merged: bool) -> None:
    """After a pull request was closed or merged there is a new one, with one file, from the branch that was left."""
    stage.propose()
    (first,) = stage.pulls()
    first.state, first.merged = "closed", merged
    if merged:
        # as a squash does it: the branch's commits are not main's
        stage.repository.add_commit({PATH: NEW}, [stage.repository.head], branch="main")
    done = stage.propose(stage.change(NEWER, run=6))
    assert done.state == "created"
    assert [pull.title for pull in stage.pulls()] == ["Baseline of small: run 5", "Baseline of small: run 6"]
    assert stage.changed_by(stage.pulls()[1]) == {PATH}


def test_a_fork_of_the_same_branch_is_not_taken(stage: Stage) -> None:
    """A pull request from a fork's branch of the same name is not this promotion's."""
    fork = stage.fake.add_repository("mallory/notes", fork_of=stage.repository)
    stage.repository.add_pull(3, head_sha=fork.head, head_ref="raggate/baseline-small", head_repo="mallory/notes")
    assert stage.propose().state == "created"
    assert stage.repository.pulls[3].title == "A change"


@pytest.mark.parametrize("operation", ["git/create-commit", "git/update-ref", "pulls/get"])
def test_at_once_with_a_pull_request(stage: Stage, operation: str) -> None:
    """Of two promotions into one pull request at once one is refused, and the other's text and file belong together."""
    stage.propose(stage.change(b"first", run=4))
    stage.fake.before(operation, lambda _: stage.propose(stage.change(NEWER, run=6)))
    with pytest.raises(Moved) as caught:
        stage.propose(stage.change(NEW, run=5))
    (pull,) = stage.pulls()
    assert f"found {pull.head_sha[:12]}. Nothing was written" in caught.value.message
    assert (pull.body, stage.proposed()) == ("Body of run 6, verified: True", NEWER)


def test_a_lost_answer_opens_one_pull_request(stage: Stage) -> None:
    """When the answer to opening the pull request is lost, there is one all the same."""
    stage.fake.fail_next("pulls/create", COMMIT_THEN_DROP)
    assert stage.propose().state == "created"
    assert len(stage.pulls()) == 1


def test_the_setting_that_lets_actions_open_pull_requests(stage: Stage) -> None:
    """A repository that does not let workflows open pull requests is named with its setting."""
    stage.repository.actions_may_open_pulls = False
    with pytest.raises(GitHubError) as caught:
        stage.propose()
    assert "Allow GitHub Actions to create and approve pull requests" in caught.value.hint


@EITHER
def test_an_unverified_commit_is_said(stage: Stage) -> None:
    """The text of the pull request can tell that GitHub did not sign its commit."""
    done = stage.propose(login="octocat")
    assert done.commit is not None
    assert (done.commit.verified, done.commit.reason) == (False, "unsigned")
    assert stage.pulls()[0].body == "Body of run 5, verified: False"


@pytest.mark.parametrize("suite", ["a", "A.b", "a..b", "a.", "a.lock", "a-b", "a--b", "a-.b", "x" * 64])
def test_branches_can_be_made(stage: Stage, suite: str) -> None:
    """Every name of a suite gives a branch that GitHub takes."""
    change = stage.change(suite=suite)
    assert stage.propose(change).state == "created"
