"""The commit a workflow run measured -> the open pull requests that have it as their head, by what GitHub says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository


class Pull(Struct, frozen=True, kw_only=True):
    """An open pull request as GitHub shows it now.

    Attributes:
        number: of the pull request.
        head_sha: full id of the commit it wants to bring in.
        base_sha: full id of the commit it is compared with.
        base_ref: name of the branch it wants to go into.
        head_repository: `owner/name`; empty when the fork was deleted.
    """

    number: int
    head_sha: str
    base_sha: str
    base_ref: str
    head_repository: str


def find_all(repository: Repository, *, head_sha: str, head_repository: str, head_branch: str) -> tuple[Pull, ...]:
    """Find the open pull requests into a repository whose head is, at this moment, one commit.

    One head can be in several pull requests with different bases: the commit was measured for all of them. A pull
    request that has moved on since, is closed, or comes from another repository is not among them.

    Args:
        repository: where the pull requests go into; the token may read them.
        head_repository: `owner/name` of where the commit was pushed to; empty when that is not known.
        head_branch: the branch it was pushed to; empty when that is not known.

    Returns:
        The pull requests, by number.

    Raises:
        GitHubError: when GitHub refuses, or does not answer in time.
    """
    by_number: dict[int, Pull] = {}
    for item in _listed(repository, head_sha, head_repository, head_branch):
        pull = _pull(item, repository.name)
        if pull is None or item.get("state") != "open" or pull.head_sha != head_sha:
            continue
        # a fork that was deleted since has no name any more; the commit still tells
        if head_repository and pull.head_repository and pull.head_repository.lower() != head_repository.lower():
            continue
        by_number[pull.number] = pull
    return tuple(by_number[number] for number in sorted(by_number))


def find(repository: Repository, number: int) -> Pull | None:
    """Return a pull request as GitHub shows it now; None when it is not open.

    Raises:
        GitHubError: when GitHub refuses, or does not answer in time.
    """
    item = repository.github.get(f"{repository.path}/pulls/{number}")
    pull = _pull(item, repository.name)
    return pull if pull is not None and item.get("state") == "open" and pull.number == number else None


def _listed(repository: Repository, sha: str, head_repository: str, branch: str) -> Iterator[Any]:
    base, github = repository.path, repository.github
    owner = head_repository.partition("/")[0]
    if owner and branch:
        yield from github.pages(f"{base}/pulls", state="open", head=f"{owner}:{branch}")
        return
    try:
        yield from github.pages(f"{base}/commits/{quote(sha, safe='')}/pulls")
    except GitHubError as error:
        # so GitHub says that the repository does not have the commit
        if error.status != 422:
            raise


def _pull(item: Any, repository: str) -> Pull | None:
    try:
        head, base = item["head"], item["base"]
        into, origin = str(base["repo"]["full_name"]), head["repo"]
        pull = Pull(
            number=item["number"],
            head_sha=str(head["sha"]),
            base_sha=str(base["sha"]),
            base_ref=str(base["ref"]),
            head_repository=str(origin["full_name"]) if origin else "",
        )
    except (KeyError, TypeError):
        return None
    return pull if type(pull.number) is int and into.lower() == repository.lower() else None
