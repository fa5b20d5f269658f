"""git's objects as nouns: ids computed from contents, and trees read from and written to git's own bytes."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.quote import cut

Kind = Literal["file", "link", "module", "tree"]

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_LEVELS = 200
"""How deep folders may lie inside one another where files are looked for."""

MOST_PATH_CHARACTERS = 128 << 20
"""Characters of all paths below one directory together, those of its folders too."""

LINK = "120000"
"""The mode that git gives a symbolic link."""

_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("100644", "100664", "100755"), "file"),
    LINK: "link",
    "160000": "module",
    "40000": "tree",
}


class Entry(Struct, frozen=True, kw_only=True):
    """What a path of a tree is: its mode, such as `100644`, the id of the object, and its bytes if these are known."""

    mode: str
    id: str
    size: int = 0

    @property
    def kind(self) -> Kind:
        """The kind of the object. A `module` is a submodule."""
        return _KINDS[self.mode]

    @property
    def executable(self) -> bool:
        """Whether it is a file that can be run."""
        return self.mode == "100755"


class Limits(Struct, frozen=True, kw_only=True):
    """How much is read: files and bytes of one directory, and bytes of one file."""

    files: int
    directory_bytes: int
    file_bytes: int


class Store(Protocol):
    """Objects of a repository. Every blob and tree that comes out of it has the content that its id says."""

    @property
    def limits(self) -> Limits:
        """Return how much may be read from here."""

    def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree."""

    def merge_base(self, commit: str, other: str) -> str | None:
        """Return the newest commit that two commits come from; None if that is not known here."""

    def tree(self, tree_id: str) -> Mapping[str, Entry]:
        """Return what stands directly in a tree, by name."""

    def walk(self, tree_id: str) -> Iterator[tuple[str, Entry]]:
        """Return everything below a tree but directories, with its path below the tree."""

    def blob(self, entry: Entry, *, limit: int) -> bytes:
        """Return the content of a file or a link of at most `limit` bytes."""


def find(objects: Store, tree_id: str, path: str) -> Entry | None:
    """Walk from a tree down to a path; None where there is nothing. Links on the way are not followed."""
    whole = posixpath.normpath(path)
    if whole.startswith("/") or whole.split("/")[0] == "..":
        return None
    entry = Entry(mode="40000", id=tree_id)
    for name in () if whole == "." else whole.split("/"):
        inner = objects.tree(entry.id).get(name) if entry.kind == "tree" else None
        if inner is None:
            return None
        entry = inner
    return entry


def walk(
    tree_id: str, listed: Callable[[str], tuple[Mapping[str, Entry], bool]], *, most: int
) -> Iterator[tuple[str, Entry]]:
    """Everything below a tree but directories, with its path below the tree.

    Only the paths of the folders that lead to an entry are in memory with it.

    Args:
        listed: gives what stands directly in a tree and False, or everything below it and True.
        most: the entries that are looked at, directories among them.
    """

    def level(prefix: str, tree: str) -> tuple[str, Iterator[tuple[str, Entry]], bool]:
        entries, whole = listed(tree)
        return prefix, iter(entries.items()), whole

    levels, count, room = [level("", tree_id)], 0, MOST_PATH_CHARACTERS
    while levels:
        prefix, entries, whole = levels[-1]
        for name, entry in entries:
            path, is_tree = prefix + name, entry.kind == "tree"
            count += 1
            room -= len(path)
            if count > most:
                raise UsageError(f"a directory of the commit contains more than {most} files and directories")
            if room < 0:
                raise UsageError(f"the paths of a directory have more than {MOST_PATH_CHARACTERS} characters in all")
            if path.count("/") + is_tree > MOST_LEVELS:
                raise UsageError(f"{cut(path)}: folders lie more than {MOST_LEVELS} deep inside one another")
            if not is_tree:
                yield path, entry
            elif not whole:
                levels.append(level(f"{path}/", entry.id))
                break
        else:
            levels.pop()


def is_id(value: object) -> bool:
    """Return whether something is the full id of a git object, by SHA-1 or by SHA-256."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_mode(value: str) -> bool:
    """Return whether git gives an entry of a tree this mode."""
    return value in _KINDS


def object_id(kind: Literal["blob", "tree", "commit"], content: bytes, *, like: str) -> str:
    """Compute the id git gives an object, by the kind of hash that another id of the repository has."""
    data = f"{kind} {len(content)}\0".encode() + content
    if len(like) == 64:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def tree_content(entries: Mapping[str, Entry]) -> bytes:
    """Write a tree as git does: sorted as if the name of a directory ended in a slash."""
    named = {name.encode("utf-8", "surrogateescape"): entry for name, entry in entries.items()}
    ordered = sorted(named, key=lambda name: name + b"/" if named[name].kind == "tree" else name)
    return b"".join(b"%s %s\0%s" % (named[name].mode.encode(), name, bytes.fromhex(named[name].id)) for name in ordered)


def parse_tree(content: bytes, *, like: str) -> dict[str, Entry]:
    """Read a tree from git's bytes. Names that are not UTF-8 have surrogates for their strange bytes."""
    width, entries, start = len(like) // 2, dict[str, Entry](), 0
    while start < len(content):
        space, end = content.index(b" ", start), content.index(b"\0", start)
        mode, name = content[start:space].decode("ascii"), content[space + 1 : end]
        start = end + 1 + width
        text = name.decode("utf-8", "surrogateescape")
        if space > end or start > len(content) or mode not in _KINDS or text in entries:
            raise ValueError("not a tree with each name once")
        entries[text] = Entry(mode=mode, id=content[end + 1 : start].hex())
    return entries
