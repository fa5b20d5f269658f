"""The fake GitHub keeps its promises: what GitHub refuses it refuses, and what does not fit is seen."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_core import OpenAPI

from fakes.github import contract
from fakes.github_api import BOT, DROP, FakeGitHub, Repository
from raggate.base.certificates import checked_by
from raggate.base.http_client import httpx
from tables import each_row

EVENTS = Path(__file__).parents[1] / "fakes" / "github" / "events"
ALL = dict.fromkeys(("contents", "pull-requests", "actions", "checks"), "write")
R = "/repos/octo/notes"


@each_row("flavour", ["api.github.com", "ghes-3.17"])
def test_the_descriptions_are_valid(flavour: str) -> None:
    """What the fake is held to is itself a valid OpenAPI description, as it is served."""
    description = json.loads((EVENTS.parent / f"{flavour}.json").read_text(encoding="utf-8"))
    # reading it checks it
    assert OpenAPI.from_dict({**description, "servers": [{"url": contract.HOST}]}).spec["paths"]


@pytest.fixture
def wire() -> bool:
    """Return whether the fake listens, rather than being there in this process alone."""
    return False


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def github(request: pytest.FixtureRequest, wire: bool) -> Iterator[FakeGitHub]:
    with FakeGitHub(request.param, wire=wire) as fake:
        yield fake


@pytest.fixture
def repository(github: FakeGitHub) -> Repository:
    """Return a repository with pull request 7, which comes from a fork."""
    base = github.add_repository("octo/notes", files={"a/b.txt": "hello\n", "readme": "x"})
    fork = github.add_repository("mona/notes", fork_of=base)
    head = fork.add_commit({"a/c.txt": "new"}, [base.head], branch="change")
    base.add_pull(7, head_sha=head, head_repo=fork)
    return base


@pytest.fixture
def client(github: FakeGitHub, repository: Repository) -> Iterator[httpx.Client]:
    with client_of(github, ALL) as one:
        yield one


def client_of(github: FakeGitHub, permissions: dict[str, str]) -> httpx.Client:
    """Make a client whose token has these permissions."""
    token = github.token(permissions)
    headers = {"Authorization": f"Bearer {token}"}
    # plain HTTP: no certificates are loaded for every client
    return httpx.Client(base_url=github.api_url, headers=headers, trust_env=False, verify=checked_by(github.api_url))


def git(*arguments: str, given: bytes) -> str:
    result = subprocess.run(["git", *arguments], input=given, capture_output=True, check=True)
    return result.stdout.decode().strip()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/issues/7/comments", {"text": "hi"}),
        ("POST", "/issues/7/comments", {"body": "hi", "colour": "red"}),
        ("GET", "/pulls?sta=open", None),
        ("GET", "/pulls?per_page=many", None),
        ("GET", "/stargazers", None),
        ("PATCH", "/pulls/7", {"state": "merged"}),
        ("POST", "/git/refs", {"ref": "refs/heads/x"}),
    ],
)
def test_what_does_not_fit_is_a_violation(
    github: FakeGitHub, client: httpx.Client, method: str, path: str, body: dict[str, Any] | None
) -> None:
    """A request GitHub does not describe is refused, recorded, and fails the test that sent it."""
    assert client.request(method, R + path, json=body).status_code in {404, 422}
    assert len(github.violations) == 1
    with pytest.raises(AssertionError, match="request of"):
        github.assert_clean()
    github.violations.clear()


def test_an_own_answer_that_does_not_fit_is_a_violation(
    github: FakeGitHub, repository: Repository, client: httpx.Client
) -> None:
    """The fake is held to the description as its clients are."""
    repository.add_comment(7, "octocat", "hi").body = 5  # type: ignore[assignment]
    client.get(f"{R}/issues/7/comments")
    assert [one.side for one in github.violations] == ["response 200"]
    github.violations.clear()


def test_a_fault_nobody_met_is_told() -> None:
    """A test that announces a fault and never runs into it proves nothing."""
    with pytest.raises(AssertionError, match="nothing met"), FakeGitHub() as fake:
        fake.fail_next("repos/get", DROP)


def test_who_speaks(github: FakeGitHub, client: httpx.Client) -> None:
    """GraphQL names the account of any token, and an unknown one is refused."""
    viewer = {"query": "query { viewer { login } }"}
    assert client.post(github.graphql_url, json=viewer).json()["data"]["viewer"]["login"] == BOT
    person = {"Authorization": f"Bearer {github.token(login='mona')}"}
    assert client.post(github.graphql_url, json=viewer, headers=person).json()["data"]["viewer"]["login"] == "mona"
    assert client.get(R, headers={"Authorization": "Bearer nope"}).status_code == 401


def test_objects_have_the_ids_git_gives_them(client: httpx.Client) -> None:
    """Blobs and nested trees have the ids that git itself computes."""
    text = b"hello\n"
    blob = client.post(f"{R}/git/blobs", json={"content": base64.b64encode(text).decode(), "encoding": "base64"}).json()
    assert blob["sha"] == git("hash-object", "--stdin", given=text)
    entries = [{"path": path, "mode": "100644", "type": "blob", "sha": blob["sha"]} for path in ("a/x", "a.txt", "a0")]
    made = client.post(f"{R}/git/trees", json={"tree": entries}).json()
    inner = git("mktree", "--missing", given=f"100644 blob {blob['sha']}\tx\n".encode())
    lines = [f"100644 blob {blob['sha']}\t{name}" for name in ("a.txt", "a0")] + [f"040000 tree {inner}\ta"]
    assert made["sha"] == git("mktree", "--missing", given="\n".join(lines).encode() + b"\n")


def test_refs_only_move_forward(github: FakeGitHub, repository: Repository, client: httpx.Client) -> None:
    """A ref moves to a descendant, to anything when forced, and not at all when it is protected."""
    old = repository.head
    one, other = (repository.add_commit({"readme": text}, [old]) for text in ("one", "other"))
    place = f"{R}/git/refs/heads/main"
    assert client.patch(place, json={"sha": one, "force": False}).status_code == 200
    refused = client.patch(place, json={"sha": other, "force": False})
    assert (refused.status_code, refused.json()["message"]) == (422, "Update is not a fast forward")
    assert client.patch(place, json={"sha": other, "force": True}).status_code == 200
    repository.protect("main")
    assert client.patch(place, json={"sha": old, "force": True}).status_code == 422
    assert client.post(f"{R}/git/refs", json={"ref": "refs/heads/main", "sha": old}).status_code == 422
    assert repository.head == other
