"""Files and a branch -> one commit on it through GitHub's git data API, by compare-and-swap. Never by force."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from raggate.errors import CannotTell
from raggate.escape import plain
from raggate.github.client import GitHub
from raggate.github.failures import GitHubError
from raggate.github.git_objects import Entry, Objects, is_id

MOST_FILE_BYTES = 40 << 20
"""GitHub takes no larger blob."""

_PLACE = re.compile(r"[A-Za-z0-9._+@ -]+(/[A-Za-z0-9._+@ -]+)*")
_REFUSED = (
    "The branch is protected, or a rule of the repository refuses the commit. A protected branch changes by pull "
    "requests only: leave `direct-commit` at `false`, and let no rule restrict branches named `raggate/**`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A commit that stands on a branch.

    Attributes:
        sha: its full id.
        verified: whether GitHub signed it and says so.
        reason: why it is verified or not, in GitHub's words, such as `valid` or `unsigned`.
        changed: whether it was made now; else the branch had exactly these files already.
    """

    sha: str
    verified: bool
    reason: str
    changed: bool = True


class Moved(CannotTell):
    """A branch is not where it was expected, so nothing was written onto it.

    Args:
        branch: its name.
        expected: full id of the commit it should have been at; None for no such branch.
        found: full id of the commit it is at; None for no such branch.
        hint: what to do about it.
    """

    def __init__(self, branch: str, expected: str | None, found: str | None, *, hint: str = "") -> None:
        super().__init__(
            f"the branch {plain(branch)!r} moved meanwhile: expected {_named(expected)}, found {_named(found)}; "
            "nothing was written onto it",
            hint=hint or "Somebody else wrote at the same time. Look at what stands there, then start again.",
        )
        self.branch = branch
        self.expected = expected
        self.found = found


def update(
    github: GitHub,
    repository: str,
    *,
    branch: str,
    expected_head: str | None,
    files: Mapping[str, bytes],
    message: str,
    onto: str | None = None,
) -> Committed:
    """Put several files onto a branch in one commit, if the branch is still where it is expected.

    No author is named, as GitHub signs only what a bot commits in its own name.

    Args:
        github: the API, with a token that may write contents.
        repository: `owner/name`.
        branch: its name without `refs/heads/`.
        expected_head: full id of the commit it must be at; None when there must be no such branch, which is created.
        files: path in the repository -> content.
        message: of the commit.
        onto: full id of the commit whose other files the new one has; by default `expected_head`, and needed without
            it. One that the branch does not have yet becomes a second parent, so the branch still only goes forward.

    Returns:
        The commit; what the branch has already when nothing differs.

    Raises:
        Moved: when the branch is, or gets, elsewhere.
        GitHubError: when GitHub refuses, also because the branch is protected or the token may not write.
        ValueError: for no commit to start from, or a path that cannot be written.
    """
    start = _start(onto, expected_head)
    _check(files)
    found = head_of(github, repository, branch)
    if found != expected_head:
        raise Moved(branch, expected_head, found)
    base = f"/repos/{quote(repository)}/git"
    objects = Objects(github, repository)
    tree = _tree(github, base, objects.tree_of(start), files)
    if tree == objects.tree_of(expected_head or start):
        return _committed(github.get(f"{base}/commits/{expected_head or start}"), changed=False)
    parents = [start] if expected_head is None else [expected_head]
    if start not in parents and not contains(github, repository, commit=start, head=parents[0]):
        parents.append(start)
    body = {"message": message, "tree": tree, "parents": parents}
    # a second one that nothing points at does no harm
    made = _committed(github.send("POST", f"{base}/commits", body, repeatable=True), changed=True)
    _point(github, repository, branch, expected_head, made.sha)
    return made


def head_of(github: GitHub, repository: str, branch: str) -> str | None:
    """Give the full id of the commit a branch is at, None when there is no such branch.

    Raises:
        GitHubError: when GitHub refuses.
    """
    try:
        found = github.get(f"/repos/{quote(repository)}/git/ref/heads/{quote(branch)}")
    except GitHubError as error:
        if error.status == 404:
            return None
        raise
    target = found.get("object") if isinstance(found, dict) else None
    return _id(target, "the ref of a branch")


def contains(github: GitHub, repository: str, *, commit: str, head: str) -> bool:
    """Tell whether a commit is another one, or can be reached from it.

    Args:
        github: the API, with a token that may read contents.
        repository: `owner/name`.
        commit: full id of the commit that is looked for.
        head: full id of the commit from which on.

    Raises:
        GitHubError: when GitHub refuses, or answers with something else than a comparison.
    """
    try:
        found = github.get(f"/repos/{quote(repository)}/compare/{quote(commit)}...{quote(head)}", per_page=1)
    except GitHubError as error:
        # so GitHub says that it does not have the commit, or that the two have nothing in common
        if error.status == 404:
            return False
        raise
    status = found.get("status") if isinstance(found, dict) else None
    if status not in {"ahead", "behind", "identical", "diverged"}:
        raise _strange("a comparison of two commits")
    return status in {"ahead", "identical"}


def entry_at(github: GitHub, repository: str, *, commit: str, path: str) -> Entry | None:
    """Give what stands at a path of a commit, None for nothing.

    Raises:
        GitHubError: when the commit cannot be read.
    """
    objects = Objects(github, repository)
    entry: Entry | None = Entry(kind="tree", id=objects.tree_of(commit))
    for name in path.split("/"):
        if entry is None or entry.kind != "tree":
            return None
        entry = objects.tree(entry.id).get(name)
    return entry


def _start(onto: str | None, expected_head: str | None) -> str:
    start = onto or expected_head
    if start is None or not all(is_id(one) for one in (start, expected_head) if one is not None):
        raise ValueError("expected the full id of a commit to start from")
    return start


def _check(files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        parts = path.split("/")
        if not _PLACE.fullmatch(path) or {".", "..", ".git"} & {part.lower() for part in parts}:
            raise ValueError(f"not a path of a file in a repository: {path!r}")
        if len(content) > MOST_FILE_BYTES:
            raise ValueError(f"{path}: larger than {MOST_FILE_BYTES} bytes")


def _tree(github: GitHub, base: str, start: str, files: Mapping[str, bytes]) -> str:
    entries = []
    for path in sorted(files):
        content = {"content": base64.b64encode(files[path]).decode(), "encoding": "base64"}
        # blobs and trees are named by their content: twice is once
        blob = _id(github.send("POST", f"{base}/blobs", content, repeatable=True), "a blob")
        entries.append({"path": path, "mode": "100644", "type": "blob", "sha": blob})
    body = {"base_tree": start, "tree": entries}
    return _id(github.send("POST", f"{base}/trees", body, repeatable=True), "a tree")


def _point(github: GitHub, repository: str, branch: str, expected: str | None, sha: str) -> None:
    """Let the branch point at a commit that has its present head as a parent."""
    base = f"/repos/{quote(repository)}/git/refs"

    def done() -> object:
        return True if head_of(github, repository, branch) == sha else None

    try:
        if expected is None:
            github.send("POST", base, {"ref": f"refs/heads/{branch}", "sha": sha}, already=done)
        else:
            github.send("PATCH", f"{base}/heads/{quote(branch)}", {"sha": sha, "force": False})
    except GitHubError as error:
        if error.status not in {409, 422}:
            raise
        _explain(error, github, repository, branch, expected, sha)


def _explain(error: GitHubError, github: GitHub, repository: str, branch: str, expected: str | None, sha: str) -> None:
    found = head_of(github, repository, branch)
    if found == sha:
        return
    if found != expected:
        raise Moved(branch, expected, found) from error
    raise GitHubError(error.message, status=error.status, hint=_REFUSED) from error


def _committed(found: Any, *, changed: bool) -> Committed:
    signed = found.get("verification") if isinstance(found, dict) else None
    signed = signed if isinstance(signed, dict) else {}
    return Committed(
        sha=_id(found, "a commit"),
        verified=signed.get("verified") is True,
        reason=plain(str(signed.get("reason") or "GitHub does not say"), limit=80),
        changed=changed,
    )


def _id(found: Any, expected: str) -> str:
    value = found.get("sha") if isinstance(found, dict) else None
    if not is_id(value):
        raise _strange(expected)
    return str(value)


def _strange(expected: str) -> GitHubError:
    return GitHubError(f"GitHub: expected {expected}; found something else")


def _named(sha: str | None) -> str:
    return "no such branch" if sha is None else sha[:12]
