"""Files and a branch -> one commit on it through GitHub's git data API, by compare-and-swap. Never by force."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from raggate.base.errors import CannotTell
from raggate.base.jsonio import fields
from raggate.base.quote import cut, quoted
from raggate.github.rest.client import GitHubError
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository, sha_of
from raggate.inputs.git_objects import is_id

_NONE = "no branch"
_REFUSED = (
    "The branch is protected, or a rule of the repository refuses the commit. Let no rule restrict branches named "
    "`raggate/**`."
)


class Committed(Struct, frozen=True, kw_only=True):
    """A commit that stands on a branch. `reason` is why GitHub signed it or not; `changed` whether it was made now."""

    sha: str
    verified: bool
    reason: str
    changed: bool = True


class Moved(CannotTell):
    """A branch is not where it was expected, so nothing was written onto it. None stands for no such branch."""

    def __init__(self, branch: str, expected: str | None, actual: str | None, *, hint: str = "") -> None:
        super().__init__(
            f"the branch {quoted(branch)} moved meanwhile: expected {(expected or _NONE)[:12]}, "
            f"found {(actual or _NONE)[:12]}. Nothing was written",
            hint=hint or "Somebody else wrote at the same time. Look at what was written, then start again.",
        )


def update(
    repository: Repository,
    *,
    branch: str,
    expected_head: str | None,
    files: Mapping[str, bytes],
    onto: str,
    message: str,
) -> Committed:
    """Put several files onto a branch in one commit, if the branch is still where it is expected; else raise Moved.

    No author is named, as GitHub signs only what a bot commits in its own name. A branch that is expected to be None is
    created. The other files are those of the commit `onto`, which becomes a parent too if the branch lacks it. Returns
    the branch's own commit when that has these files already and is not a part of `onto`.
    """
    standing = expected_head or onto
    if not is_id(onto) or not is_id(standing):
        raise ValueError("expected the full id of a commit to start from")
    if (head := repository.head_of(branch)) != expected_head:
        raise Moved(branch, expected_head, head)
    base, github = f"{repository.path}/git", repository.github
    objects = Objects(repository)
    tree = _tree(repository, objects.tree_of(onto), files)
    parents = _parents(repository, standing, onto, tree, objects)
    if not parents:
        return _committed(github.get(f"{base}/commits/{standing}"), changed=False)
    body = {"message": message, "tree": tree, "parents": parents}
    # a second one that nothing points at does no harm
    made = _committed(github.send("POST", f"{base}/commits", body, repeatable=True), changed=True)
    _point(repository, branch, expected_head, made.sha)
    return made


def _parents(repository: Repository, standing: str, start: str, tree: str, objects: Objects) -> list[str]:
    """Return the parents of a commit with a tree on top of a branch, so that it has `start` too; none for no commit."""
    if tree != objects.tree_of(standing):
        newer = start != standing and not repository.contains(start, head=standing)
        return [standing, start] if newer else [standing]
    # what was merged and taken back has to be proposed by a commit that the other branch does not have yet
    merged = start != standing and repository.contains(standing, head=start)
    return [start] if merged and tree != objects.tree_of(start) else []


def _tree(repository: Repository, start: str, files: Mapping[str, bytes]) -> str:
    base, github = f"{repository.path}/git", repository.github
    entries = []
    for path in sorted(files):
        content = {"content": base64.b64encode(files[path]).decode(), "encoding": "base64"}
        # blobs and trees are named by their content: twice is once
        blob = sha_of(github.send("POST", f"{base}/blobs", content, repeatable=True), "a blob")
        entries.append({"path": path, "mode": "100644", "type": "blob", "sha": blob})
    body = {"base_tree": start, "tree": entries}
    return sha_of(github.send("POST", f"{base}/trees", body, repeatable=True), "a tree")


def _point(repository: Repository, branch: str, expected: str | None, sha: str) -> None:
    """Let the branch point at a commit that has its present head as a parent."""
    base, github = f"{repository.path}/git/refs", repository.github

    def done() -> object:
        return True if repository.head_of(branch) == sha else None

    try:
        if expected is None:
            github.send("POST", base, {"ref": f"refs/heads/{branch}", "sha": sha}, find_existing=done)
        else:
            github.send("PATCH", f"{base}/heads/{quote(branch)}", {"sha": sha, "force": False})
    except GitHubError as error:
        if error.status not in {409, 422}:
            raise
        head = repository.head_of(branch)
        if head not in {sha, expected}:
            raise Moved(branch, expected, head) from error
        if head != sha:
            error.hint = _REFUSED
            raise


def _committed(content: Any, *, changed: bool) -> Committed:
    signed = fields(fields(content).get("verification"))
    return Committed(
        sha=sha_of(content, "a commit"),
        verified=signed.get("verified") is True,
        reason=cut(signed.get("reason") or "the server does not say", limit=80),
        changed=changed,
    )
