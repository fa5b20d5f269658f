"""The trusted inputs of a commit: files and directories out of its verified objects, wherever these are read."""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import dropwhile
from pathlib import Path

from msgspec import Struct

from raggate.base import files
from raggate.base.errors import UsageError
from raggate.base.files import below
from raggate.base.quote import quoted
from raggate.inputs import git
from raggate.inputs.git import Checkout
from raggate.inputs.git_objects import Entry, Store, find, is_id, object_id

_MOST_LINK_BYTES = 4096
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_BYTES = 1024
_FETCH = "Fetch the commit before this step, for example with `fetch-depth: 0` of actions/checkout."


class Commit(Struct, frozen=True, dict=True):
    """The files as they are in a commit, by path relative to a directory of it.

    Attributes:
        objects: the objects of its repository.
        commit: full id of the commit.
        prefix: the directory that paths are relative to: nothing, or a path in the repository that ends in `/`.
        scratch: an empty directory that this may write into.
        root: the same directory in the working tree; None for none. A file that it has with the same content, by the
            id git gives it, is not read from `objects`.
        checkout: what `root` lies in, where that is known; git then says which files are ignored.
        folder: what errors call the directory that paths are relative to.
    """

    objects: Store
    commit: str
    prefix: str
    scratch: Path
    root: Path | None = None
    checkout: Checkout | None = None
    folder: str = ""

    def __post_init__(self) -> None:
        if not is_id(self.commit):
            raise UsageError(f"{quoted(self.commit)} is not the full id of a commit", hint=_FETCH)

    def identity(self, path: str) -> str | None:
        """Name what stands at a path, file or directory, by its content, as git does; None for nothing."""
        entry = self._find(path)
        return None if entry is None else f"{entry.mode} {entry.id}"

    def names(self, path: str) -> Mapping[str, bool]:
        """Return what stands directly in a directory, by name: whether it is a directory. A link is none."""
        entry = self._find(path)
        if entry is None or entry.kind != "tree":
            return {}
        inner = self.objects.tree(entry.id).items()
        return {name: part.kind == "tree" for name, part in inner if part.kind != "module"}

    def describe(self, path: str) -> str:
        """Name a file for reports, by its path from the configuration."""
        return f"{path}@{self.commit[:12]}"

    def place(self, path: str) -> str:
        """Name a file for errors, by its path from where people are, so that they can open it."""
        return self.describe(below(self.folder, path))

    def read(self, path: str) -> bytes:
        """Read a file as it was committed; a `FileNotFoundError` says that it is not there."""
        entry = self._find(path)
        if entry is None or entry.kind in {"tree", "module"}:
            raise FileNotFoundError(path)
        if entry.kind == "link":
            raise UsageError(
                f"{self.place(path)}: a symbolic link, which raggate does not follow", hint="Name the file itself."
            )
        limit = self.objects.limits.file_bytes
        if entry.size > limit:
            raise UsageError(f"{self.place(path)}: larger than {limit} bytes", hint=_FETCH)
        content = self._content(path, entry, limit)
        self._check_pointer(path, content)
        return content

    def lines(self, path: str) -> Iterator[bytes]:
        return iter(io.BytesIO(self.read(path)))

    def directory(self, path: str) -> Path:
        """Write out a directory byte by byte as it was committed, whatever its attributes say.

        Links stay links, as long as they lead to somewhere in the directory. There is none if the commit has none.
        """
        # a place of its own for each path, as one may lie inside another
        place = self.scratch / hashlib.sha256(path.encode()).hexdigest()[:16]
        inner = posixpath.normpath(path)
        target = place if inner.startswith(("..", "/")) else place / inner
        entry = None if place.exists() else self._find(path)
        if entry is None or entry.kind != "tree":
            return target
        # what was broken off is never taken for complete: it gets its name at the end
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=self.scratch))
        try:
            self._fill(path, unfinished / target.relative_to(place), self._listed(path, entry))
            unfinished.rename(place)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in files.FULL:
                raise
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageError(f"{self.place(path)} cannot be written: {reason}") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return target

    def link_out(self, path: str) -> str | None:
        """Name a link at or below a path that may lead to elsewhere; None for none."""
        entry = self._find(path)
        if entry is None or entry.kind != "tree":
            return path if entry is not None and entry.kind == "link" else None
        links = ((name, inner) for name, inner in self.objects.walk(entry.id) if inner.kind == "link")
        return next((_joined(path, name) for name, inner in links if self._may_leave(name, inner)), None)

    def _leads(self, name: str, link: Entry) -> tuple[str, bool]:
        """Return where a link leads, and whether that is out of its directory by its words."""
        leads = os.fsdecode(self.objects.blob(link, limit=_MOST_LINK_BYTES))
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(name), leads))
        return leads, meant.startswith("/") or meant.split("/")[0] == ".."

    def _may_leave(self, name: str, link: Entry) -> bool:
        leads, leaves = self._leads(name, link)
        # back out of what may be a link itself is no way that words tell
        return leaves or ".." in dropwhile(lambda part: part in {"", ".", ".."}, leads.split("/"))

    def repositories(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Name the folders at or below these paths that are repositories of their own in the working tree."""
        # one path at a time: asked for a path inside such a folder too, git no longer names the folder
        names = {name for path in paths for name in self._on_disk([path])}
        return tuple(sorted(name.rstrip("/") for name in names if name.endswith("/")))

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Name the files at or below these paths that the working tree has otherwise, by the ids of contents.

        Those that git ignores are left out if there is a checkout, but for what git tracks, whatever its patterns say:
        a change can bring a file and a pattern for it.
        """
        if self.root is None:
            return ()
        committed: dict[str, Entry] = {}
        for path in paths:
            entry = self._find(path)
            if entry is not None and entry.kind == "tree":
                committed |= {_joined(path, name): inner for name, inner in self.objects.walk(entry.id)}
            elif entry is not None:
                committed[posixpath.normpath(path)] = entry
        if self.checkout is None:
            names = {name for path in paths if _inside(self.root / path, self.root) for name in _files(self.root, path)}
        else:
            # a repository in the working tree is listed by its folder
            names = {name for name in self._on_disk(paths, tracked=True) if not name.endswith("/")}
        names -= committed.keys()
        files = {name: inner for name, inner in committed.items() if inner.kind != "module"}
        names |= {name for name, inner in files.items() if not _same(self.root, name, inner)}
        return tuple(sorted({name.encode("utf-8", "surrogateescape").decode(errors="replace") for name in names}))

    def _on_disk(self, paths: Sequence[str], *, tracked: bool = False) -> set[str]:
        """Name what git lists at or below paths of the working tree, and with `tracked` what it tracks there too."""
        if self.root is None or self.checkout is None:
            return set()
        top, prefix = self.checkout.top, self.root.relative_to(self.checkout.top).as_posix()
        inside = (path for path in paths if _inside(self.root / path, top))
        inner = [posixpath.normpath(posixpath.join(prefix, path)) for path in inside]
        if not inner:
            # without any path git would list all files
            return set()
        with git.reading(self.checkout, like=self.commit) as reader:
            names = set(reader.listed(*inner))
            if tracked:
                places = ((name, top / name) for name in set(reader.tracked(*inner)) - names)
                names |= {name for name, place in places if place.is_symlink() or place.is_file()}
        return {posixpath.relpath(name, prefix) + ("/" if name.endswith("/") else "") for name in names}

    @cached_property
    def _top(self) -> str:
        return self.objects.tree_of(self.commit)

    def _find(self, path: str) -> Entry | None:
        return find(self.objects, self._top, f"{self.prefix}{path}")

    def _listed(self, path: str, tree: Entry) -> Mapping[str, Entry]:
        """List a directory and see that it is not too much before anything of it is read."""
        where, limits, entries, total = self.place(path), self.objects.limits, dict[str, Entry](), 0
        for name, entry in self.objects.walk(tree.id):
            # git has none of these but the backslash, which is a separator to some
            if {"", ".", ".."} & set(name.split("/")) or "\0" in name or "\\" in name:
                raise UsageError(f"{name}: raggate cannot use this file name of the commit")
            entries[name] = entry
            total += entry.size
            if len(entries) > limits.files:
                raise UsageError(f"{where}: more than {limits.files} files", hint=_FETCH)
            if total > limits.directory_bytes:
                raise UsageError(f"{where}: more than {limits.directory_bytes} bytes in all", hint=_FETCH)
            if entry.size > limits.file_bytes:
                inner = self.place(_joined(path, name))
                raise UsageError(f"{inner}: larger than {limits.file_bytes} bytes", hint=_FETCH)
        return entries

    def _fill(self, path: str, target: Path, entries: Mapping[str, Entry]) -> None:
        target.mkdir(parents=True, exist_ok=True)
        links = {name: entry for name, entry in entries.items() if entry.kind == "link"}
        room = self.objects.limits.directory_bytes
        for name, entry in entries.items():
            place = target / name
            if entry.kind == "module":
                place.mkdir(parents=True)
            elif entry.kind == "file":
                content = self._content(_joined(path, name), entry, min(room, self.objects.limits.file_bytes))
                room -= len(content)
                if name.endswith(".md"):
                    self._check_pointer(_joined(path, name), content)
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as stream:
                    stream.write(content)
                if entry.executable:
                    place.chmod(0o755)
        # links come last, so that nothing is ever written through one
        for name, entry in links.items():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            leads, leaves = self._leads(name, entry)
            if not leads or "\0" in leads or leaves:
                raise self._link_out(_joined(path, name))
            place.symlink_to(leads)
        # two of them may lead out together
        for name in links:
            if not Path(os.path.realpath(target / name)).is_relative_to(os.path.realpath(target)):
                raise self._link_out(_joined(path, name))

    def _link_out(self, path: str) -> UsageError:
        where = self.place(path)
        return UsageError(f"{where}: a symbolic link out of its directory, which raggate does not follow")

    def _content(self, path: str, entry: Entry, limit: int) -> bytes:
        """Return what the working tree has at a path, if it has exactly what was committed; else what was."""
        local = None if self.root is None else _regular(self.root / path, entry.size)
        if local is not None and object_id("blob", local, like=entry.id) == entry.id:
            return local
        return self.objects.blob(entry, limit=limit)

    def _check_pointer(self, path: str, content: bytes) -> None:
        if content.startswith(_POINTER) and len(content) <= _POINTER_BYTES:
            raise UsageError(
                f"{self.place(path)}: its content is in Git LFS, so the commit contains only a pointer",
                hint="Store raggate's files and your notes outside Git LFS.",
            )


def _joined(path: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(path, name))


MOST_FILES = 20_000
"""The most that are looked at where git does not list them."""

_UNLOOKED = frozenset((".git", ".raggate"))


def _inside(place: Path, top: Path) -> bool:
    # not `resolve`, which takes a link to itself for an error
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(top))


def _files(root: Path, path: str) -> Iterator[str]:
    start = root / path
    if not start.is_dir() or start.is_symlink():
        if os.path.lexists(start):
            yield posixpath.normpath(path)
        return
    count = 0
    for folder, subfolders, names in os.walk(start):
        inner = Path(folder).relative_to(start).as_posix()
        links = {name for name in subfolders if Path(folder, name).is_symlink()}
        subfolders[:] = sorted(set(subfolders) - links - _UNLOOKED)
        for name in (*names, *links):
            count += 1
            if count > MOST_FILES:
                return
            yield posixpath.normpath(posixpath.join(path, inner, name))


def _regular(place: Path, size: int | None = None) -> bytes | None:
    """Read a regular file, of exactly this size if one is given; None for anything else, without opening it."""
    try:
        about = place.lstat()
        if not stat.S_ISREG(about.st_mode) or size not in {None, about.st_size}:
            return None
        with place.open("rb") as stream:
            return stream.read(about.st_size)
    except (OSError, ValueError):
        return None


def _same(root: Path, name: str, entry: Entry) -> bool:
    """Return whether the working tree has at a path what a commit has there, line ends of Windows aside."""
    place = root / name
    try:
        # no link leads to the path, which may begin with `..`
        meant = os.path.normpath(os.path.join(os.path.realpath(root), name))  # noqa: PTH118 - the text, unresolved
        if os.path.realpath(place.parent) != str(Path(meant).parent):
            return False
        content = os.fsencode(place.readlink()) if entry.kind == "link" else _regular(place)
    except (OSError, ValueError):
        return False
    if content is None:
        return False
    texts = (content, content.replace(b"\r\n", b"\n"))
    return any(object_id("blob", text, like=entry.id) == entry.id for text in texts)
