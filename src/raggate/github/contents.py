"""The trusted inputs of a commit that the local repository does not have: read from GitHub, file by file."""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from raggate.errors import UsageError
from raggate.escape import plain
from raggate.github.client import GitHub
from raggate.github.git_objects import MOST_BLOB_BYTES, Entry, Objects, blob_id, is_id

MOST_FILE_BYTES = 32 << 20
"""The largest file that `Commit.read` gives."""

MOST_FILES = 20_000
MOST_BYTES = 512 << 20
"""Of one directory."""

_MOST_LINK_BYTES = 4096
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_BYTES = 1024
_UNLOOKED = frozenset((".git", ".raggate"))
_FETCH = "Fetch the commit before this step, for example by `fetch-depth: 0` of actions/checkout."


class Commit:
    """The files as they are in a commit of a repository on GitHub: a `raggate.sources.Source`.

    A file that the working tree has with the same content, by the id git gives it, is not downloaded.

    Args:
        github: the API, with a token that may read contents.
        repository: `owner/name`.
        commit: full id of the commit.
        prefix: the directory that paths are relative to: nothing, or a path in the repository that ends in `/`.
        scratch: an empty directory that this may write into.
        root: the same directory in the working tree; None for none.

    Raises:
        UsageError: when `commit` is not a full id.
    """

    def __init__(
        self, github: GitHub, repository: str, commit: str, prefix: str, scratch: Path, root: Path | None = None
    ) -> None:
        if not is_id(commit):
            raise UsageError(f"{plain(commit)!r} is not the full id of a commit", hint=_FETCH)
        self._commit = commit
        self._prefix = prefix
        self._scratch = scratch
        self._root = root
        self._objects = Objects(github, repository)
        self._top: Entry | None = None

    @property
    def commit(self) -> str | None:
        """The full id of the commit."""
        return self._commit

    def describe(self, path: str) -> str:
        """Name a file with the commit; see `Source`."""
        return f"{path}@{self._commit[:12]}"

    def read(self, path: str) -> bytes:
        """Read a file as it was committed; see `Source`.

        Raises:
            FileNotFoundError: when the commit, which could be read, has no file there.
            UsageError: for a link, a file of more than 32 MiB, and one whose content is in Git LFS.
            GitHubError: when GitHub does not give it, also because the token may not read the repository.
        """
        entry = self._find(path)
        if entry is None or entry.kind in {"tree", "module"}:
            raise FileNotFoundError(path)
        if entry.kind == "link":
            raise UsageError(
                f"{plain(self.describe(path))}: a symbolic link, which is not followed", hint="Name the file itself."
            )
        if entry.size > MOST_FILE_BYTES:
            raise UsageError(f"{plain(self.describe(path))}: larger than {MOST_FILE_BYTES} bytes", hint=_FETCH)
        content = self._content(path, entry, MOST_FILE_BYTES)
        self._check_pointer(path, content)
        return content

    def directory(self, path: str) -> Path:
        """Download a directory of the commit; see `Source`.

        Links stay links, as long as they lead to somewhere in the directory.

        Raises:
            UsageError: for more than 20,000 files or 512 MiB, for a link that leads out, for a note whose content is
                in Git LFS, and when the files cannot be written.
            GitHubError: when GitHub does not give a file.
        """
        # a place of its own for each path, as one may lie inside another
        place = self._scratch / hashlib.sha256(path.encode()).hexdigest()[:16]
        inner = posixpath.normpath(path)
        target = place if inner.startswith(("..", "/")) else place / inner
        entry = None if place.exists() else self._find(path)
        if entry is None or entry.kind != "tree":
            return target
        # what was broken off is never taken for complete: it gets its name at the end
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=self._scratch))
        try:
            self._fill(path, unfinished / target.relative_to(place), self._listed(path, entry))
            unfinished.rename(place)
        except OSError as error:
            reason = plain(error.strerror or str(error))
            raise UsageError(f"{plain(self.describe(path))} cannot be written: {reason}") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return target

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Compare the working tree with the commit by the ids of contents; see `Source`.

        What git ignores is not known here, so that files of the working tree that it would not name are named.

        Raises:
            GitHubError: when GitHub does not give a directory's content.
        """
        if self._root is None:
            return ()
        names: set[str] = set()
        for path in paths:
            entry = self._find(path)
            if entry is not None and entry.kind == "tree":
                there = {_joined(path, name): one for name, one in self._objects.walk(entry.id)}
            else:
                there = {} if entry is None else {posixpath.normpath(path): entry}
            here = set(_files(self._root, path))
            files = {name: one for name, one in there.items() if one.kind != "module"}
            names |= here - there.keys()
            names |= {name for name, one in files.items() if not _same(self._root, name, one)}
        return tuple(sorted({name.encode("utf-8", "surrogateescape").decode(errors="replace") for name in names}))

    def _find(self, path: str) -> Entry | None:
        """Walk down to a path. Links on the way are not followed, as git does not follow them."""
        if self._top is None:
            self._top = Entry(kind="tree", id=self._objects.tree_of(self._commit))
        whole = posixpath.normpath(f"{self._prefix}{path}")
        if whole.startswith("/") or whole.split("/")[0] == "..":
            return None
        found = self._top
        for name in () if whole == "." else whole.split("/"):
            inner = self._objects.tree(found.id).get(name) if found.kind == "tree" else None
            if inner is None:
                return None
            found = inner
        return found

    def _listed(self, path: str, tree: Entry) -> Mapping[str, Entry]:
        """List a directory and see that it is not too much before anything of it is downloaded."""
        where, entries, total = plain(self.describe(path)), {}, 0
        for name, entry in self._objects.walk(tree.id):
            entries[name] = entry
            total += entry.size
            if len(entries) > MOST_FILES:
                raise UsageError(f"{where}: more than {MOST_FILES} files", hint=_FETCH)
            if total > MOST_BYTES:
                raise UsageError(f"{where}: more than {MOST_BYTES} bytes in all", hint=_FETCH)
            if entry.size > MOST_BLOB_BYTES:
                raise UsageError(
                    f"{plain(self.describe(_joined(path, name)))}: more than {MOST_BLOB_BYTES} bytes, "
                    "which GitHub's API does not give",
                    hint=_FETCH,
                )
        return entries

    def _fill(self, path: str, target: Path, entries: Mapping[str, Entry]) -> None:
        target.mkdir(parents=True, exist_ok=True)
        links = {name: entry for name, entry in entries.items() if entry.kind == "link"}
        room = MOST_BYTES
        for name, entry in entries.items():
            place = target / name
            if entry.kind == "module":
                place.mkdir(parents=True)
            elif entry.kind == "file":
                content = self._content(_joined(path, name), entry, room)
                room -= len(content)
                if name.endswith(".md"):
                    self._check_pointer(_joined(path, name), content)
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as stream:
                    stream.write(content)
        # links come last, so that nothing is ever written through one
        for name, entry in links.items():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self._leads_to(_joined(path, name), name, entry))

    def _leads_to(self, shown: str, name: str, entry: Entry) -> str:
        leads = os.fsdecode(self._objects.blob(entry, limit=_MOST_LINK_BYTES))
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(name), leads))
        if not leads or "\0" in leads or meant.startswith("/") or meant.split("/")[0] == "..":
            raise UsageError(
                f"{plain(self.describe(shown))}: a symbolic link out of its directory, which is not followed"
            )
        return leads

    def _content(self, path: str, entry: Entry, limit: int) -> bytes:
        local = self._local(path, entry)
        return self._objects.blob(entry, limit=min(limit, MOST_BLOB_BYTES)) if local is None else local

    def _local(self, path: str, entry: Entry) -> bytes | None:
        """Give what the working tree has at a path, if it has exactly what was committed."""
        content = None if self._root is None else _regular(self._root / path, entry.size)
        return content if content is not None and blob_id(content, like=entry.id) == entry.id else None

    def _check_pointer(self, path: str, content: bytes) -> None:
        if content.startswith(_POINTER) and len(content) <= _POINTER_BYTES:
            raise UsageError(
                f"{plain(self.describe(path))}: its content is in Git LFS, and the commit has only a pointer to it",
                hint="Keep raggate's own files and the notes out of Git LFS.",
            )


def _joined(path: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(path, name))


def _regular(place: Path, size: int) -> bytes | None:
    """Read a regular file of exactly this size; None for anything else, without opening it."""
    try:
        found = place.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return None
        with place.open("rb") as stream:
            return stream.read(size)
    except (OSError, ValueError):
        return None


def _same(root: Path, name: str, entry: Entry) -> bool:
    place = root / name
    try:
        if not place.parent.resolve().is_relative_to(root.resolve()):
            return False
        content = os.fsencode(place.readlink()) if entry.kind == "link" else _regular(place, entry.size)
    except (OSError, ValueError):
        return False
    return content is not None and blob_id(content, like=entry.id) == entry.id


def _files(root: Path, path: str) -> Iterator[str]:
    """Name the files at or below a path of the working tree, links among them; at most 20,000."""
    start = root / path
    if not start.resolve().is_relative_to(root.resolve()):
        return
    if not start.is_dir() or start.is_symlink():
        if os.path.lexists(start):
            yield posixpath.normpath(path)
        return
    count = 0
    for folder, subfolders, files in os.walk(start):
        inner = Path(folder).relative_to(start).as_posix()
        links = {name for name in subfolders if Path(folder, name).is_symlink()}
        subfolders[:] = sorted(set(subfolders) - links - _UNLOOKED)
        for name in (*files, *links):
            count += 1
            if count > MOST_FILES:
                return
            yield _joined(path, posixpath.join(inner, name))
