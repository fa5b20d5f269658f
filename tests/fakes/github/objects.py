"""File contents -> git's own blobs, trees and commits, with the ids git gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

FILE, EXECUTABLE, SYMLINK, SUBMODULE, TREE = "100644", "100755", "120000", "160000", "040000"
Entry = tuple[str, str]
"""Mode, six digits, and object id."""


@dataclass(frozen=True)
class Commit:
    """A commit; `sha` may be one that a test chose."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    verified: bool = False


@dataclass
class ObjectStore:
    """The objects of a repository and of its forks."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, dict[str, Entry]] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    def add_blob(self, content: bytes) -> str:
        sha = object_id("blob", content)
        self.blobs[sha] = content
        return sha

    def add_tree(self, entries: Mapping[str, Entry]) -> str:
        """Store one directory, in git's order: as if the name of a directory ended in a slash."""
        ordered = sorted(
            entries.items(), key=lambda item: (item[0] + "/" * (item[1][0] == TREE)).encode(errors="surrogateescape")
        )
        content = b"".join(
            f"{mode.removeprefix('0')} {name}\0".encode(errors="surrogateescape") + bytes.fromhex(sha)
            for name, (mode, sha) in ordered
        )
        sha = object_id("tree", content)
        self.trees[sha] = dict(ordered)
        return sha

    def changed_tree(self, base: str | None, changes: Mapping[str, Entry | None]) -> str:
        """Put paths into a tree, or take them out where the entry is None; empty directories go."""
        entries = dict(self.trees[base]) if base else {}
        below: dict[str, dict[str, Entry | None]] = {}
        for path, entry in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            elif entry is None:
                entries.pop(name, None)
            else:
                entries[name] = entry
        for name, inner in below.items():
            old = entries.get(name)
            sha = self.changed_tree(old[1] if old and old[0] == TREE else None, inner)
            if self.trees[sha]:
                entries[name] = (TREE, sha)
            else:
                entries.pop(name, None)
        return self.add_tree(entries)

    def add_commit(
        self,
        tree: str,
        parents: Iterable[str],
        *,
        message: str,
        author: str,
        verified: bool = False,
        sha: str | None = None,
    ) -> Commit:
        """Store a commit under git's id of it, or under the one given."""
        parents = tuple(parents)
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author}", f"committer {author}", "", message]
        sha = sha or object_id("commit", "\n".join(lines).encode())
        commit = Commit(sha, tree, parents, message, verified)
        self.commits[sha] = commit
        return commit

    def entry(self, tree: str, path: str) -> Entry | None:
        """Look a path up; the empty path is the tree itself."""
        found: Entry = (TREE, tree)
        for name in filter(None, path.split("/")):
            if found[0] != TREE or name not in self.trees[found[1]]:
                return None
            found = self.trees[found[1]][name]
        return found

    def walk(self, tree: str, prefix: str = "", *, into: bool = True) -> dict[str, Entry]:
        """List a tree with full paths, directories included; with `into` what is in them too."""
        found = {}
        for name, (mode, sha) in self.trees[tree].items():
            found[prefix + name] = (mode, sha)
            if into and mode == TREE:
                found.update(self.walk(sha, f"{prefix}{name}/"))
        return found

    def history(self, sha: str) -> list[str]:
        """List a commit and its ancestors, nearest first."""
        seen: dict[str, None] = {}
        waiting = [sha]
        while waiting:
            one = waiting.pop(0)
            if one in self.commits and one not in seen:
                seen[one] = None
                waiting += self.commits[one].parents
        return list(seen)

    def merge_base(self, one: str, other: str) -> str | None:
        """Find the nearest common ancestor."""
        known = set(self.history(other))
        return next((sha for sha in self.history(one) if sha in known), None)


def object_id(kind: str, content: bytes) -> str:
    """Compute what `git hash-object` prints."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
