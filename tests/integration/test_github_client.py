"""The client against a server that is held to GitHub's API description: lists, lost answers, redirects, limits."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakes.github_api import (
    BOT,
    COMMIT_THEN_DROP,
    TRUNCATE,
    FakeGitHub,
    Fault,
    Repository,
    commit_then_status,
    primary_limit,
    secondary_limit,
    status,
)
from raggate.github.rest.client import RAW, GitHub
from raggate.github.rest.failures import GitHubError

COMMENTS = "/repos/octo/notes/issues/7/comments"
PERMISSIONS = {"contents": "write", "pull-requests": "write", "actions": "read", "checks": "write"}


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def fake(request: pytest.FixtureRequest) -> Iterator[FakeGitHub]:
    """Serve a GitHub, once at the root and once at Enterprise Server's base path."""
    with FakeGitHub(request.param, wire=True) as github:
        yield github
        github.assert_clean()


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    """Return a repository with an open pull request."""
    found = fake.add_repository("octo/notes", files={"raggate.yml": "version: 1\n"})
    found.add_pull(7, head_sha=found.head)
    return found


def client(
    fake: FakeGitHub, permissions: dict[str, str] | None = None, sleep: Callable[[float], Any] = lambda _: None
) -> GitHub:
    """Make a client that does not wait in truth."""
    token = fake.token(PERMISSIONS if permissions is None else permissions)
    return GitHub(api_url=fake.api_url, graphql_url=fake.graphql_url, token=token, sleep=sleep, now=lambda: 1000.0)


def test_every_page_of_the_comments(fake: FakeGitHub, repository: Repository) -> None:
    """All of 250 comments come, in three pages, each once."""
    for number in range(250):
        repository.add_comment(7, "ada", f"comment {number}")
    with client(fake) as github:
        found = [comment["body"] for comment in github.pages(COMMENTS)]
    assert found == [f"comment {number}" for number in range(250)]
    assert len(fake.requests) == 3


@pytest.mark.parametrize("fault", [COMMIT_THEN_DROP, TRUNCATE, commit_then_status(502)])
def test_a_comment_whose_answer_was_lost(fake: FakeGitHub, repository: Repository, fault: Fault) -> None:
    """A comment that was made although the answer was lost is made once."""
    fake.fail_next("issues/create-comment", fault)
    with client(fake) as github:

        def already() -> Any | None:
            return next((found for found in github.pages(COMMENTS) if found["body"] == "once"), None)

        assert github.send("POST", COMMENTS, {"body": "once"}, find_existing=already)["user"]["login"] == BOT
    assert [comment.body for comment in repository.comments_of(7)] == ["once"]


def test_a_comment_that_was_not_made(fake: FakeGitHub, repository: Repository) -> None:
    """A comment that GitHub did not make is made by the second try."""
    fake.fail_next("issues/create-comment", status(502))
    with client(fake) as github:
        github.send("POST", COMMENTS, {"body": "once"}, find_existing=lambda: next(iter(github.get(COMMENTS)), None))
    assert [comment.body for comment in repository.comments_of(7)] == ["once"]


@pytest.mark.parametrize(
    ("fault", "wait"), [(primary_limit(1010), 11), (secondary_limit(retry_after=5), 5), (secondary_limit(code=429), 60)]
)
def test_limits(fake: FakeGitHub, repository: Repository, fault: Fault, wait: float) -> None:
    """A limit is waited for as long as GitHub says, and the request is then sent again."""
    sleeps: list[float] = []
    fake.fail_next("issues/list-comments", fault)
    with client(fake, sleep=sleeps.append) as github:
        assert github.get(COMMENTS) == []
    assert sleeps == [wait]
    assert repository.comments_of(7) == []


def test_an_artifact_without_the_token(fake: FakeGitHub, repository: Repository) -> None:
    """The artifact comes from the storage, which never sees the token."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("verdict.json", "{}")
    run = repository.add_run(head_sha=repository.head)
    repository.add_artifact(run, "raggate", buffer.getvalue())
    with client(fake) as github:
        found = list(github.pages(f"/repos/octo/notes/actions/runs/{run}/artifacts", key="artifacts"))
        path = f"/repos/octo/notes/actions/artifacts/{found[0]['id']}/zip"
        assert github.download(path, limit=1 << 20) == buffer.getvalue()
        with pytest.raises(GitHubError, match="larger than 5 bytes"):
            github.download(path, limit=5)
    assert fake.storage_requests
    assert not [request for request in fake.storage_requests if "authorization" in request.headers]


def test_a_file_as_it_is(fake: FakeGitHub, repository: Repository) -> None:
    """The contents API gives the bytes of a file of a commit."""
    with client(fake) as github:
        found = github.download("/repos/octo/notes/contents/raggate.yml", limit=100, accept=RAW)
    assert found == b"version: 1\n"


def test_a_missing_permission(fake: FakeGitHub, repository: Repository) -> None:
    """What the token may not do is refused at once, with the line that is missing."""
    begin = time.monotonic()
    with client(fake, {"contents": "read"}) as github, pytest.raises(GitHubError) as caught:
        github.send("POST", COMMENTS, {"body": "x"})
    assert (caught.value.status, caught.value.denied) == (403, True)
    assert "`pull-requests: write`" in caught.value.hint
    assert repository.comments_of(7) == []
    assert time.monotonic() - begin < 10
