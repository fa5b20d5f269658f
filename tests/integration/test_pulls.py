"""Finding the pull request of a commit on a server that is held to GitHub's API description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.github_api import FakeGitHub, Repository
from raggate.github.rest import pulls
from raggate.github.rest.repository import Repository as GitHubRepository

NAME = "octo/notes"


@dataclass
class Stage:
    """A repository, a fork of it, and the fork's commit."""

    fake: FakeGitHub
    base: Repository
    fork: Repository
    head: str

    def find_all(self, **changes: Any) -> tuple[int, ...]:
        """Return the numbers of what is found for the fork's commit."""
        known = {"head_sha": self.head, "head_repository": "mona/notes", "head_branch": "change", **changes}
        token = self.fake.token({"pull-requests": "read"})
        with self.fake.client(token) as github:
            found = pulls.find_all(GitHubRepository(github, NAME), **known)
        return tuple(pull.number for pull in found)


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Serve a GitHub with a pull request 7 from a fork, once at the root and once at Enterprise Server's base path."""
    with FakeGitHub(request.param) as fake:
        base = fake.add_repository(NAME)
        fork = fake.add_repository("mona/notes", fork_of=base)
        head = fork.add_commit({"a": "x"}, [base.head], branch="change")
        base.add_pull(7, head_sha=head, head_repo=fork, locked=True)
        yield Stage(fake, base, fork, head)


UNKNOWN: list[dict[str, Any]] = [{}, {"head_branch": ""}, {"head_repository": "", "head_branch": ""}]


@pytest.mark.parametrize("known", UNKNOWN, ids=["by branch", "by commit", "by commit alone"])
def test_one_that_moved_on(stage: Stage, known: dict[str, Any]) -> None:
    """A pull request with a newer head is not the measured commit's."""
    stage.base.pulls[7].head_sha = stage.fork.add_commit({"a": "y"}, [stage.head], branch="change")
    assert stage.find_all(**known) == ()


def test_several_bases(stage: Stage) -> None:
    """All pull requests of the same head are found, by number; `find` gives the oldest."""
    stage.base.add_commit({"b": "x"}, [stage.base.head], branch="release")
    stage.base.add_pull(5, head_sha=stage.head, head_repo=stage.fork, base_ref="release")
    assert stage.find_all() == (5, 7)


def test_the_same_commit_from_elsewhere(stage: Stage) -> None:
    """A pull request of the same commit from another repository is not the one."""
    other = stage.fake.add_repository("eve/notes", fork_of=stage.base)
    stage.base.add_pull(8, head_sha=stage.head, head_repo=other)
    assert stage.find_all() == (7,)
    assert stage.find_all(head_branch="") == (7,)
    assert stage.find_all(head_repository="eve/notes") == (8,)


def test_a_fork_that_is_gone(stage: Stage) -> None:
    """A pull request whose fork was deleted is found by its commit, as one from a fork."""
    stage.base.pulls[7].head_repo = None
    assert stage.find_all(head_repository="", head_branch="") == (7,)
