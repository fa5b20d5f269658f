"""Where the trusted inputs come from: the working tree, or a git revision that the change under test cannot edit."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import posixpath
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from raggate import git
from raggate.errors import UsageError
from raggate.escape import plain

_LINK, _MODULE = "120000", "160000"
_PURPOSE = "--against needs it"


class Source(Protocol):
    """Files by path relative to the configuration's directory."""

    def read(self, path: str) -> bytes:
        """Read a file.

        Raises:
            FileNotFoundError: when it is not there.
        """

    def directory(self, path: str) -> Path:
        """Give a directory on disk with the content of `path`; it may not exist when `path` does not."""

    def describe(self, path: str) -> str:
        """Name a file for messages."""

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Name the files at or below these paths that the working tree has otherwise."""

    @property
    def commit(self) -> str | None:
        """The full id of the commit; None for the working tree."""


Remote = Callable[[str, Path], Source]
"""Opens a commit that is not in the local repository, by full id, with an empty directory it may unpack into."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The files as they are on disk. A `confined` one does not follow links that lead out of its root."""

    root: Path
    confined: bool = False
    commit: None = None

    def read(self, path: str) -> bytes:
        """Read a file; see `Source`."""
        try:
            return self._at(path).read_bytes()
        except (IsADirectoryError, NotADirectoryError) as error:
            raise FileNotFoundError(path) from error

    def directory(self, path: str) -> Path:
        """Give the directory itself; see `Source`."""
        return self._at(path).resolve()

    def _at(self, path: str) -> Path:
        found = self.root / path
        if self.confined and not found.resolve().is_relative_to(self.root.resolve()):
            raise UsageError(f"{plain(path)}: leads out of {self.root.name or 'the repository'}")
        return found

    def describe(self, path: str) -> str:
        """Name a file; see `Source`."""
        return path

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Name nothing: this is the working tree; see `Source`."""
        del paths
        return ()


@dataclass(frozen=True, slots=True)
class Revision:
    """The files as they are in a git commit. Directories are unpacked below `scratch`."""

    root: Path
    commit: str
    prefix: str
    scratch: Path

    def read(self, path: str) -> bytes:
        """Read a file as it was committed; see `Source`."""
        done = _git(self.root, "cat-file", "blob", self._object(path))
        if done.returncode != 0:
            raise FileNotFoundError(path)
        return done.stdout

    def directory(self, path: str) -> Path:
        """Write out a directory byte by byte as it was committed, whatever its attributes say; see `Source`."""
        # a place of its own for each path, as one may lie inside another
        place = self.scratch / hashlib.sha256(path.encode()).hexdigest()[:16]
        inner = posixpath.normpath(path)
        target = place if inner.startswith(("..", "/")) else place / inner
        if not place.exists() and self._is_tree(path):
            # what was broken off is never taken for complete: it gets its name at the end
            unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=self.scratch))
            try:
                _fill(unfinished / target.relative_to(place), self._entries(path))
                unfinished.rename(place)
            except (OSError, ValueError) as error:
                reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
                raise UsageError(f"cannot unpack {path} at {self.commit[:12]}: {plain(reason)}") from None
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return target

    def _entries(self, path: str) -> Mapping[str, tuple[str, bytes]]:
        """Read all that lies below a directory: mode and content by path, in the order of git."""
        listed = _git(self.root, "ls-tree", "-r", "-z", "--full-tree", self._object(path))
        entries = {}
        for line in listed.stdout.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, object_id = about.split(b" ")
            if os.fsdecode(name) in entries:
                raise ValueError(f"{os.fsdecode(name)!r} is there twice")
            entries[os.fsdecode(name)] = (mode.decode(), object_id)
        wanted = b"".join(one + b"\n" for mode, one in entries.values() if mode != _MODULE)
        read = _git(self.root, "cat-file", "--batch", stdin=wanted)
        if listed.returncode != 0 or read.returncode != 0:
            said = git.said(listed if listed.returncode != 0 else read)
            raise UsageError(f"git cannot read {path} at {self.commit[:12]}: {said}")
        stream = io.BytesIO(read.stdout)
        return {name: (mode, b"" if mode == _MODULE else _blob(stream)) for name, (mode, _) in entries.items()}

    def describe(self, path: str) -> str:
        """Name a file with the commit; see `Source`."""
        return f"{path}@{self.commit[:12]}"

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Ask git, which also knows of files that are not tracked; see `Source`."""
        # a rename would be named by its new place only
        options = ("--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--relative")
        changed = git.differences(self.root, *options, self.commit, "--", *paths, purpose=_PURPOSE)
        new = _git(self.root, "ls-files", "-z", "--others", "--exclude-standard", "--", *paths)
        names = (changed.stdout + new.stdout).decode(errors="replace").split("\0")
        return tuple(sorted({name for name in names if name}))

    def _is_tree(self, path: str) -> bool:
        return _git(self.root, "cat-file", "-t", self._object(path)).stdout.strip() == b"tree"

    def _object(self, path: str) -> str:
        whole = posixpath.normpath(f"{self.prefix}{path}")
        # a name that begins with `..` would be one below the current folder again; none begins with a slash
        outside = "/" if whole.split("/")[0] == ".." else ""
        return f"{self.commit}:{outside}{'' if whole == '.' else whole}"


@contextmanager
def at(root: Path, revision: str | None, remote: Remote | None = None) -> Iterator[Source]:
    """Open the working tree below `root`, or a revision of the repository it lies in.

    Args:
        root: directory that paths are relative to.
        revision: anything git can resolve to a commit; None for the working tree.
        remote: opens a full commit id that the local repository does not have.

    Raises:
        UsageError: when `root` is not in a git repository, or the revision is unknown.
    """
    if revision is None:
        yield WorkTree(root)
        return
    _refuse_links(root)
    found = _commit(root, revision, bare=remote is not None)
    if found.returncode != 0 and remote is not None:
        with tempfile.TemporaryDirectory(prefix="raggate-") as scratch:
            yield remote(revision, Path(scratch).resolve())
        return
    if found.returncode != 0:
        cause = git.said(found)
        raise UsageError(
            f"no commit {plain(revision)!r} here{': ' + cause if cause else ''}",
            hint="Fetch it first, for example `git fetch --depth=1 origin main`.",
        )
    prefix = _git(root, "rev-parse", "--show-prefix").stdout.decode(errors="replace").strip()
    with tempfile.TemporaryDirectory(prefix="raggate-") as scratch:
        yield Revision(root=root, commit=found.stdout.decode().strip(), prefix=prefix, scratch=Path(scratch).resolve())


def _refuse_links(root: Path) -> None:
    """Refuse a directory that is reached through a link: the change could lead it to other files of the commit.

    Links above the top of the checkout are the machine's own. Where there is no checkout nothing is refused.
    """
    checkout = next((path for path in (root, *root.parents) if (path / ".git").exists()), None)
    if checkout is None:
        return
    inside = itertools.takewhile(lambda path: path != checkout, (root, *root.parents))
    for path in inside:
        if path.is_symlink():
            raise UsageError(
                f"{plain(path.name)}: is a symbolic link, which the change could point elsewhere",
                hint="Name the configuration by its own path.",
            )


def _commit(root: Path, revision: str, *, bare: bool) -> subprocess.CompletedProcess[bytes]:
    """Resolve a revision. With `bare` a missing git is only one more way not to have the commit."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        return _git(root, *arguments)
    except UsageError:
        if not bare:
            raise
        return subprocess.CompletedProcess(arguments, 1, b"", b"")


def head(root: Path) -> Mapping[str, object]:
    """Describe the checkout: its commit and whether it has uncommitted changes; empty outside git."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    if commit.returncode != 0:
        return {}
    dirty = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit.stdout.decode().strip(), "dirty": bool(dirty.stdout.strip())}


def _blob(stream: io.BytesIO) -> bytes:
    """Take the next object from what `git cat-file --batch` writes."""
    about = stream.readline().split()
    if len(about) != 3 or about[1] != b"blob":
        raise ValueError(f"git does not have {b' '.join(about).decode(errors='replace')}")
    content = stream.read(int(about[2]))
    stream.read(1)
    return content


def _fill(target: Path, entries: Mapping[str, tuple[str, bytes]]) -> None:
    """Write files, directories and links; nothing leads out of the target, and nothing is written through a link."""
    target.mkdir(parents=True, exist_ok=True)
    for name in entries:
        above = [str(path) for path in PurePosixPath(name).parents]
        if {"", ".", ".."} & set(name.split("/")) or any(path in entries for path in above):
            raise ValueError(f"{name!r} may lead out of the directory")
    # links come last
    for name, (mode, content) in sorted(entries.items(), key=lambda one: one[1][0] == _LINK):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == _MODULE:
            place.mkdir()
        elif mode == _LINK:
            place.symlink_to(os.fsdecode(content))
        else:
            with place.open("xb") as stream:
                stream.write(content)
    for name, (mode, content) in entries.items():
        inside = Path(os.path.realpath(target / name)).is_relative_to(os.path.realpath(target))
        if mode == _LINK and (content.startswith(b"/") or not inside):
            raise ValueError(f"{name!r} is a link that leads out of the directory")


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return git.run(root, *arguments, purpose=_PURPOSE, stdin=stdin)
