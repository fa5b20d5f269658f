"""Commits, trees and blobs of a repository through GitHub's git data API, each blob verified by its id."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from raggate.errors import UsageError
from raggate.escape import plain
from raggate.github.client import GitHub
from raggate.github.failures import GitHubError

MOST_ENTRIES = 50_000
"""Entries of trees, directories among them, that are looked at below one directory."""

MOST_BLOB_BYTES = 100 << 20
"""What the API gives of one blob."""

_KEPT_BYTES = 64 << 20
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KINDS: dict[object, Literal["file", "link", "module", "tree"]] = {
    **dict.fromkeys(("100644", "100664", "100755"), "file"),
    "120000": "link",
    "160000": "module",
    "040000": "tree",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a path of a tree is. `size` in bytes is that of a file or a link; `module` is a submodule."""

    kind: Literal["file", "link", "module", "tree"]
    id: str
    size: int = 0


class Objects:
    """The git objects of one repository, read once each as far as they are small.

    Args:
        github: the API, with a token that may read contents.
        repository: `owner/name`.
    """

    def __init__(self, github: GitHub, repository: str) -> None:
        self._github = github
        self._base = f"/repos/{quote(repository)}/git"
        self._trees: dict[str, dict[str, Entry]] = {}
        self._blobs: dict[str, bytes] = {}
        self._room = _KEPT_BYTES

    def tree_of(self, commit: str) -> str:
        """Give the id of a commit's tree. This is also where a token that may not read the repository is told so.

        Raises:
            GitHubError: when the commit is not there, or the token may not read it.
        """
        found = self._get(f"{self._base}/commits/{commit}")
        tree = found.get("tree")
        if found.get("sha") != commit or not isinstance(tree, dict):
            raise self._strange("a commit")
        return self._id(tree.get("sha"))

    def tree(self, tree_id: str) -> dict[str, Entry]:
        """Give what stands directly in a tree, by name.

        Raises:
            GitHubError: when it cannot be read.
            UsageError: when it is too large for the API, or holds a name that cannot be used.
        """
        if tree_id not in self._trees:
            entries, truncated = self._listed(tree_id, recursive=False)
            if truncated:
                raise UsageError(f"a directory has more than {len(entries)} entries, which GitHub does not list")
            self._trees[tree_id] = entries
        return self._trees[tree_id]

    def walk(self, tree_id: str) -> Iterator[tuple[str, Entry]]:
        """Give everything below a tree but directories, with its path below the tree.

        Raises:
            GitHubError: when a tree cannot be read.
            UsageError: for more than `MOST_ENTRIES` entries, or a name that cannot be used.
        """
        waiting, count = [("", tree_id)], 0
        while waiting:
            prefix, one = waiting.pop()
            entries, truncated = self._listed(one, recursive=True)
            if truncated:
                # too much for one answer: level by level
                entries = self.tree(one)
                waiting += [(f"{prefix}{name}/", entry.id) for name, entry in entries.items() if entry.kind == "tree"]
            count += len(entries)
            if count > MOST_ENTRIES:
                raise UsageError(f"a directory of the commit holds more than {MOST_ENTRIES} files and directories")
            yield from ((prefix + name, entry) for name, entry in entries.items() if entry.kind != "tree")

    def blob(self, entry: Entry, *, limit: int = MOST_BLOB_BYTES) -> bytes:
        """Give the content of a file or a link.

        Raises:
            GitHubError: when it cannot be read, or is not what its id says.
        """
        known = self._blobs.get(entry.id)
        if known is not None:
            return known
        content = self._github.raw(f"{self._base}/blobs/{entry.id}", limit=limit)
        if blob_id(content, like=entry.id) != entry.id:
            raise self._strange(f"the blob {entry.id[:12]}")
        if len(content) <= self._room:
            self._room -= len(content)
            self._blobs[entry.id] = content
        return content

    def _listed(self, tree_id: str, *, recursive: bool) -> tuple[dict[str, Entry], bool]:
        found = self._get(f"{self._base}/trees/{tree_id}", recursive="1" if recursive else None)
        items = found.get("tree")
        if not isinstance(items, list):
            raise self._strange("a tree")
        entries: dict[str, Entry] = {}
        for item in items:
            name, entry = self._entry(item)
            if name in entries or ("/" in name and not recursive):
                raise self._strange("a tree with each name once")
            entries[name] = entry
        return entries, found.get("truncated") is not False

    def _entry(self, item: Any) -> tuple[str, Entry]:
        if not isinstance(item, dict) or not isinstance(item.get("path"), str) or item.get("mode") not in _KINDS:
            raise self._strange("an entry of a tree")
        name, size = item["path"], item.get("size", 0)
        # git has none of these but the backslash, which is a separator to some
        if {"", ".", ".."} & set(name.split("/")) or "\0" in name or "\\" in name:
            raise UsageError(f"{plain(name)}: this name of a file in the commit cannot be used")
        if type(size) is not int or size < 0:
            raise self._strange("the size of a file")
        return name, Entry(kind=_KINDS[item["mode"]], id=self._id(item.get("sha")), size=size)

    def _get(self, path: str, **params: object) -> dict[str, Any]:
        found = self._github.get(path, **params)
        if not isinstance(found, dict):
            raise self._strange("an object")
        return found

    def _id(self, value: object) -> str:
        if not is_id(value):
            raise self._strange("the id of a git object")
        return str(value)

    def _strange(self, expected: str) -> GitHubError:
        return GitHubError(f"GitHub: {plain(self._base)}: expected {expected}; found something else")


def is_id(value: object) -> bool:
    """Tell whether something is the full id of a git object, by SHA-1 or by SHA-256."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def blob_id(content: bytes, *, like: str) -> str:
    """Compute the id git gives a file's content, by the kind of hash that another id of the repository has."""
    data = f"blob {len(content)}\0".encode() + content
    if len(like) == 64:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
