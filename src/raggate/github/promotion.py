"""A new baseline -> the pull request that proposes it, updated in place; or, where wanted, a commit on the branch.

Two promotions may run at the same time. The branch goes forward only, from the commit it was seen at, so that of two
writers one is refused and told so; and the texts of the pull request are written by whoever's commit is its head.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from raggate.errors import CannotTell
from raggate.github.rest import commits
from raggate.github.rest.commits import Committed, Moved
from raggate.github.rest.exchange import address
from raggate.github.rest.failures import GitHubError, unexpected
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import find, object_id
from raggate.text.jsonio import fields
from raggate.text.quote import cut, quoted

_MARK = "Raggate-Promotion"
_ORDER = re.compile(rf"^{_MARK}: ([1-9][0-9]{{0,18}})\.([1-9][0-9]{{0,8}})$", re.MULTILINE)
_AGAIN = "Start the promotion again: it is then computed against the present state."
_OVERTAKEN = (
    "Two promotions wrote into this pull request at the same time. Its baseline is that of its last commit, whose "
    "message says where it comes from. Start the promotion again for a full description."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A baseline that is to stand on a branch.

    Attributes:
        suite: its suite.
        target: the branch it is for, without `refs/heads/`.
        head: full id of the commit of the target that it was computed against.
        path: of the baseline in the repository.
        present: the baseline of that commit; None when it has none.
        data: the new baseline.
        title: one line, harmless as text; of the pull request and the commit.
        message: further lines of the commit message, harmless as text.
        body: gives the Markdown of the pull request for the commit in it.
        order: workflow run and attempt that promote, by which a newer promotion is told from an older one.
    """

    suite: str
    target: str
    head: str
    path: str
    present: bytes | None
    data: bytes
    title: str
    message: str
    body: Callable[[Committed], str]
    order: tuple[int, int]

    @property
    def branch(self) -> str:
        """The branch that the pull request comes from."""
        return branch_of(self.suite)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestResult:
    """What became of a promotion.

    Attributes:
        state: `created` or `updated`: the pull request was. `committed`: onto the target itself. `unchanged`: it stood
            there already. `nothing`: the baseline of the target is this one.
        url: address of the pull request; empty when there is none.
        commit: with the baseline; None when nothing was to be done.
        notes: what a reader should know of how it came about, one sentence each.
    """

    state: Literal["created", "updated", "committed", "unchanged", "nothing"]
    url: str = ""
    commit: Committed | None = None
    notes: tuple[str, ...] = ()


def branch_of(suite: str) -> str:
    """Name the branch that proposes a suite's baseline. Different suites have different ones.

    Raises:
        ValueError: for what cannot be the name of a suite.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", suite):
        raise ValueError(f"not the name of a suite: {suite!r}")
    # what git takes for a part of a branch's name: no `..`, no dot and no `.lock` at the end
    slug = re.sub(r"\.(?=\.|$|lock$)", "-", suite)
    # a sum tells names apart that would share a branch
    unique = slug if slug == suite else f"{slug}-{object_id('blob', suite.encode(), like='')[:7]}"
    return f"raggate/baseline-{unique}"


def propose(repository: Repository, change: Change) -> PullRequestResult:
    """Propose a baseline by a pull request: a new one, or the one that is open already.

    Args:
        repository: where; the token may write contents and pull requests.
        change: the baseline.

    Raises:
        Moved: when another promotion wrote at the same time.
        CannotTell: when the target has another baseline by now, or a newer promotion stands in the pull request.
        GitHubError: when GitHub refuses.
    """
    head, notes = _verified_head(repository, change)
    if change.present == change.data:
        return PullRequestResult(state="nothing", notes=notes)
    opened = _open_pull(repository, change)
    standing = repository.head_of(change.branch)
    if opened is not None and standing is not None:
        _refuse_older(repository, change, standing)
    commit = _commit(repository, change, branch=change.branch, expected_head=standing, onto=head)
    return _in_pull_request(repository, change, commit, opened, notes)


def commit_directly(repository: Repository, change: Change) -> PullRequestResult:
    """Commit a baseline onto the target itself, if that is still at the commit it was computed against.

    Raises:
        Moved: when the target has another commit by now.
        GitHubError: when GitHub refuses, also because the branch is protected.
    """
    commit = _commit(repository, change, branch=change.target, expected_head=change.head, onto=change.head)
    return PullRequestResult(state="committed" if commit.changed else "nothing", commit=commit)


def _verified_head(repository: Repository, change: Change) -> tuple[str, tuple[str, ...]]:
    """Give the head of the target, on which the baseline has to be the one that was compared with."""
    head = repository.head_of(change.target)
    if head is None:
        raise CannotTell(f"there is no branch {quoted(change.target)} in {cut(repository.name)}")
    objects = Objects(repository)
    entry = find(objects, objects.tree_of(head), change.path)
    expected = None if change.present is None else object_id("blob", change.present, like=head)
    if (None if entry is None else entry.id) != expected:
        raise CannotTell(
            f"the baseline on {cut(change.target)} changed meanwhile: {cut(change.path)} at {head[:12]} is not "
            f"what this promotion was compared with at {change.head[:12]}; nothing was written",
            hint=_AGAIN,
        )
    if head == change.head:
        return head, ()
    return head, (
        f"{change.target} moved from {change.head[:12]} to {head[:12]} meanwhile, with the same baseline: the proposal "
        "was put on top of it.",
    )


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
    _own(_pull(repository.github.get(path)), change, commit)
    pull = _pull(repository.github.send("PATCH", path, {"title": change.title, "body": body}))
    try:
        _own(pull, change, commit)
    except Moved as moved:
        # its text may have been replaced by this one's, which is about another file
        if moved.actual is not None:
            title = _message_of(repository, moved.actual).partition("\n")[0]
            repository.github.send("PATCH", path, {"title": title, "body": _OVERTAKEN})
        raise
    return pull if pull.get("state") == "open" else None


def _create(
    repository: Repository, change: Change, commit: Committed, body: str, notes: tuple[str, ...]
) -> PullRequestResult:
    path = f"{repository.path}/pulls"
    content = {"title": change.title, "head": change.branch, "base": change.target, "body": body}
    try:
        pull = repository.github.send("POST", path, content, find_existing=lambda: _open_pull(repository, change))
    except GitHubError as error:
        existing = _open_pull(repository, change) if error.status == 422 else None
        if existing is None:
            raise
        # another promotion opened it between the look and this request
        pull = _rewrite(repository, change, commit, existing["number"], body)
        if pull is None:
            raise
        return PullRequestResult(state="updated", url=address(pull.get("html_url")), commit=commit, notes=notes)
    return PullRequestResult(state="created", url=address(_pull(pull).get("html_url")), commit=commit, notes=notes)


def _own(pull: dict[str, Any], change: Change, commit: Committed) -> None:
    """Refuse to speak for a commit that is not this promotion's.

    Raises:
        Moved: naming both.
    """
    commit_id = fields(pull.get("head")).get("sha")
    if pull.get("state") == "open" and commit_id != commit.sha:
        raise Moved(
            change.branch,
            commit.sha,
            commit_id if isinstance(commit_id, str) else None,
            hint="Another promotion followed this one at once, and its baseline is in the pull request. " + _AGAIN,
        )


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


def _refuse_older(repository: Repository, change: Change, standing: str) -> None:
    written = _ORDER.search(_message_of(repository, standing))
    if written is not None and (int(written[1]), int(written[2])) > change.order:
        raise CannotTell(
            f"a newer promotion (workflow run {written[1]}) is in the pull request of {change.branch}; "
            f"this one (run {change.order[0]}) does not replace it",
            hint="Start a new promotion if this baseline is the one that is wanted.",
        )


def _message_of(repository: Repository, commit: str) -> str:
    content = repository.github.get(f"{repository.path}/git/commits/{quote(commit)}")
    return str(fields(content).get("message") or "")


def _commit(repository: Repository, change: Change, *, branch: str, expected_head: str | None, onto: str) -> Committed:
    run, attempt = change.order
    message = f"{change.title}\n\n{change.message}\n\n{_MARK}: {run}.{attempt}\n"
    files = {change.path: change.data}
    return commits.update(
        repository, branch=branch, expected_head=expected_head, onto=onto, files=files, message=message
    )


def _pull(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or type(answer.get("number")) is not int:
        raise unexpected("a pull request")
    return answer
