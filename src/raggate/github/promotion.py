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

    @property
    def contents(self) -> dict[str, bytes]:
        """The new contents, by path; also of a file that stays, which a branch may have otherwise."""
        return {file.path: file.data for file in self.files}


class PullRequestResult(Struct, frozen=True, kw_only=True):
    """What became of a change, and what a reader should know of it, one sentence each.

    The state `unchanged` says that the pull request stood there already, `nothing` that the target has these files.
    """

    state: Literal["created", "updated", "unchanged", "nothing"]
    url: str = ""
    commit: Committed | None = None
    notes: tuple[str, ...] = ()


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
    head, notes = _verified_head(repository, change)
    if all(file.present == file.data for file in change.files):
        return PullRequestResult(state="nothing", notes=notes)
    opened = _open_pull(repository, change)
    standing = repository.head_of(change.branch)
    commit = commits.update(
        repository,
        branch=change.branch,
        expected_head=standing,
        onto=head,
        files=change.contents,
        message=f"{change.title}\n\n{change.message}\n",
    )
    return _in_pull_request(repository, change, commit, opened, notes)


def _verified_head(repository: Repository, change: Change) -> tuple[str, tuple[str, ...]]:
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
    if head == change.head:
        return head, ()
    note = (
        f"{change.target} moved from {change.head[:12]} to {head[:12]} meanwhile, and has the same baseline. "
        "The proposal is based on the new commit."
    )
    return head, (note,)


def _in_pull_request(
    repository: Repository,
    change: Change,
    commit: Committed,
    opened: dict[str, Any] | None,
    notes: tuple[str, ...],
) -> PullRequestResult:
    body = change.body(commit)
    if opened is not None:
        pull = _rewrite(repository, change, commit, opened["number"], body)
        if pull is not None:
            same = (opened.get("title"), opened.get("body")) == (change.title, body) and not commit.changed
            state: Literal["unchanged", "updated"] = "unchanged" if same else "updated"
            return PullRequestResult(state=state, url=address(pull.get("html_url")), commit=commit, notes=notes)
        notes = (*notes, f"Pull request {opened['number']} was closed meanwhile, so there is a new one.")
    return _create(repository, change, commit, body, notes)


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


def _create(
    repository: Repository, change: Change, commit: Committed, body: str, notes: tuple[str, ...]
) -> PullRequestResult:
    path = f"{repository.path}/pulls"
    content = {"title": change.title, "head": change.branch, "base": change.target, "body": body}
    pull = repository.github.send("POST", path, content, find_existing=lambda: _open_pull(repository, change))
    return PullRequestResult(state="created", url=address(_pull(pull).get("html_url")), commit=commit, notes=notes)


def _open_pull(repository: Repository, change: Change) -> dict[str, Any] | None:
    owner = repository.name.partition("/")[0]
    pulls = repository.github.pages(
        f"{repository.path}/pulls", state="open", head=f"{owner}:{change.branch}", base=change.target
    )
    return next((pull for pull in map(fields, pulls) if _from_here(pull, repository, change)), None)


def _from_here(pull: dict[str, Any], repository: Repository, change: Change) -> bool:
    head, base = fields(pull.get("head")), fields(pull.get("base"))
    same = str(fields(head.get("repo")).get("full_name")).lower() == repository.name.lower()
    expected = (change.branch, change.target)
    return same and (head.get("ref"), base.get("ref")) == expected and type(pull.get("number")) is int


def _pull(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or type(answer.get("number")) is not int:
        raise unexpected("a pull request")
    return answer
