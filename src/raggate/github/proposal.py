"""Files with other content -> the pull request that proposes them, updated in place.

Two may be proposed at the same time. The branch goes forward only, from the commit it was seen at, so that of two
writers one is refused and told so; and the texts of the pull request are written by whoever's commit is its head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

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


class Words(Struct, frozen=True, kw_only=True):
    """What messages call things.

    Attributes:
        file: what the file is, such as `baseline`.
        act: what writes it, such as `promotion`.
        again: how to do that over, against the present state; one sentence.
    """

    file: str
    act: str
    again: str


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
    """Files that are to stand on a branch, all of them in one commit.

    Attributes:
        words: what messages call it.
        branch: the branch that the pull request comes from.
        target: the branch the files are for, without `refs/heads/`.
        head: full id of the commit of the target that it was computed against.
        files: at least one, each at a path of its own.
        title: one line, harmless as text; of the pull request and the commit.
        message: further lines of the commit message, harmless as text.
        body: gives the Markdown of the pull request for the commit in it.
    """

    words: Words
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


class Standing(Struct, frozen=True, kw_only=True):
    """What stands on the branch of a change already.

    Attributes:
        message: of its last commit.
        pull: the open pull request from there into the target, as GitHub gives it; None for none.
    """

    message: str
    pull: dict[str, Any] | None


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


def propose(repository: Repository, change: Change, check: Callable[[Standing], None]) -> PullRequestResult:
    """Propose files by a pull request: a new one, or the one that is open already.

    Args:
        repository: where; the token may write contents and pull requests.
        change: the files.
        check: raises where what stands on the branch must not be followed by this.

    Raises:
        Moved: when somebody else wrote at the same time.
        CannotTell: when the target has another of the files by now.
        GitHubError: when GitHub refuses.
    """
    head, executable, notes = _verified_head(repository, change)
    if all(file.present == file.data for file in change.files):
        return PullRequestResult(state="nothing", notes=notes)
    opened = _open_pull(repository, change)
    standing = repository.head_of(change.branch)
    if standing is not None:
        check(Standing(message=_message_of(repository, standing), pull=opened))
    commit = commits.update(
        repository,
        branch=change.branch,
        expected_head=standing,
        onto=head,
        files=change.contents,
        message=commit_message(change),
        executable=executable,
    )
    return _in_pull_request(repository, change, commit, opened, notes)


def commit_message(change: Change) -> str:
    """Write the whole message of the commit of a change."""
    return f"{change.title}\n\n{change.message}\n"


def _verified_head(repository: Repository, change: Change) -> tuple[str, set[str], tuple[str, ...]]:
    """Give the head of the target, and which of the files can be run there.

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
                f"the {change.words.file} on {cut(change.target)} changed meanwhile: {cut(file.path)} at {head[:12]} "
                f"is not what this {change.words.act} started from at {change.head[:12]}; nothing was written",
                hint=change.words.again,
            )
        if entry is not None and entry.executable:
            executable.add(file.path)
    if head == change.head:
        return head, executable, ()
    note = (
        f"{change.target} moved from {change.head[:12]} to {head[:12]} meanwhile, with the same {change.words.file}: "
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
            repository.github.send("PATCH", path, {"title": title, "body": _overtaken(change.words)})
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
            hint=f"Another {change.words.act} followed this one at once, and its {change.words.file} is in the pull "
            f"request. {change.words.again}",
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


def _overtaken(words: Words) -> str:
    return (
        f"Two {words.act}s wrote into this pull request at the same time. Its {words.file} is that of its last commit, "
        f"whose message says where it comes from. {words.again}"
    )


def _message_of(repository: Repository, commit: str) -> str:
    content = repository.github.get(f"{repository.path}/git/commits/{quote(commit)}")
    return str(fields(content).get("message") or "")


def _pull(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or type(answer.get("number")) is not int:
        raise unexpected("a pull request")
    return answer
