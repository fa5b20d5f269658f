"""Files and a branch -> one commit on it by the contents API of Gitea and Forgejo, which have no API of git's objects.

A file is replaced only where it is still the one that was looked at. Nothing there merges a branch or moves it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from raggate.errors import CannotTell
from raggate.github.rest.failures import GitHubError, unexpected
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import find, object_id
from raggate.text.jsonio import fields
from raggate.text.quote import cut, quoted


def commit(
    repository: Repository, *, branch: str, standing: str | None, files: Mapping[str, bytes], onto: str, message: str
) -> tuple[dict[str, Any], bool]:
    """Put files onto a branch in one commit.

    Args:
        repository: where; the token may write to it.
        branch: its name without `refs/heads/`.
        standing: full id of the commit it is at; None when there is no such branch, which is created at `onto`.
        files: path in the repository -> content.
        onto: full id of a commit that the branch must have.
        message: of the commit.

    Returns:
        What the server says of the commit, and whether it was made now; else the branch had these files already.

    Raises:
        CannotTell: when the branch does not have `onto`, or somebody else wrote onto it at the same time.
        GitHubError: when the server refuses.
    """
    if standing is not None and not repository.contains(onto, head=standing):
        raise CannotTell(
            f"the branch {quoted(branch)} does not have {onto[:12]}, which the API of Gitea and Forgejo cannot merge",
            hint="Delete the branch, which closes its pull request, and start again: it is then begun anew.",
        )
    start = standing or onto
    changes = _changes(repository, start, files)
    if not changes:
        return fields(repository.github.get(f"{repository.path}/git/commits/{start}")), False
    if standing is None:
        _begin(repository, branch, onto)
    try:
        made = _write(repository, branch, start, changes, message)
    except GitHubError:
        if standing is None and repository.head_of(branch) == onto:
            # nothing but this promotion's own beginning
            repository.github.send("DELETE", f"{repository.path}/branches/{quote(branch)}")
        raise
    if [fields(parent).get("sha") for parent in made.get("parents") or ()] != [start]:
        raise CannotTell(
            f"somebody else wrote onto the branch {quoted(branch)} at the same time: the commit "
            f"{cut(made.get('sha'), limit=12)} stands on top of theirs",
            hint="Look at what the branch brings, or delete it; then start again.",
        )
    return made, True


def _changes(repository: Repository, start: str, files: Mapping[str, bytes]) -> list[dict[str, str]]:
    objects = Objects(repository)
    tree, changes = objects.tree_of(start), []
    for path, content in sorted(files.items()):
        entry = find(objects, tree, path)
        if entry is not None and entry.id == object_id("blob", content, like=start):
            continue
        change = {"operation": "create", "path": path, "content": base64.b64encode(content).decode()}
        changes.append(change if entry is None else change | {"operation": "update", "sha": entry.id})
    return changes


def _begin(repository: Repository, branch: str, onto: str) -> None:
    body = {"new_branch_name": branch, "old_ref_name": onto}

    def find_existing() -> object:
        return True if repository.head_of(branch) == onto else None

    repository.github.send("POST", f"{repository.path}/branches", body, find_existing=find_existing)


def _write(
    repository: Repository, branch: str, start: str, changes: list[dict[str, str]], message: str
) -> dict[str, Any]:
    """Write, once, and give the commit as it can be read: what the answer says of it is less."""

    def find_existing() -> dict[str, Any] | None:
        record = _read(repository, repository.head_of(branch) or start)
        own = str(record.get("message")).strip() == message.strip() and record.get("sha") != start
        return {"commit": record} if own else None

    body = {"branch": branch, "message": message, "files": changes}
    answer = repository.github.send("POST", f"{repository.path}/contents", body, find_existing=find_existing)
    sha = fields(fields(answer).get("commit")).get("sha")
    if not isinstance(sha, str):
        raise unexpected("a commit", where=f"POST {repository.path}/contents")
    return _read(repository, sha)


def _read(repository: Repository, sha: str) -> dict[str, Any]:
    return fields(repository.github.get(f"{repository.path}/git/commits/{quote(sha, safe='')}"))
