"""Gitea and Forgejo when something goes wrong: lost answers, races, a hostile server; and whose token a job has."""

from __future__ import annotations

import pytest

from fakes.gitea_api import FakeGitea
from raggate.errors import CannotTell
from raggate.github.rest import commits
from raggate.github.rest.failures import GitHubError
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import author_of

FILE = "baselines/small.json"
BRANCH = "raggate/baseline-small"


@pytest.fixture
def forge() -> FakeGitea:
    """Make a repository with a baseline."""
    fake = FakeGitea()
    fake.write(FILE, b"old")
    return fake


def propose(forge: FakeGitea, standing: str | None = None) -> commits.Committed:
    """Put a new baseline onto the branch of a promotion."""
    with forge.client() as client:
        return commits.update(
            Repository(client, "ada/notes"),
            branch=BRANCH,
            expected_head=standing,
            files={FILE: b"new"},
            onto=forge.branches["main"],
            message="Promote\n\nRaggate-Promotion: 5.1\n",
        )


@pytest.mark.parametrize("path", ["/contents", "/branches"])
def test_an_answer_that_is_lost_leaves_one_commit(forge: FakeGitea, path: str) -> None:
    """What was done although the answer said otherwise is seen, and not done again."""
    forge.faults.append(("POST", path, 502, True))
    made = propose(forge)
    assert forge.branches[BRANCH] == made.sha
    assert forge.objects.commits[made.sha].parents == (forge.branches["main"],)
    assert len([1 for method, asked in forge.requests if (method, asked) == ("POST", f"/repos/ada/notes{path}")]) == 1


def test_a_refused_commit_leaves_no_branch(forge: FakeGitea) -> None:
    """A branch that was begun for a commit that is refused is taken away again, and the refusal is told."""
    forge.faults.append(("POST", "/contents", 403, False))
    with pytest.raises(GitHubError, match="The server answers POST /repos/ada/notes/contents with 403") as told:
        propose(forge)
    assert BRANCH not in forge.branches
    assert "Settings, Actions of the repository" in told.value.hint
    assert "permissions:" not in told.value.hint


def test_a_commit_on_top_of_somebody_elses_is_told(forge: FakeGitea) -> None:
    """Those servers write onto whatever the branch is by then: that another commit is below is seen and told."""
    forge.before.append(("POST", "/contents", lambda fake: fake.write("evil.md", b"x", onto=BRANCH)))
    with pytest.raises(CannotTell, match=r"somebody else wrote onto the branch .* on top of theirs"):
        propose(forge)


def test_a_file_that_somebody_else_wrote_is_not_overwritten(forge: FakeGitea, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced only where it is the one that was looked at, and then the branch is theirs."""
    forge.before.append(("POST", "/contents", lambda fake: fake.write(FILE, b"theirs", onto=BRANCH)))
    with pytest.raises(GitHubError, match="sha does not match"):
        propose(forge)
    objects = forge.objects
    entry = objects.entry(objects.commits[forge.branches[BRANCH]].tree, FILE)
    assert entry is not None
    assert objects.blobs[entry[1]] == b"theirs"


def test_a_blob_that_is_another_is_refused(forge: FakeGitea) -> None:
    """A server, or who sits between, cannot change what a commit holds: every blob and tree has to have its id."""
    sha = next(sha for sha, content in forge.objects.blobs.items() if content == b"old")
    forge.objects.blobs[sha] = b"evil"
    with forge.client() as client:
        objects = Objects(Repository(client, "ada/notes"))
        entries = dict(objects.walk(objects.tree_of(forge.branches["main"])))
        with pytest.raises(GitHubError, match="expected the blob"):
            objects.blob(entries[FILE])


def test_a_blob_larger_than_wanted(forge: FakeGitea) -> None:
    """No more is taken than was asked for."""
    with forge.client() as client:
        objects = Objects(Repository(client, "ada/notes"))
        entries = dict(objects.walk(objects.tree_of(forge.branches["main"])))
        with pytest.raises(GitHubError, match="larger than 2 bytes"):
            objects.blob(entries[FILE], limit=2)


@pytest.mark.parametrize(
    ("version", "login"),
    [("1.26.0", "gitea-actions"), ("11.0.3+gitea-1.22.0", "forgejo-actions")],
)
def test_who_writes_with_the_token_of_a_job(forge: FakeGitea, version: str, login: str) -> None:
    """A job's token may not ask who it is; Gitea and Forgejo have one name each, told apart by the version."""
    forge.version = version
    with forge.client("of-a-job") as client:
        assert author_of(client) == (login, "User")
    with forge.client() as client:
        assert author_of(client) == ("ada", "User")
    with forge.client("wrong") as client, pytest.raises(GitHubError, match="401"):
        author_of(client)
