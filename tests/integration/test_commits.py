"""Commits through the git data API: several files at once, forward only, from the commit that was seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fakes.github_api import FakeGitHub, Repository
from flavours import EITHER
from raggate.github.rest.client import GitHub, GitHubError
from raggate.github.rest.commits import Committed, update
from raggate.github.rest.repository import Repository as GitHubRepository

NAME = "octo/notes"
FILES = {"baselines/small.json": b'{"a": 1}\n', "baselines/other.json": b"\x00\xff"}


@dataclass
class Stage:
    """A repository on a fake."""

    fake: FakeGitHub
    repository: Repository

    def github(self, permissions: dict[str, str] | None = None, login: str = "github-actions[bot]") -> GitHub:
        """Open the API with a token that may write contents unless told otherwise."""
        token = self.fake.token(permissions or {"contents": "write"}, login=login)
        return self.fake.client(token)

    def update(self, branch: str, expected: str | None, *, onto: str | None = None, **others: object) -> Committed:
        with self.github(**others) as github:  # type: ignore[arg-type]
            return update(
                GitHubRepository(github, NAME),
                branch=branch,
                expected_head=expected,
                onto=onto or expected or "",
                files=FILES,
                message="A baseline",
            )

    def parents(self, sha: str) -> tuple[str, ...]:
        return tuple(self.repository.objects.commits[sha].parents)


@pytest.fixture
def stage(flavour: str) -> Iterator[Stage]:
    """Yield a repository; what is sent has to fit GitHub's description."""
    with FakeGitHub(flavour) as fake:
        yield Stage(fake, fake.add_repository(NAME, files={"README.md": "# Notes\n", "baselines/small.json": "{}\n"}))


def test_newer_files_become_a_second_parent(stage: Stage) -> None:
    """A branch is brought onto a newer commit by going forward: both are parents, and the newer one's files count."""
    branch = stage.update("raggate/baseline-small", None, onto=stage.repository.head).sha
    newer = stage.repository.add_commit({"README.md": "# New\n"}, [stage.repository.head], branch="main")
    made = stage.update("raggate/baseline-small", branch, onto=newer)
    assert stage.parents(made.sha) == (branch, newer)
    assert stage.repository.read("README.md", made.sha) == b"# New\n"


def test_what_was_merged_and_taken_back(stage: Stage) -> None:
    """A branch that was merged and whose change was reverted gets a commit that the other branch does not have."""
    repository, before = stage.repository, stage.repository.head
    branch = stage.update("raggate/baseline-small", None, onto=before).sha
    merge = repository.add_commit(FILES, [before, branch], branch="main")
    back = repository.add_commit({"baselines/small.json": "{}\n", "baselines/other.json": None}, [merge], branch="main")
    made = stage.update("raggate/baseline-small", branch, onto=back)
    assert made.changed
    assert stage.parents(made.sha) == (back,)
    assert repository.refs["refs/heads/raggate/baseline-small"] == made.sha
    again = stage.update("raggate/baseline-small", made.sha, onto=back)
    assert (again.sha, again.changed) == (made.sha, False)


def test_nothing_is_forced(stage: Stage) -> None:
    """Every change of a branch asks for a fast-forward in so many words."""
    stage.update("main", stage.repository.head)
    (request,) = stage.fake.calls("git/update-ref")
    assert isinstance(request.body, dict)
    assert request.body["force"] is False


@EITHER
def test_a_protected_branch(stage: Stage) -> None:
    """A protected branch is an error that says to use a pull request."""
    stage.repository.protect("main")
    with pytest.raises(GitHubError, match="rule") as caught:
        stage.update("main", stage.repository.head)
    assert "raggate/**" in caught.value.hint


def test_no_author_is_named(stage: Stage) -> None:
    """The commit names nobody, as it would not be signed otherwise."""
    stage.update("main", stage.repository.head)
    (request,) = stage.fake.calls("git/create-commit")
    assert isinstance(request.body, dict)
    assert not {"author", "committer"} & set(request.body)
