"""A judged run of a branch -> the one issue of its suite: opened when it gets worse, kept up to date, closed by a pass.

The issue itself remembers since when the branch is worse, in the marker lines that comments have too. It is believed
only when this token's own author opened it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from raggate.github import marker
from raggate.github.marker import State
from raggate.github.rest.issues import Issue, Issues
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread
from raggate.models.publication import Links, Push
from raggate.reports import comment as words

WORSE = frozenset(("regression", "invariant broken"))
"""Verdicts that open an issue. What could not be measured says nothing of the branch: it opens and closes none."""


class BranchRun(Struct, frozen=True, kw_only=True):
    """How a run of a branch was judged.

    Attributes:
        branch: the branch; no `:` is in the name of one.
        suite: whose issue it is.
        push: the commit and its verdict.
        links: of the repository.
        report: gives the report of the run as Markdown.
    """

    branch: str
    suite: str
    push: Push
    links: Links
    report: Callable[[], str]

    @property
    def key(self) -> str:
        """What the issue is known by, however long the names are."""
        return marker.slug(f"{self.branch}:{self.suite}")


def tell(repository: Repository, run: BranchRun, *, login: str | None = None) -> str:
    """Bring the issue of a branch up to date. Returns its address; empty where there is none to tell of.

    An issue that a person closed while the branch was worse stays closed until it has passed once.

    Raises:
        GitHubError: when GitHub refuses.
        ValueError: for a push that is none that can be remembered.
    """
    if run.push.verdict not in {*WORSE, "pass"}:
        return ""
    issues = Issues(repository, login=login)
    own = _of_key(issues.own(), run.key)
    newest, state = own[0] if own else (None, None)
    if newest is None or state is None or state.pushes[-1].verdict == "pass":
        begins = run.push.verdict in WORSE and _is_news(repository, run, state)
        return _open(issues, run).url if begins else ""
    if state.pushes[-1].order >= run.push.order:
        return newest.url
    pushes = (state.pushes[0], run.push)
    if run.push.verdict in WORSE:
        issues.rewrite(newest.number, _body(run, pushes))
    else:
        _close(repository, issues, run, own, login)
    return newest.url


def _of_key(issues: list[Issue], key: str) -> list[tuple[Issue, State]]:
    """Return the issues about a branch and suite, the newest first; of others the marker cannot be read."""
    states = [(issue, marker.decode(issue.body)) for issue in issues]
    of_key = [(issue, state) for issue, state in states if state is not None and state.suite == key and state.pushes]
    return sorted(of_key, key=lambda pair: -pair[0].number)


def _is_news(repository: Repository, run: BranchRun, state: State | None) -> bool:
    """Whether a run tells of the branch as it is: not after a newer one, and no old commit that was run again."""
    if state is not None and state.pushes[-1].order > run.push.order:
        return False
    return run.push.attempt == 1 or repository.head_of(run.branch) == run.push.head


def _open(issues: Issues, run: BranchRun) -> Issue:
    body = _body(run, (run.push,))

    def find_existing() -> Issue | None:
        own = _of_key(issues.own(), run.key)
        return next((issue for issue, state in own if state.pushes == (run.push,)), None)

    return issues.create(words.title(run.suite, run.branch), body, find_existing)


def _close(
    repository: Repository, issues: Issues, run: BranchRun, own: list[tuple[Issue, State]], login: str | None
) -> None:
    """Close what is open; two runs at the same time may have opened two. The one that a person closed remembers it."""
    for place, (issue, state) in enumerate(own):
        if not issue.open and place > 0:
            continue
        issues.close(issue.number, _body(run, (state.pushes[0], run.push)))
        if issue.open:
            thread = Thread(repository, number=issue.number, login=login, locked=False)
            line = marker.alert_line(run.key, run.push.order)
            text = words.closing(state.pushes[0], run.push, run.links)
            thread.create(f"{line}\n{text}", partial(_comment_with, thread, line))


def _comment_with(thread: Thread, line: str) -> Comment | None:
    return next((comment for comment in thread.own() if marker.first_line(comment.body) == line), None)


def _body(run: BranchRun, pushes: tuple[Push, ...]) -> str:
    state = State(suite=run.key, pushes=pushes)
    if run.push.verdict == "pass":
        first = words.closing(pushes[0], run.push, run.links) + "\n"
    else:
        first = words.opening(pushes[0], run.push, run.branch, run.links)
    return marker.encode(state) + first + run.report()
