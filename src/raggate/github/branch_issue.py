"""A judged run of the default branch -> the issue that tells people it got worse: opened, rewritten, closed.

Anybody may open an issue that looks like raggate's: one counts only if this token's author opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from raggate.base.jsonio import fields
from raggate.github import marker
from raggate.github.marker import State
from raggate.github.rest.client import encodable
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread, author_of
from raggate.models.publication import Links, Push
from raggate.reports import comment as words

WORSE = frozenset(("regression", "invariant broken"))
"""Verdicts that open an issue. What could not be measured says nothing of the branch: it opens and closes none."""

MOST = 500
"""Issues of the author that are looked at, the newest."""


class BranchRun(Struct, frozen=True, kw_only=True):
    """How a run of a branch was judged, the title of an issue about it, and its text by the first and this push."""

    branch: str
    suite: str
    push: Push
    links: Links
    title: str
    report: Callable[[tuple[Push, ...]], str]

    @property
    def key(self) -> str:
        """What the issue is known by, however long the names are; no `:` is in the name of a branch."""
        return marker.slug(f"{self.branch}:{self.suite}")


class Issue(Struct, frozen=True, kw_only=True):
    """An issue of this token's author, with what its marker remembers. Whoever may edit it can have written that."""

    number: int
    open: bool
    state: State


def tell(repository: Repository, run: BranchRun) -> None:
    """Bring the issue of a branch up to date.

    An issue that a person closed while the branch was worse stays closed until it has passed once.
    """
    if run.push.verdict not in {*WORSE, "pass"}:
        return
    own = list(_own(repository, run.key))
    newest = own[0] if own else None
    last = newest.state.pushes[-1] if newest is not None else None
    if last is not None and last.order >= run.push.order:
        return
    if newest is None or last is None or last.verdict == "pass":
        # an old commit that is run again tells nothing of the branch as it is
        current = run.push.attempt == 1 or repository.head_of(run.branch) == run.push.head
        if run.push.verdict in WORSE and current:
            _open(repository, run)
    elif run.push.verdict in WORSE:
        _change(repository, newest, run, title=encodable(run.title))
    else:
        # two runs at the same time may have opened two; the newest remembers the pass, also if a person closed it
        for issue in own:
            if issue.open or issue is newest:
                _close(repository, issue, run)


def _own(repository: Repository, key: str) -> Iterator[Issue]:
    """Yield the author's issues about a branch and suite, the newest first; pull requests are none."""
    author = author_of(repository.github)
    listed = repository.github.pages(
        f"{repository.path}/issues", state="all", creator=author[0], sort="created", direction="desc"
    )
    for item in islice(listed, MOST):
        user = fields(fields(item).get("user"))
        # who opened it decides whether it is believed, whatever GitHub was asked for
        if (user.get("login"), user.get("type")) == author and "pull_request" not in item:
            issue = _issue(item)
            if issue is not None and issue.state.suite == key and issue.state.pushes:
                yield issue


def _issue(item: Any) -> Issue | None:
    number, body, state = (fields(item).get(name) for name in ("number", "body", "state"))
    remembered = marker.decode(body) if isinstance(body, str) else None
    if type(number) is not int or state not in {"open", "closed"} or remembered is None:
        return None
    return Issue(number=number, open=state == "open", state=remembered)


def _open(repository: Repository, run: BranchRun) -> None:
    content = {"title": encodable(run.title), "body": _body(run, (run.push,))}

    def find_existing() -> Issue | None:
        return next((issue for issue in _own(repository, run.key) if issue.state.pushes == (run.push,)), None)

    repository.github.send("POST", f"{repository.path}/issues", content, find_existing=find_existing)


def _change(repository: Repository, issue: Issue, run: BranchRun, **changes: str) -> None:
    body = _body(run, (issue.state.pushes[0], run.push))
    repository.github.send("PATCH", f"{repository.path}/issues/{issue.number}", {"body": body, **changes})


def _close(repository: Repository, issue: Issue, run: BranchRun) -> None:
    _change(repository, issue, run, state="closed", state_reason="completed")
    if not issue.open:
        return
    thread = Thread(repository, number=issue.number)
    line = marker.alert_line(run.key, run.push.order)

    def find_existing() -> Comment | None:
        return next((comment for comment in thread.own() if marker.first_line(comment.body) == line), None)

    thread.create(f"{line}\n{words.closing(issue.state.pushes[0], run.push, run.links)}", find_existing)


def _body(run: BranchRun, pushes: tuple[Push, ...]) -> str:
    return encodable(marker.encode(State(suite=run.key, pushes=pushes)) + run.report(pushes))
