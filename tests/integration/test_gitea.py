"""What raggate asks of Gitea and Forgejo: comments, statuses, objects, promotions. `make gitea` asks a real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fakes.gitea_api import FakeGitea
from raggate.errors import CannotTell, ExitCode
from raggate.github import branch_issue, promotion, sticky
from raggate.github.branch_issue import BranchRun
from raggate.github.promotion import WORDS, branch_of, message as commit_message
from raggate.github.proposal import Change, ProposedFile
from raggate.github.publish import GitHubReporter, Settings, StepOutcome
from raggate.github.rest import gitea, pulls, statuses
from raggate.github.rest.commits import Committed, Moved
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event
from raggate.github.sticky import Published, Update
from raggate.models.publication import Links, Push

BASELINE = "baselines/small.json"
ENDS: tuple[tuple[Any, str], ...] = (("success", "success"), ("failure", "failure"), ("cancelled", "error"))


@pytest.fixture(params=["1.26.0", "10.0.0+gitea-1.22.0"])
def forge(request: pytest.FixtureRequest) -> FakeGitea:
    """Make a repository on either server, with a baseline, a branch and a pull request."""
    fake = FakeGitea(version=str(request.param))
    fake.write(BASELINE, b'{"a": 0}\n')
    fake.write("notes/Käse.md", "ü\n".encode(), new="change")
    fake.call("POST", "/pulls", {"title": "A change", "head": "change", "base": "main", "body": ""})
    return fake


@pytest.fixture
def bob() -> str:
    """Give the token of somebody else."""
    return "of-bob"


@contextmanager
def opened(forge: FakeGitea, token: str = "") -> Iterator[Repository]:
    """Open the repository with raggate's client."""
    with forge.client(token) as client:
        yield Repository(client, f"ada/{forge.name}")


def push(repository: Repository, verdict: str, run: int) -> Push:
    """Describe a push of the pull request."""
    head = repository.head_of("change")
    assert head is not None
    return Push(head=head, verdict=verdict, run=run)


def publish(repository: Repository, verdict: str, run: int) -> Published:
    """Bring the comment of a suite up to date."""
    update = Update(
        suite="small",
        push=push(repository, verdict, run),
        render=lambda pushes: f"## {pushes[-1].verdict} after {len(pushes)}\n",
        alert=lambda url, _: f"A pass was lost, see {url}\n",
    )
    return sticky.publish(repository, number=1, update=update)


def test_branches_commits_and_roles(forge: FakeGitea, bob: str) -> None:
    """Heads, reachability, roles and pull requests are told as GitHub tells them."""
    with opened(forge) as repository:
        main, change = repository.head_of("main"), repository.head_of("change")
        assert main
        assert change
        assert main != change
        assert repository.default_branch() == "main"
        assert repository.head_of("no/such") is None
        assert repository.contains(main, head=change)
        assert repository.contains(main, head=main)
        assert not repository.contains(change, head=main)
        assert not repository.contains("0" * 40, head=main)
        assert repository.may_write("ada")
        assert not repository.may_write("bob")
        assert not repository.may_write("nobody")
        found = pulls.find(repository, 1)
        assert found is not None
        assert (found.head_sha, found.base_sha, found.base_ref) == (change, main, "main")
        named = {"head_repository": repository.name, "head_branch": "change"}
        assert pulls.find_all(repository, head_sha=change, **named) == (found,)


def test_objects_are_what_their_ids_say(forge: FakeGitea, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tree and blob of a commit is read, over several pages too, and has the id that git gives it."""
    files = [{"operation": "create", "path": f"many/{number}.md", "content": "eA=="} for number in range(60)]
    forge.call("POST", "/contents", {"branch": "main", "message": "Many", "files": files})
    monkeypatch.setattr(gitea, "TREE_PAGE", 10)
    with opened(forge) as repository:
        objects = Objects(repository)
        head = repository.head_of("main")
        assert head is not None
        tree = objects.tree_of(head)
        entries = dict(objects.walk(tree))
        assert len([name for name in entries if name.startswith("many/")]) == 60
        assert objects.blob(entries[BASELINE]) == b'{"a": 0}\n'
        change = repository.head_of("change")
        assert change is not None
        (notes,) = [entry for name, entry in objects.walk(objects.tree_of(change)) if name == "notes/Käse.md"]
        assert objects.blob(notes) == "ü\n".encode()


def test_one_comment_that_every_push_rewrites(forge: FakeGitea, bob: str) -> None:
    """A pass, its loss and its return leave one comment; what somebody else wrote under the same mark stays theirs."""
    forged = f"{sticky.marker.comment_line('small')}\nforged"
    forge.call("POST", "/issues/1/comments", {"body": forged}, token=bob)
    with opened(forge) as repository:
        first = publish(repository, "pass", 1)
        assert (first.state, first.notes) == ("created", ())
        assert first.url
        assert first.url.startswith(f"{forge.server.url}/ada/{forge.name}/pulls/1#issuecomment-")
        lost = publish(repository, "regression", 2)
        assert (lost.state, lost.url) == ("updated", first.url)
        assert lost.alert_url
        back = publish(repository, "pass", 3)
        assert (back.state, back.url, back.notes) == ("updated", first.url, ())
        assert publish(repository, "regression", 1).state == "stale"
    texts = [comment["body"] for comment in forge.call("GET", "/issues/1/comments")]
    # the loud comment is deleted, as nothing folds it away there
    assert len(texts) == 2
    assert texts[0] == forged
    assert "pass after 3" in texts[1]


def test_a_status_in_place_of_a_check_run(forge: FakeGitea) -> None:
    """The status is pending first and then as the run ended; the newest of its context is what a rule looks at."""
    with opened(forge) as repository:
        head = repository.head_of("change")
        assert head is not None
        shown: dict[str, str] = {"head": head, "name": "raggate", "details_url": f"{forge.server.url}/x"}
        for begin, state in ((True, "pending"), *ENDS):
            if begin is True:
                statuses.begin(repository, **shown)
            else:
                statuses.complete(repository, conclusion=begin, title="regression " * 40, **shown)
            newest = max(forge.call("GET", f"/commits/{head}/statuses"), key=lambda status: int(status["id"]))
            assert (newest["context"], newest["status"]) == ("raggate", state)
            assert len(newest["description"]) <= statuses.DESCRIPTION_CHARACTERS


def test_a_step_that_was_killed_leaves_no_status_open(forge: FakeGitea) -> None:
    """The step begins the status, and the post step, which knows no more than that, ends it as an error."""
    with opened(forge) as repository:
        head = repository.head_of("change")
        assert head is not None
        event = Event(
            name="pull_request",
            repository=repository.name,
            run_id=7,
            attempt=1,
            server_url=forge.server.url,
            api_url=forge.server.api_url,
            graphql_url="",
            triggering_actor="ada",
            default_branch="main",
            head=head,
            head_ref="change",
            number=1,
            base_ref="main",
            open=True,
        )
        warnings: list[str] = []
        step, post = (GitHubReporter(event, repository, Settings(check_run="raggate"), warnings.append) for _ in "12")
        post.check = step.begin()
        post.complete(StepOutcome(code=int(ExitCode.INTERRUPTED)))
        newest = max(forge.call("GET", f"/commits/{head}/statuses"), key=lambda status: int(status["id"]))
        assert (newest["context"], newest["status"]) == ("raggate", "error")
        assert newest["description"] == "interrupted (base main)"
        assert (post.check, warnings) == (None, [])


def change_of(repository: Repository, data: bytes, present: bytes | None, run: int) -> Change:
    """Describe a promotion at the head of the default branch."""
    head = repository.head_of("main")
    assert head is not None
    return Change(
        words=WORDS,
        branch=branch_of("small"),
        target="main",
        head=head,
        files=(ProposedFile(path=BASELINE, present=present, data=data),),
        title="Promote the baseline of small",
        message=commit_message([f"Reason: run {run}"], run=run, attempt=1),
        body=lambda commit: f"The baseline, by {commit.sha}.",
    )


def test_a_promotion_is_a_pull_request(forge: FakeGitea) -> None:
    """A baseline is proposed, proposed anew in the same pull request, told as unchanged, and brings that file alone."""
    with opened(forge) as repository:
        made = promotion.propose(repository, change_of(repository, b'{"a": 1}\n', b'{"a": 0}\n', 5))
        assert made.state == "created"
        assert made.url == f"{forge.server.url}/ada/{forge.name}/pulls/2"
        again = promotion.propose(repository, change_of(repository, b'{"a": 2}\n', b'{"a": 0}\n', 6))
        assert (again.state, again.url) == ("updated", made.url)
        same = promotion.propose(repository, change_of(repository, b'{"a": 2}\n', b'{"a": 0}\n', 7))
        assert (same.state, same.url) == ("unchanged", made.url)
        assert isinstance(same.commit, Committed)
        assert not same.commit.verified
        with pytest.raises(CannotTell, match="a newer promotion"):
            promotion.propose(repository, change_of(repository, b'{"a": 3}\n', b'{"a": 0}\n', 4))
        pull = forge.call("GET", "/pulls/2")
        assert (pull["head"]["ref"], pull["head"]["sha"]) == ("raggate/baseline-small", same.commit.sha)
        assert pull["body"] == f"The baseline, by {same.commit.sha}."
    assert [file["filename"] for file in forge.call("GET", "/pulls/2/files")] == [BASELINE]


def test_a_promotion_that_was_merged_is_followed_by_another(forge: FakeGitea) -> None:
    """Once the branch is gone the next promotion begins it anew; a branch behind its target is refused in words."""
    with opened(forge) as repository:
        promotion.propose(repository, change_of(repository, b'{"a": 1}\n', b'{"a": 0}\n', 5))
        forge.write("y.md", b"y")
        with pytest.raises(CannotTell, match=r"does not have .* cannot merge") as told:
            promotion.propose(repository, change_of(repository, b'{"a": 2}\n', b'{"a": 0}\n', 6))
        assert "Delete the branch" in told.value.hint
        forge.call("DELETE", "/branches/raggate/baseline-small")
        made = promotion.propose(repository, change_of(repository, b'{"a": 2}\n', b'{"a": 0}\n', 7))
        assert (made.state, made.url) == ("created", f"{forge.server.url}/ada/{forge.name}/pulls/3")
        nothing = promotion.propose(repository, change_of(repository, b'{"a": 0}\n', b'{"a": 0}\n', 8))
        assert nothing.state == "nothing"


def test_a_baseline_that_moved_is_not_overwritten(forge: FakeGitea) -> None:
    """What the target has by now is looked at, and a branch that somebody else wrote onto is left to them."""
    with opened(forge) as repository:
        stale = change_of(repository, b'{"a": 1}\n', b'{"a": 9}\n', 5)
        with pytest.raises(CannotTell, match="changed meanwhile"):
            promotion.propose(repository, stale)
        assert repository.head_of(stale.branch) is None
        head = repository.head_of("main")
        assert head is not None
        with pytest.raises(Moved):
            promotion.commits.update(
                repository, branch="main", expected_head="1" * 40, files={BASELINE: b"x"}, onto=head, message="m"
            )
        assert repository.head_of("main") == head


def test_an_issue_of_the_branch(forge: FakeGitea) -> None:
    """A branch that got worse has one issue, which is rewritten, and closed by a pass."""
    with opened(forge) as repository:

        def tell(verdict: str, run: int) -> str:
            told = BranchRun(
                branch="main",
                suite="small",
                push=push(repository, verdict, run),
                links=Links(server=forge.server.url, repository=repository.name),
                report=lambda: "the report",
            )
            return branch_issue.tell(repository, told)

        address = tell("regression", 1)
        assert address == f"{forge.server.url}/ada/{forge.name}/issues/2"
        assert tell("regression", 2) == address
        assert forge.call("GET", "/issues/2")["state"] == "open"
        assert tell("pass", 3) == address
        assert forge.call("GET", "/issues/2")["state"] == "closed"
        assert len(forge.call("GET", "/issues?state=all&type=issues")) == 1


def test_the_token_of_a_job(forge: FakeGitea) -> None:
    """A job's own token comments, knows its comment again, and sets a status, without being told a login."""
    token, _ = forge.job()
    with opened(forge, token) as repository:
        first = publish(repository, "pass", 1)
        assert first.notes == ()
        assert publish(repository, "regression", 2).url == first.url
        head = repository.head_of("change")
        assert head is not None
        statuses.begin(repository, head=head, name="raggate", details_url="")
    authors = {comment["user"]["login"] for comment in forge.call("GET", "/issues/1/comments")}
    assert authors == {forge.robot}
