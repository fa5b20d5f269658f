"""Where the trusted inputs come from: the working tree, or a git revision that the change under test cannot edit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.files import MOST_LINE_BYTES, UNREACHABLE, below, content, opened, scratch_directory
from raggate.base.quote import cut, quoted
from raggate.inputs import git
from raggate.inputs.committed import Commit
from raggate.inputs.git import LocalObjects, Missing
from raggate.inputs.git_objects import Store, is_id

if TYPE_CHECKING:
    from raggate.models.provenance import Checkout

_NO_REPOSITORY = "Run raggate in a clone with these files committed, or leave out --against to read them as they are."
_FETCH = "Fetch it first, for example `git fetch --depth=1 origin main`."


class Remote(Struct, frozen=True, kw_only=True):
    """Where a job of a server has its commits: in the checkouts of its workspace, and what these lack in `objects`."""

    workspace: Path
    objects: Store | None = None


class WorkTree(Struct, frozen=True):
    """The files as they are on disk; see `Commit`, whose questions about a commit have no answer here.

    A `confined` one names files as a commit of it would: through no link. `folder` is what errors call the directory.
    """

    root: Path
    confined: bool = False
    commit: None = None
    prefix: str = ""
    folder: str = ""

    def read(self, path: str) -> bytes:
        with self._opened(path) as stream:
            return content(stream, self.place(path))

    def lines(self, path: str) -> Iterator[bytes]:
        with self._opened(path) as stream:
            # a line that is longer than any file has comes in pieces, and its reader refuses the first
            yield from iter(partial(stream.readline, MOST_LINE_BYTES), b"")

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        try:
            with opened(self._at(path), name=Path(self.place(path))) as stream:
                yield stream
        except (IsADirectoryError, NotADirectoryError) as error:
            raise FileNotFoundError(path) from error

    def directory(self, path: str) -> Path:
        return self._at(path).resolve()

    def names(self, path: str) -> Mapping[str, bool]:
        try:
            with os.scandir(self._at(path)) as entries:
                return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def identity(self, path: str) -> None:
        del path

    def link_out(self, path: str) -> None:
        del path

    def repositories(self, paths: Sequence[str]) -> tuple[str, ...]:
        del paths
        return ()

    def differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        del paths
        return ()

    def describe(self, path: str) -> str:
        return path

    def place(self, path: str) -> str:
        return below(self.folder, path)

    def _at(self, path: str) -> Path:
        target = self.root / path
        try:
            target.stat()
        except OSError as error:
            if error.errno in UNREACHABLE:
                raise UsageError(f"{self.place(path)}: {error.strerror}") from None
        if self.confined and not target.resolve().is_relative_to(self.root.resolve()):
            raise UsageError(f"{self.place(path)}: leads out of {self.root.name or 'the repository'}")
        parts = Path(os.path.normpath(path)).parts
        if self.confined and any(self.root.joinpath(*parts[:size]).is_symlink() for size in range(1, len(parts) + 1)):
            # once it is merged, every run would end so
            raise UsageError(
                f"{self.place(path)}: a symbolic link, which raggate does not follow", hint="Name the file itself."
            )
        return target


Source = WorkTree | Commit
"""Files by path relative to the configuration's directory."""


@contextmanager
def at(root: Path, revision: str | None, remote: Remote | None = None, folder: str = "") -> Iterator[Source]:
    """Open the working tree below `root`, or a revision of the repository it lies in."""
    if revision is None:
        yield WorkTree(root, folder=folder)
        return
    if not root.is_dir() and (remote is None or remote.objects is None):
        raise UsageError(f"no directory {cut(root.name or str(root))}")
    checkout = _checkout(root, remote)
    prefix = prefix_of(root, checkout, remote.workspace if remote else None)
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        spare = remote.objects if remote else None
        objects, commit = _objects(stack, checkout, revision, spare)
        yield Commit(objects, commit, prefix, scratch, root, checkout, folder)


def top_of(root: Path, remote: Remote | None) -> Path | None:
    """Return the directory that a revision's files lie below on this machine; None where that is not known."""
    checkout = _checkout(root, remote)
    return checkout.top if checkout else remote.workspace if remote else None


def _checkout(root: Path, remote: Remote | None) -> git.Checkout | None:
    return git.find(root, remote.workspace if remote else None)


def prefix_of(root: Path, checkout: git.Checkout | None, workspace: Path | None) -> str:
    """Return the path from the top of the checkout to a directory in it: nothing, or a path that ends in `/`."""
    top = checkout.top if checkout else workspace
    folder = Path(os.path.normpath(root.absolute()))
    if top is None or not folder.is_relative_to(top):
        return ""
    inside = folder.relative_to(top)
    for path in (folder, *folder.parents)[: len(inside.parts)]:
        if path.is_symlink():
            raise UsageError(
                f"{path.name}: is a symbolic link, which a change could point elsewhere",
                hint="Name the configuration by its own path.",
            )
    return f"{inside.as_posix()}/" if inside.parts else ""


def head(root: Path, remote: Remote | None = None) -> Checkout:
    """Describe the checkout: its commit and whether it has uncommitted changes; neither outside git."""
    # loaded with what checks the values of stored files
    from raggate.models.provenance import Checkout

    checkout = _checkout(root, remote)
    commit = git.resolve(checkout, "HEAD") if checkout else None
    if checkout is None or commit is None:
        return Checkout()
    with git.reading(checkout, like=commit) as reader:
        return Checkout(commit=commit, dirty=reader.changed(commit))


def changed_files(root: Path, commit: str, remote: Remote | None = None) -> tuple[str, ...]:
    """Name the tracked files of a checkout that are otherwise than in a commit; none outside git."""
    checkout = _checkout(root, remote)
    if checkout is None:
        return ()
    with git.reading(checkout, like=commit) as reader:
        return reader.changed_files(commit)


def commit_of(root: Path, remote: Remote | None = None) -> str | None:
    """Return the full id of the commit that is checked out, without a look at the files; None outside git."""
    checkout = _checkout(root, remote)
    return git.resolve(checkout, "HEAD") if checkout else None


def tree_id(root: Path, remote: Remote | None = None, but: str | None = None, seen: Checkout | None = None) -> str:
    """Name the content of a checkout: the id of its commit's tree, and a hash of what was changed in tracked files.

    Empty outside git, and where git cannot read it. `seen` is what `head` says of it right now, None to ask.
    """
    checkout = _checkout(root, remote)
    try:
        seen = head(root, remote) if seen is None else seen
        if checkout is None or seen.commit is None:
            return ""
        place = root / (but or "")
        kept = () if but is None else (os.path.relpath(place.parent.resolve() / place.name, checkout.top.resolve()),)
        with LocalObjects(checkout, seen.commit) as local:
            tree = local.tree_of(seen.commit)
            changes = local.reader.changes(seen.commit, kept) if seen.dirty else b""
    except UsageError:
        return ""
    return f"{tree}+{sha256(changes).hexdigest()[:16]}" if changes else tree


def _objects(stack: ExitStack, checkout: git.Checkout | None, revision: str, spare: Store | None) -> tuple[Store, str]:
    """Choose where a revision is read from: the repository here, which may lack some objects, or the server's."""
    try:
        commit = git.resolve(checkout, revision) if checkout else None
        if checkout is not None and commit is not None:
            local = stack.enter_context(LocalObjects(checkout, commit, spare=spare))
            local.tree_of(commit)
            return local, commit
    except UsageError as error:
        # without git, or without the commit, there may still be the server
        if spare is None and not isinstance(error, Missing):
            raise
    if spare is not None and is_id(revision):
        return spare, revision
    if checkout is None:
        raise UsageError(f"no commit {quoted(revision)} here: no git repository", hint=_NO_REPOSITORY)
    raise UsageError(f"no commit {quoted(revision)} here", hint=_FETCH)
