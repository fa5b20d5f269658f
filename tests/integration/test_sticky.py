"""One comment for each suite of a pull request, whatever else happens in the conversation at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.github_api import (
    BOT,
    COMMIT_THEN_DROP,
    DROP,
    Comment,
    FakeGitHub,
    Fault,
    Pull,
    Repository,
    Request,
    commit_then_status,
    status,
)
from flavours import EITHER
from raggate.github import marker, sticky
from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.sticky import Published, Update
from raggate.models.publication import Push

NAME = "octo/notes"
LIST, GET, POST, PATCH, DELETE = (f"issues/{one}-comment" for one in ("list", "get", "create", "update", "delete"))
LIST += "s"
HEAD, NEXT, LATER = ("1" * 40, "2" * 40, "3" * 40)
WRITES = {"contents": "read", "pull-requests": "write"}


@dataclass
class Stage:
    """A pull request on a fake, and runs that publish to it."""

    fake: FakeGitHub
    repository: Repository
    pull: Pull
    token: str

    def publish(self, push: Push, *, token: str = "", **changes: Any) -> Published:
        """Let one run publish, without waiting."""
        update = replace(update_of(push), **changes)
        token = token or self.token
        with self.fake.client(token) as github:
            return sticky.publish(GitHubRepository(github, NAME), number=7, update=update)

    def push(self, head: str) -> None:
        """Move the pull request on."""
        self.pull.head_sha = head

    def comments(self, line: str = "raggate:comment") -> list[Comment]:
        """List the comments of the workflow with a kind of marker, oldest first."""
        found = self.repository.comments_of(7)
        return [one for one in found if one.login == BOT and one.body.startswith(f"<!-- {line}")]

    def alerts(self) -> list[Comment]:
        return self.comments("raggate:alert")

    def operations(self) -> list[str]:
        """Name what was asked, in order."""
        return [request.operation for request in self.fake.requests]


def update_of(push: Push) -> Update:
    """Describe an update whose text tells the pushes it was rendered for."""
    return Update(
        suite="main",
        push=push,
        render=lambda pushes: "## raggate\n\n" + " → ".join(f"{one.verdict} {one.order}" for one in pushes) + "\n",
        alert=lambda url, passed: f"Lost by {push.order}, which passed at {passed.order}, see {url}",
    )


def passed(run: int, *, head: str = HEAD, attempt: int = 1) -> Push:
    return Push(head=head, verdict="pass", run=run, attempt=attempt)


def failed(run: int, *, head: str = HEAD, attempt: int = 1, verdict: str = "regression") -> Push:
    return Push(head=head, verdict=verdict, run=run, attempt=attempt)


def newest(comment: Comment) -> tuple[int, int]:
    """Return the order of the push a comment is about, which its text has to agree with."""
    state = marker.decode(comment.body)
    assert state is not None
    assert comment.body.rstrip().endswith(f"{state.pushes[-1].verdict} {state.pushes[-1].order}")
    return state.pushes[-1].order


@pytest.fixture
def stage(flavour: str) -> Iterator[Stage]:
    """Yield a pull request; what was sent has to fit GitHub's description."""
    with FakeGitHub(flavour) as fake:
        repository = fake.add_repository(NAME)
        for head in (HEAD, NEXT, LATER):
            repository.add_commit({"a.txt": head}, [repository.head], sha=head)
        pull = repository.add_pull(7, head_sha=HEAD)
        yield Stage(fake, repository, pull, fake.token(WRITES))


@EITHER
def test_one_comment_that_later_pushes_edit(stage: Stage) -> None:
    """The first push writes the comment, the second one changes it in place and knows the first."""
    first = stage.publish(passed(1))
    stage.push(NEXT)
    second = stage.publish(passed(2, head=NEXT))
    (comment,) = stage.comments()
    assert (first.state, second.state) == ("created", "updated")
    assert first.url == second.url == f"{stage.fake.server_url}/{NAME}/pull/7#issuecomment-{comment.id}"
    assert comment.body.endswith("## raggate\n\npass (1, 1) → pass (2, 1)\n")
    assert len(stage.fake.calls(POST)) == 1
    assert second.notes == ()


def test_the_same_again_writes_nothing(stage: Stage) -> None:
    """What stands there already is not written again."""
    stage.publish(passed(1))
    before = stage.operations()
    assert stage.publish(passed(1)).state == "unchanged"
    assert set(stage.operations()[len(before) :]) == {"pulls/get", "graphql", LIST}


def test_what_is_told_already_can_be_left_alone(stage: Stage) -> None:
    """A second stage does not rewrite what the run itself has told, whatever its own verdict is."""
    stage.publish(passed(1))
    before = stage.comments()[0].body
    done = stage.publish(passed(1), again=False, render=lambda pushes: "less\n")
    assert (done.state, stage.comments()[0].body) == ("unchanged", before)
    done = stage.publish(failed(1), again=False, render=lambda pushes: "worse\n")
    assert (done.state, stage.comments()[0].body) == ("unchanged", before)
    assert not stage.alerts()


@pytest.mark.parametrize(
    ("login", "kind", "prefix"),
    [
        ("mona", "User", ""),
        (BOT, "User", ""),
        ("other-app[bot]", "Bot", ""),
        (BOT, "Bot", "> "),
        (BOT, "Bot", "\n"),
        (BOT, "Bot", "See:\n"),
    ],
)
def test_spoofed_markers_are_ignored(stage: Stage, login: str, kind: str, prefix: str) -> None:
    """Neither another author nor another place makes a marker raggate's own; such comments are left as they are."""
    body = prefix + marker.encode(marker.State(suite="main", pushes=(passed(999),))) + "nice try"
    spoof = stage.repository.add_comment(7, login, body, type=kind)
    assert stage.publish(failed(1)).state == "created"
    assert stage.publish(passed(2)).state == "updated"
    assert stage.repository.comments[spoof.id].body == body
    assert len([one for one in stage.comments() if one.id != spoof.id]) == 1


@EITHER
@pytest.mark.parametrize("login", ["mona", "gate-app[bot]"])
def test_each_account_has_comments_of_its_own(stage: Stage, login: str) -> None:
    """With the token of a person or an app, comments of that account are edited, and the workflow's are not."""
    token = stage.fake.token(WRITES, login=login)
    stage.publish(passed(1))
    assert stage.publish(passed(2), token=token).state == "created"
    assert stage.publish(passed(3), token=token).state == "updated"
    assert newest(stage.comments()[0]) == (1, 1)


@pytest.mark.parametrize("fault", [COMMIT_THEN_DROP, commit_then_status(502), DROP, status(502)])
@pytest.mark.parametrize("verdict", ["pass", "regression"])
def test_a_post_whose_end_is_not_known(stage: Stage, fault: Fault, verdict: str) -> None:
    """Whether an unanswered POST was carried out or not, there is exactly one comment in the end."""
    stage.fake.fail_next(POST, fault)
    assert stage.publish(failed(1, verdict=verdict)).state == "created"
    assert [newest(one) for one in stage.comments()] == [(1, 1)]


def race(stage: Stage, match: str, nth: int, act: Callable[[], object]) -> list[str]:
    """Let something happen right before the nth request of a kind, which the list names once it has."""
    waited: list[str] = []
    met: list[str] = []

    def hook(request: Request) -> None:
        waited.append(request.operation)
        if len(waited) == nth:
            met.append(request.operation)
            act()

    stage.fake.before(match, hook, times=nth)
    return met


# every request of a run that tells of a failure: the first of all, or one after a pass
FIRST = ["pulls/get", "graphql", LIST, POST, LIST]
AFTER_A_PASS = ["pulls/get", "graphql", LIST, GET, PATCH, LIST, POST, LIST]
POINTS = [
    (standing, nth, operation)
    for standing, operations in ((False, FIRST), (True, AFTER_A_PASS))
    for nth, operation in enumerate(operations, start=1)
]


@pytest.mark.parametrize(("standing", "nth", "operation"), [one for one in POINTS if one[2] != PATCH])
@pytest.mark.parametrize("verdict", ["pass", "regression"])
@pytest.mark.parametrize("moved", [True, False])
def test_an_older_run_never_wins(
    stage: Stage, standing: bool, nth: int, operation: str, verdict: str, moved: bool
) -> None:
    """Wherever a newer run publishes in between, its text is the one that stays, in the one comment."""
    if standing:
        stage.publish(passed(1))
    newer = failed(9, head=NEXT if moved else HEAD, verdict=verdict)

    def overtake() -> None:
        stage.push(newer.head)
        assert stage.publish(newer).state in {"created", "updated"}

    met = race(stage, "*", nth, overtake)
    assert stage.publish(failed(5)).state == "stale"
    assert met == [operation]
    assert [newest(one) for one in stage.comments()] == [(9, 1)]
    assert_loud_if_lost(stage)


@pytest.mark.parametrize(("standing", "nth", "operation"), POINTS)
@pytest.mark.parametrize("verdict", ["pass", "regression"])
def test_a_newer_run_always_wins(stage: Stage, standing: bool, nth: int, operation: str, verdict: str) -> None:
    """Wherever an older run publishes in between, the newer run's text is the one that stays, in the one comment."""
    if standing:
        stage.publish(passed(1))
    met = race(stage, "*", nth, lambda: stage.publish(failed(5, verdict=verdict)))
    assert stage.publish(failed(9)).state in {"created", "updated"}
    assert met == [operation]
    assert [newest(one) for one in stage.comments()] == [(9, 1)]
    assert_loud_if_lost(stage)


def assert_loud_if_lost(stage: Stage) -> None:
    """Check that one loud comment stands open exactly if the newest push lost a pass."""
    state = marker.decode(stage.comments()[0].body)
    assert state is not None
    *before, last = (push.verdict for push in state.pushes)
    assert [one.minimized for one in stage.alerts()].count(None) == (last != "pass" and "pass" in before)


@pytest.mark.parametrize("orders", [(5, 9), (9, 5)])
@pytest.mark.parametrize("point", [(LIST, 2), (GET, 1), (PATCH, 1), (DELETE, 1), (LIST, 3)], ids=str)
def test_two_comments_become_one(stage: Stage, orders: tuple[int, int], point: tuple[str, int]) -> None:
    """When two runs wrote one comment each, either one, and both at once, leave the oldest with the newer text."""
    for run in orders:
        stage.repository.add_comment(7, BOT, _text(failed(run)))
    oldest = stage.comments()[0].id
    race(stage, *point, lambda: stage.publish(failed(orders[0])))
    stage.publish(failed(orders[1]))
    assert [(one.id, newest(one)) for one in stage.comments()] == [(oldest, (9, 1))]


def _text(push: Push) -> str:
    state = marker.State(suite="main", pushes=(push,))
    return marker.encode(state) + update_of(push).render(state.pushes)


def test_the_last_moment_heals(stage: Stage) -> None:
    """A newer run between an older one's last look and its edit is overwritten, for GitHub has no conditional edit.

    Still there is one comment, and the next push puts it right.
    """
    stage.publish(passed(1))
    race(stage, PATCH, 1, lambda: stage.publish(passed(9)))
    stage.publish(passed(5))
    assert [newest(one) for one in stage.comments()] == [(5, 1)]
    assert stage.publish(passed(10)).state == "updated"
    assert [newest(one) for one in stage.comments()] == [(10, 1)]


def test_a_comment_that_never_rests(stage: Stage) -> None:
    """A comment that changes before every edit ends in an error that names the remedy, not in an endless loop."""
    stage.publish(passed(1))
    comment = stage.comments()[0]

    def edit(_: object) -> None:
        comment.body += "."

    stage.fake.before(GET, edit, times=20)
    with pytest.raises(GitHubError, match="each time raggate is about to write it") as error:
        stage.publish(passed(2))
    assert "concurrency" in error.value.hint


def test_reruns(stage: Stage) -> None:
    """A rerun of the same run is newer; the attempt before it is not, and neither is any run for an older head."""
    stage.publish(failed(5))
    assert stage.publish(passed(5, attempt=2)).state == "updated"
    assert stage.publish(failed(5)).state == "stale"
    stage.push(NEXT)
    assert stage.publish(failed(5, attempt=3)).state == "stale"
    assert newest(stage.comments()[0]) == (5, 2)


def test_only_when_there_is_something_to_tell(stage: Stage) -> None:
    """Where nothing is to be told no comment is begun, but one that is there is kept up to date."""
    assert stage.publish(passed(1), begins=False) == Published(state="not-needed")
    assert not stage.repository.comments
    assert stage.publish(failed(2)).state == "created"
    assert stage.publish(passed(3), begins=False).state == "updated"
    assert newest(stage.comments()[0]) == (3, 1)


def test_suites_side_by_side(stage: Stage) -> None:
    """Every suite has a comment and a loud comment of its own, also when names differ in case only."""
    for suite in ("main", "Main"):
        stage.publish(passed(1), suite=suite)
        stage.publish(failed(2), suite=suite)
    assert len(stage.comments()) == len(stage.alerts()) == 2
    stage.publish(passed(3))
    assert [one.minimized for one in stage.alerts()] == ["resolved", None]


@pytest.mark.parametrize(
    ("change", "state"),
    [({"state": "closed"}, "closed"), ({"state": "closed", "merged": True}, "closed"), ({"head_sha": NEXT}, "stale")],
)
def test_a_pull_request_that_moved_on_is_left_alone(stage: Stage, change: dict[str, Any], state: Any) -> None:
    """Nothing is written once the pull request is closed or merged, or has another head."""
    for name, value in change.items():
        setattr(stage.pull, name, value)
    assert stage.publish(failed(1)) == Published(state=state)
    assert stage.operations() == ["pulls/get"]


@EITHER
def test_a_locked_conversation(stage: Stage) -> None:
    """The error about a locked conversation names the lock."""
    stage.pull.locked = True
    with pytest.raises(GitHubError, match="403") as error:
        stage.publish(failed(1))
    assert "is locked" in error.value.hint


@EITHER
@pytest.mark.parametrize("standing", [True, False])
def test_a_token_that_can_only_read(stage: Stage, standing: bool) -> None:
    """The error names the permission that is missing."""
    if standing:
        stage.publish(passed(1))
    with pytest.raises(GitHubError, match="403") as error:
        stage.publish(failed(2), token=stage.fake.token({"contents": "read", "pull-requests": "read"}))
    assert "`pull-requests: write`" in error.value.hint
    assert len(stage.repository.comments) == (1 if standing else 0)


@pytest.mark.parametrize("verdict", ["regression", "invariant broken", "cannot tell", "usage error", "internal error"])
def test_a_lost_pass_is_told_loudly_once(stage: Stage, verdict: str) -> None:
    """From pass to anything worse there is one new comment, which later failures do not repeat."""
    stage.publish(passed(1))
    assert not stage.alerts()
    told = stage.publish(failed(2, verdict=verdict))
    again = stage.publish(failed(3))
    (alert,) = stage.alerts()
    assert alert.body.endswith(f"Lost by (2, 1), which passed at (1, 1), see {told.url}")
    assert again.state == "updated"


def test_recovery_folds_the_loud_comment_away(stage: Stage) -> None:
    """A pass minimises the loud comment and forgets it; the next loss has a new one."""
    for push in (passed(1), failed(2), failed(3), passed(4), passed(5)):
        stage.publish(push)
    assert [one.minimized for one in stage.alerts()] == ["resolved"]
    assert sum("minimize" in request.body["query"] for request in stage.fake.calls("graphql")) == 1
    stage.publish(failed(6))
    assert [one.minimized for one in stage.alerts()] == ["resolved", None]


def test_the_first_failure_is_not_told_twice(stage: Stage) -> None:
    """The first comment notifies by itself, and so no loud one follows a failure that is the first of all."""
    stage.publish(failed(1))
    stage.publish(failed(2))
    assert not stage.alerts()


def test_a_fold_that_fails_is_said(stage: Stage) -> None:
    """When the loud comment cannot be minimised, everything else is done, and the reason comes along."""
    stage.publish(passed(1))
    stage.publish(failed(2))
    stage.fake.fail_next(
        lambda request: "minimize" in str(request.body),
        status(403, {"message": "Resource not accessible by integration"}),
    )
    told = stage.publish(passed(3))
    assert told.state == "updated"
    assert "was not brought up to date" in told.notes[0]


def test_a_text_that_is_too_long_is_a_bug(stage: Stage) -> None:
    """Marker and text together fit exactly up to GitHub's limit; one unit more is refused before it is sent."""
    lines = len(marker.encode(marker.State(suite="main", pushes=(passed(1),))))
    with pytest.raises(ValueError, match="65537 UTF-16 units"):
        stage.publish(passed(1), render=lambda _: "x" * (65_535 - lines) + "🎯")
    assert POST not in stage.operations()
    assert stage.publish(passed(1), render=lambda _: "x" * (65_534 - lines) + "🎯").state == "created"
    assert lines <= marker.MARKER_UNITS
