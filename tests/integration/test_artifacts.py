"""Taking a run's artifact from a server that is held to GitHub's API description."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping

import pytest

from fakes.github_api import FakeGitHub, Repository, status
from raggate.errors import CannotTell
from raggate.github.rest import artifacts
from raggate.github.rest.repository import Repository as GitHubRepository

NAME = "octo/notes"


def packed(content: bytes = b"{}") -> bytes:
    """Pack a run directory of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("config.json", content)
    return stream.getvalue()


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def fake(request: pytest.FixtureRequest) -> Iterator[FakeGitHub]:
    """Serve a GitHub, once at the root and once at Enterprise Server's base path."""
    with FakeGitHub(request.param, wire=True) as github:
        yield github
        github.assert_clean()


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    """Return a repository."""
    return fake.add_repository(NAME)


@pytest.fixture
def run(repository: Repository) -> int:
    """Return a workflow run."""
    return repository.add_run(head_sha=repository.head)


@pytest.fixture
def there(fake: FakeGitHub) -> Iterator[GitHubRepository]:
    """Yield the repository as a token that may read actions sees it."""
    with fake.client(fake.token({"actions": "read"})) as client:
        yield GitHubRepository(client, NAME)


def fetch(there: GitHubRepository, run: int, name: str, *, since: str = "") -> tuple[Mapping[str, bytes], ...] | None:
    """Find an artifact of a run and download it; None where there is none."""
    artifact = artifacts.find(there, run, name, since=since)
    return None if artifact is None else artifacts.download(there, artifact)


@pytest.mark.parametrize(
    ("created", "taken"),
    [
        ("2026-01-01T09:59:59Z", False),
        ("2026-01-01T10:00:00Z", True),
        ("2026-01-01T11:00:01+01:00", True),
        ("2026-01-02T00:00:00Z", True),
    ],
)
def test_an_earlier_attempt_leaves_none(
    repository: Repository, there: GitHubRepository, created: str, taken: bool
) -> None:
    """An artifact that was made before the attempt started is not of that attempt."""
    run = repository.add_run(head_sha=repository.head, created_at=created)
    repository.add_artifact(run, "a", packed())
    assert (fetch(there, run, "a", since="2026-01-01T10:00:00Z") is not None) is taken
    assert fetch(there, run, "a") is not None


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, "md5:0"])
def test_another_digest(
    fake: FakeGitHub, repository: Repository, run: int, there: GitHubRepository, digest: str
) -> None:
    """Bytes that do not have the digest that GitHub tells are refused; an old server tells none."""
    repository.add_artifact(run, "a", packed(), digest=digest)
    if "/api/v3" in fake.api_url and artifacts_have_no_digest(there, run):
        assert fetch(there, run, "a") == ({"config.json": b"{}"},)
        return
    with pytest.raises(CannotTell, match="digest"):
        fetch(there, run, "a")


def artifacts_have_no_digest(there: GitHubRepository, run: int) -> bool:
    """Return whether the server does not know digests."""
    listed = there.github.pages(f"{there.path}/actions/runs/{run}/artifacts", key="artifacts")
    return all("digest" not in one for one in listed)


def test_too_large(
    fake: FakeGitHub, repository: Repository, run: int, there: GitHubRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An artifact above the limit is refused before it is downloaded."""
    repository.add_artifact(run, "a", packed())
    monkeypatch.setattr(artifacts, "MOST_BYTES", 10)
    with pytest.raises(CannotTell, match="too large"):
        fetch(there, run, "a")
    assert not fake.storage_requests


def test_expired(fake: FakeGitHub, repository: Repository, run: int, there: GitHubRepository) -> None:
    """An artifact that has expired, also just now, is told to have."""
    repository.add_artifact(run, "a", packed(), expired=True)
    repository.add_artifact(run, "b", packed())
    fake.fail_next("actions/download-artifact", status(410))
    for name in ("a", "b"):
        with pytest.raises(CannotTell, match="has expired"):
            fetch(there, run, name)
