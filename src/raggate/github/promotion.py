"""New baselines -> the pull request that proposes them; or, if you want that, a commit on the branch itself.

Two may be proposed at the same time. The branch goes forward only, from the commit it was seen at, so that of two
writers one is refused and told so; and the texts of the pull request are written by whoever's commit is its head.
Of two promotions the one whose workflow run began later counts, whichever ends first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from raggate.errors import CannotTell
from raggate.github.rest import commits
from raggate.github.rest.client import GitHubError, address, unexpected
from raggate.github.rest.commits import Committed, Moved
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import find, object_id
from raggate.text.jsonio import fields
from raggate.text.quote import cut, quoted

_AGAIN = "Start the promotion again: it is then computed against the present state."
_OVERTAKEN = (
    "Two promotions wrote into this pull request at the same time. Its baseline is that of its last commit, "
    f"whose message says where it comes from. {_AGAIN}"
)
_MARK = "Raggate-Promotion"
_ORDER = re.compile(rf"^{_MARK}: ([1-9][0-9]{{0,18}})\.([1-9][0-9]{{0,8}})$", re.MULTILINE)


class ProposedFile(Struct, frozen=True, kw_only=True):
    """A file that is to be another.

    Attributes:
        path: in the repository.
        present: its content at the commit that the change was computed against; None when it has none.
        data: the new content.
    """

    path: str
    present: bytes | None
    data: bytes


class Change(Struct, frozen=True, kw_only=True):
    """Baselines that are to stand on a branch, all of them in one commit.

    Attributes:
        branch: the branch that the pull request comes from.
        target: the branch the files are for, without `refs/heads/`.
        head: full id of the commit of the target that it was computed against.
        files: at least one, each at a path of its own.
        title: one line, harmless as text; of the pull request and the commit.
        message: further lines of the commit message, harmless as text.
        body: gives the Markdown of the pull request for the commit in it.
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
    """What became of a change.

    Attributes:
        state: `created` or `updated`: the pull request was. `committed`: onto the target itself. `unchanged`: it stood
            there already. `nothing`: the files of the target are these.
        url: address of the pull request; empty when there is none.
        commit: with the files; None when nothing was to be done.
        notes: what a reader should know of how it came about, one sentence each.
    """

    state: Literal["created", "updated", "committed", "unchanged", "nothing"]
    url: str = ""
    commit: Committed | None = None
    notes: tuple[str, ...] = ()


def branch_of(suites: Sequence[str]) -> str:
    """Name the branch that proposes the baselines of suites. Others of them have another one.

    Raises:
        ValueError: for what cannot be the name of a suite.
    """
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


def message(lines: Sequence[str], *, run: int, attempt: int) -> str:
    """Write what a commit says below its title.

    Args:
        run: the workflow run that promotes, by which a newer promotion is told from an older one.
    """
    return "\n".join((*lines, "", f"{_MARK}: {run}.{attempt}"))


def propose(repository: Repository, change: Change) -> PullRequestResult:
    """Propose baselines by a pull request: a new one, or the one that is open already.

    Args:
        repository: where; the token may write contents and pull requests.
        change: the baselines, with a `message`.

    Raises:
        Moved: when another promotion wrote at the same time.
        CannotTell: when the target has another baseline by now, or a newer promotion stands in the pull request.
        GitHubError: when GitHub refuses.
    """
    head, executable, notes = _verified_head(repository, change)
    if all(file.present == file.data for file in change.files):
        return PullRequestResult(state="nothing", notes=notes)
    opened = _open_pull(repository, change)
    standing = repository.head_of(change.branch)
    if standing is not None and opened is not None:
        _refuse_older(change, _message_of(repository, standing))
    commit = commits.update(
        repository,
        branch=change.branch,
        expected_head=standing,
        onto=head,
        files=change.contents,
        message=_commit_message(change),
        executable=executable,
    )
    return _in_pull_request(repository, change, commit, opened, notes)


def commit_directly(repository: Repository, change: Change) -> PullRequestResult:
    """Commit a baseline onto the target itself, if that is still at the commit it was computed against.

    Raises:
        Moved: when the target has another commit by now.
        GitHubError: when GitHub refuses, also because the branch is protected.
    """
    commit = commits.update(
        repository,
        branch=change.target,
        expected_head=change.head,
        onto=change.head,
        files=change.contents,
        message=_commit_message(change),
    )
    return PullRequestResult(state="committed" if commit.changed else "nothing", commit=commit)


def _refuse_older(change: Change, standing: str) -> None:
    newest, own = (_ORDER.search(message) for message in (standing, change.message))
    if newest is None or own is None:
        return
    if (int(newest[1]), int(newest[2])) > (int(own[1]), int(own[2])):
        raise CannotTell(
            f"a newer promotion (workflow run {newest[1]}) is in the pull request of {change.branch}; "
            f"this one (run {own[1]}) does not replace it",
            hint="Start a new promotion if this baseline is the one that is wanted.",
        )


def _commit_message(change: Change) -> str:
    return f"{change.title}\n\n{change.message}\n"


def _verified_head(repository: Repository, change: Change) -> tuple[str, set[str], tuple[str, ...]]:
    """Return the head of the target, and which of the files can be run there.

    They have to be the ones that the change was computed against.
    """
    head = repository.head_of(change.target)
    if head is None:
        raise CannotTell(f"there is no branch {quoted(change.target)} in {cut(repository.name)}")
    objects, executable = Objects(repository), set[str]()
    for file in change.files:
        entry = find(objects, objects.tree_of(head), file.path)
        expected = None if file.present is None else object_id("blob", file.present, like=head)
        if (None if entry is None else entry.id) != expected:
            raise CannotTell(
                f"the baseline on {cut(change.target)} changed meanwhile: {cut(file.path)} at {head[:12]} "
                f"is not what this promotion started from at {change.head[:12]}; nothing was written",
                hint=_AGAIN,
            )
        if entry is not None and entry.executable:
            executable.add(file.path)
    if head == change.head:
        return head, executable, ()
    note = (
        f"{change.target} moved from {change.head[:12]} to {head[:12]} meanwhile, with the same baseline: "
        "the proposal was put on top of it."
    )
    return head, executable, (note,)


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
        existing = _open_pull(repository, change) if error.status in {409, 422} else None
        if existing is None:
            raise
        # somebody else opened it between the look and this request
        pull = _rewrite(repository, change, commit, existing["number"], body)
        if pull is None:
            raise
        return PullRequestResult(state="updated", url=address(pull.get("html_url")), commit=commit, notes=notes)
    return PullRequestResult(state="created", url=address(_pull(pull).get("html_url")), commit=commit, notes=notes)


def _own(pull: dict[str, Any], change: Change, commit: Committed) -> None:
    """Refuse to speak for a commit that is not this change's.

    Raises:
        Moved: naming both.
    """
    commit_id = fields(pull.get("head")).get("sha")
    if pull.get("state") == "open" and commit_id != commit.sha:
        raise Moved(
            change.branch,
            commit.sha,
            commit_id if isinstance(commit_id, str) else None,
            hint=f"Another promotion followed this one at once, and its baseline is in the pull request. {_AGAIN}",
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


def _message_of(repository: Repository, commit: str) -> str:
    content = repository.github.get(f"{repository.path}/git/commits/{quote(commit)}")
    return str(fields(content).get("message") or "")


def _pull(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or type(answer.get("number")) is not int:
        raise unexpected("a pull request")
    return answer
