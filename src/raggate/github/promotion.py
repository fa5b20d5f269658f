"""New baselines -> the pull request that proposes them.

Two may be proposed at the same time. The branch goes forward only, from the commit it was seen at, so that of two
writers one is refused and told so; and the texts of the pull request are written by whoever's commit is its head.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from raggate.base.errors import CannotTell
from raggate.base.jsonio import fields
from raggate.base.quote import cut, quoted
from raggate.github.rest import commits
from raggate.github.rest.client import address, unexpected
from raggate.github.rest.commits import Committed, Moved
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import find, object_id

_AGAIN = "Start the promotion again, from the branch as it is now."


class ProposedFile(Struct, frozen=True, kw_only=True):
    """A file that is to be another; `present` is its content at the commit that the change was computed against."""

    path: str
    present: bytes | None
    data: bytes


class Change(Struct, frozen=True, kw_only=True):
    """Baselines that are to stand on a branch, all of them in one commit.

    `head` is the commit of the target that it was computed against. Title and further lines are harmless as text;
    `body` gives the Markdown of the pull request for the commit in it.
    """

    branch: str
    target: str
    head: str
    files: tuple[ProposedFile, ...]
    title: str
    message: str
    body: Callable[[Committed], str]


class PullRequestResult(Struct, frozen=True, kw_only=True):
    """What became of a change.

    The state `unchanged` says that the pull request stood there already, `nothing` that the target has these files.
    """

    state: Literal["created", "updated", "unchanged", "nothing"]
    url: str = ""
    commit: Committed | None = None


def branch_of(suites: Sequence[str]) -> str:
    """Name the branch that proposes the baselines of suites. Others of them have another one."""
    if len(suites) > 1:
        names = "\n".join(sorted(suites)).encode()
        return f"raggate/baselines-{len(suites)}-{object_id('blob', names, like='')[:12]}"
    (suite,) = suites
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", suite):
        raise ValueError(f"not the name of a suite: {suite!r}")
    # what git takes for a part of a branch's name: no `..`, no dot and no `.lock` at the end
    slug = re.sub(r"\.(?=\.|$|lock$)", "-", suite)
    # a sum tells names apart that would share a branch
    unique = slug if slug == suite else f"{slug}-{object_id('blob', suite.encode(), like='')[:7]}"
    return f"raggate/baseline-{unique}"


def propose(repository: Repository, change: Change) -> PullRequestResult:
    """Propose baselines by a pull request: a new one, or the one that is open. Moved if another promotion wrote too."""
    head = _verified_head(repository, change)
    if all(file.present == file.data for file in change.files):
        return PullRequestResult(state="nothing")
    opened = _open_pull(repository, change)
    commit = commits.update(
        repository,
        branch=change.branch,
        expected_head=repository.head_of(change.branch),
        onto=head,
        files={file.path: file.data for file in change.files},
        message=f"{change.title}\n\n{change.message}\n",
    )
    body = change.body(commit)
    pull = _rewrite(repository, change, commit, opened["number"], body) if opened else None
    state: Literal["created", "unchanged", "updated"] = "created"
    if opened and pull:
        same = (opened.get("title"), opened.get("body")) == (change.title, body) and not commit.changed
        state = "unchanged" if same else "updated"
    if pull is None:
        path = f"{repository.path}/pulls"
        content = {"title": change.title, "head": change.branch, "base": change.target, "body": body}
        sent = repository.github.send("POST", path, content, find_existing=lambda: _open_pull(repository, change))
        pull = _pull(sent)
    return PullRequestResult(state=state, url=address(pull.get("html_url")), commit=commit)


def _verified_head(repository: Repository, change: Change) -> str:
    """Return the head of the target, whose files have to be the ones that the change was computed against."""
    head = repository.head_of(change.target)
    if head is None:
        raise CannotTell(f"there is no branch {quoted(change.target)} in {cut(repository.name)}")
    objects = Objects(repository)
    for file in change.files:
        entry = find(objects, objects.tree_of(head), file.path)
        expected = None if file.present is None else object_id("blob", file.present, like=head)
        if (None if entry is None else entry.id) != expected:
            raise CannotTell(
                f"the baseline on {cut(change.target)} changed meanwhile: {cut(file.path)} at {head[:12]} "
                f"differs from {change.head[:12]}, where this promotion began. Nothing was written",
                hint=_AGAIN,
            )
    return head


def _rewrite(
    repository: Repository, change: Change, commit: Committed, number: int, body: str
) -> dict[str, Any] | None:
    """Bring title and body of a pull request up to date; None when it is not open any more."""
    path = f"{repository.path}/pulls/{number}"
    standing = _pull(repository.github.get(path))
    if standing.get("state") != "open":
        return None
    head = fields(standing.get("head")).get("sha")
    if head != commit.sha:
        raise Moved(
            change.branch,
            commit.sha,
            head if isinstance(head, str) else None,
            hint=f"Another promotion wrote to this pull request right after, and its baseline is there now. {_AGAIN}",
        )
    return _pull(repository.github.send("PATCH", path, {"title": change.title, "body": body}))


def _open_pull(repository: Repository, change: Change) -> dict[str, Any] | None:
    named = f"{repository.name.partition('/')[0]}:{change.branch}"
    listed = repository.github.pages(f"{repository.path}/pulls", state="open", head=named, base=change.target)
    for pull in map(fields, listed):
        head, base = fields(pull.get("head")), fields(pull.get("base"))
        same = str(fields(head.get("repo")).get("full_name")).lower() == repository.name.lower()
        if same and (head.get("ref"), base.get("ref")) == (change.branch, change.target):
            return _pull(pull)
    return None


def _pull(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or type(answer.get("number")) is not int:
        raise unexpected("a pull request")
    return answer
