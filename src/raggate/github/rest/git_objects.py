"""Commits, trees and blobs of a repository through GitHub's git data API, each tree and blob verified by its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from raggate.base.errors import CannotTell, UsageError
from raggate.base.jsonio import fields
from raggate.base.quote import cut
from raggate.github.rest.client import RAW, GitHub, GitHubError, unexpected
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import Entry, Limits, is_id, is_mode, object_id, tree_content, walk

MOST_ENTRIES = 50_000
"""Entries of trees, directories among them, that are looked at below one directory."""

MOST_BLOB_BYTES = 100 << 20
"""What the API gives of one blob."""

MOST_OF_A_STRANGER = 300
"""Requests for what a stranger commits: a server answers a thousand an hour, to all jobs of a repository together."""

MOST_BYTES_OF_A_STRANGER = 256 << 20
"""Bytes of the files among these."""

_KEPT_BYTES = 64 << 20
_HINT = "Fetch the commit before this step, for example with `fetch-depth: 0` of actions/checkout."


class Objects:
    """The git objects of one repository, read once each as far as they are small.

    Every method raises GitHubError for what is not there, cannot be read, or is not what its id says.
    """

    limits = Limits(files=20_000, directory_bytes=512 << 20, file_bytes=MOST_BLOB_BYTES)

    def __init__(self, repository: Repository) -> None:
        self._github: GitHub | _Rationed = repository.github
        self._path = repository.path
        self._base = f"{repository.path}/git"
        self._commits: dict[str, str] = {}
        self._trees: dict[str, dict[str, Entry]] = {}
        self._blobs: dict[str, bytes] = {}
        self._room = _KEPT_BYTES

    @cached_property
    def rationed(self) -> Objects:
        """The same objects for what a stranger commits: what is known already, and so many further requests and bytes.

        A method raises CannotTell too, once these are used up.
        """
        rationed = copy(self)
        rationed._github = _Rationed(self._github)
        return rationed

    def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree. A token that may not read the repository fails here."""
        if commit not in self._commits:
            content = fields(self._github.get(f"{self._base}/commits/{commit}"))
            tree = content.get("tree")
            if content.get("sha") != commit or not isinstance(tree, dict):
                raise self._strange("a commit")
            self._commits[commit] = self._id(tree.get("sha"))
        return self._commits[commit]

    def merge_base(self, commit: str, other: str) -> str | None:
        """Return the newest commit that two commits come from; None if they have nothing in common."""
        # the first page has the changed files, too
        compared = self._github.find(f"{self._path}/compare/{commit}...{other}", per_page=1, page=2)
        return compared and self._id(fields(fields(compared).get("merge_base_commit")).get("sha"))

    def tree(self, tree_id: str) -> dict[str, Entry]:
        """Return what stands directly in a tree, by name."""
        if tree_id not in self._trees:
            entries, truncated = self._listed(tree_id, recursive=False)
            if truncated:
                raise UsageError(f"a directory has more than {len(entries)} entries, which the API does not list")
            self._verify(tree_id, entries)
            self._trees[tree_id] = entries
        return self._trees[tree_id]

    def walk(self, tree_id: str) -> Iterator[tuple[str, Entry]]:
        """Return everything below a tree but directories, with its path below the tree."""
        return walk(tree_id, self._below, most=MOST_ENTRIES)

    def _below(self, tree_id: str) -> tuple[Mapping[str, Entry], bool]:
        """Everything below a tree and True, or what stands directly in it and False: too much for one answer."""
        entries, truncated = self._listed(tree_id, recursive=True)
        if truncated:
            return self.tree(tree_id), False
        self._verify_all(tree_id, entries)
        return entries, True

    def blob(self, entry: Entry, *, limit: int = MOST_BLOB_BYTES) -> bytes:
        """Return the content of a file or a link."""
        known = self._blobs.get(entry.id)
        if known is not None:
            return known
        content = self._github.download(f"{self._base}/blobs/{entry.id}", limit=min(limit, MOST_BLOB_BYTES), accept=RAW)
        if object_id("blob", content, like=entry.id) != entry.id:
            raise self._strange(f"the blob {entry.id[:12]}")
        if len(content) <= self._room:
            self._room -= len(content)
            self._blobs[entry.id] = content
        return content

    def _listed(self, tree_id: str, *, recursive: bool) -> tuple[dict[str, Entry], bool]:
        where = f"{self._base}/trees/{tree_id}"
        try:
            answer = convert(self._github.get(where, recursive="1" if recursive else None), _Tree)
        except ValidationError:
            raise self._strange("a tree") from None
        entries: dict[str, Entry] = {}
        for item in answer.tree:
            # six digits here, and without the zero in git's own bytes
            mode = item.mode.removeprefix("0")
            if not is_mode(mode) or item.path in entries or ("/" in item.path and not recursive):
                raise self._strange("a tree of files and directories, each name once")
            entries[item.path] = Entry(mode=mode, id=self._id(item.sha), size=item.size)
        return entries, answer.truncated

    def _verify_all(self, tree_id: str, entries: Mapping[str, Entry]) -> None:
        """See that what a recursive answer lists is, level by level, what the ids of the trees say."""
        levels: dict[str, dict[str, Entry]] = {"": {}}
        levels |= {f"{name}/": {} for name, entry in entries.items() if entry.kind == "tree"}
        for name, entry in entries.items():
            above, slash, last = name.rpartition("/")
            if f"{above}{slash}" not in levels:
                raise self._strange("a tree whose directories are listed")
            levels[f"{above}{slash}"][last] = entry
        for level, inner in levels.items():
            self._verify(entries[level[:-1]].id if level else tree_id, inner)

    def _verify(self, tree_id: str, entries: Mapping[str, Entry]) -> None:
        try:
            content = tree_content(entries)
        except UnicodeEncodeError:
            content = b""
        if object_id("tree", content, like=tree_id) != tree_id:
            raise self._strange(f"the tree {tree_id[:12]}", hint=f"File names that are not UTF-8 end here. {_HINT}")

    def _id(self, value: object) -> str:
        if not is_id(value):
            raise self._strange("the id of a git object")
        return str(value)

    def _strange(self, expected: str, *, hint: str = "") -> GitHubError:
        return unexpected(expected, where=cut(self._base), hint=hint)


class _Item(Struct):
    path: str
    mode: str
    sha: str
    size: Annotated[int, Meta(ge=0)] = 0


class _Tree(Struct):
    tree: list[_Item]
    truncated: bool = True


class _Rationed:
    """A server that is asked only so often, and for so many bytes; then CannotTell is raised."""

    def __init__(self, server: GitHub | _Rationed) -> None:
        self._server = server
        self._requests, self._bytes = MOST_OF_A_STRANGER, MOST_BYTES_OF_A_STRANGER

    def get(self, path: str, **params: str | int | None) -> Any:
        self._take(requests=1)
        return self._server.get(path, **params)

    def find(self, path: str, **params: str | int | None) -> Any:
        self._take(requests=1)
        return self._server.find(path, **params)

    def download(self, path: str, *, limit: int, accept: str) -> bytes:
        self._take(requests=1)
        content = self._server.download(path, limit=limit, accept=accept)
        self._take(size=len(content))
        return content

    def _take(self, *, requests: int = 0, size: int = 0) -> None:
        self._requests -= requests
        self._bytes -= size
        if self._requests < 0 or self._bytes < 0:
            raise CannotTell(
                f"reading what is not in the checkout takes more than {MOST_OF_A_STRANGER} requests to GitHub, or more "
                f"than {MOST_BYTES_OF_A_STRANGER >> 20} MiB"
            )
