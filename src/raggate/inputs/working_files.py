"""The files of a working tree, looked at without following a link: which there are, and whether they were changed."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from raggate.inputs import git
from raggate.inputs.git_objects import Entry, object_id

MOST_FILES = 20_000
"""The most that are looked at where git does not list them."""

_UNLOOKED = frozenset((".git", ".raggate"))


def present(root: Path, paths: Sequence[str], checkout: git.Checkout | None, *, like: str) -> set[str]:
    """Name the files and links at or below some paths, from `root`. Where there is a checkout, git ignores some.

    What git tracks it does not ignore, whatever its patterns say: a change can bring a file and a pattern for it.

    Args:
        paths: from there, with `/`.
    """
    if checkout is None:
        return {name for path in paths if _inside(root / path, root) for name in _files(root, path)}
    # a repository in the working tree is listed by its folder
    return {name for name in _listed(root, paths, checkout, like, tracked=True) if not name.endswith("/")}


def repositories(root: Path, path: str, checkout: git.Checkout, *, like: str) -> set[str]:
    """Name the folders at or below a path that are repositories of their own; see `present`.

    One path at a time: asked for a path inside such a folder too, git no longer names the folder.
    """
    return {name.rstrip("/") for name in _listed(root, [path], checkout, like) if name.endswith("/")}


def tracked(folder: Path, names: Iterable[str], commits: Mapping[git.Checkout, str] = MappingProxyType({})) -> set[str]:
    """Return which files and directories of a folder git tracks, themselves or something in them; none outside of git.

    Args:
        commits: of repositories, a commit of each, which tells its kind of hashes and need not be asked for. By the
            wrong kind git would see no file.

    Raises:
        UsageError: without git in a checkout, and when git cannot say it.
    """
    folder, entries = folder.resolve(), set(names)
    checkout = git.find(folder) if entries else None
    if checkout is None:
        return set()
    purpose = "telling what it tracks needs it"
    commit = commits.get(checkout) or git.resolve(checkout, "HEAD", purpose=purpose)
    with git.reading(checkout, like=commit or "", purpose=purpose) as reader:
        files = reader.tracked()
    # a file system may take `A` and `a` for the same name, and git for two
    prefix = "".join(f"{part}/" for part in folder.relative_to(checkout.top).parts).casefold()
    folded = [name.casefold() for name in files]
    if any(prefix.startswith(f"{name}/") for name in folded):
        # git tracks the submodule that the folder lies in, with all that it has
        return entries
    first = {name[len(prefix) :].partition("/")[0] for name in folded if name.startswith(prefix)}
    return {name for name in entries if name.casefold() in first}


def _listed(root: Path, paths: Sequence[str], checkout: git.Checkout, like: str, *, tracked: bool = False) -> set[str]:
    prefix = root.relative_to(checkout.top).as_posix()
    inside = (path for path in paths if _inside(root / path, checkout.top))
    inner = [posixpath.normpath(posixpath.join(prefix, path)) for path in inside]
    if not inner:
        # without any path git would list all files
        return set()
    with git.reading(checkout, like=like, purpose="comparing with a commit needs it") as reader:
        names = set(reader.listed(*inner))
        if tracked:
            kept = set(reader.tracked(*inner)) - names
            names |= {name for name in kept if _is_file(checkout.top / name)}
    return {posixpath.relpath(name, prefix) + ("/" if name.endswith("/") else "") for name in names}


def _is_file(place: Path) -> bool:
    return place.is_symlink() or place.is_file()


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
    for folder, subfolders, files in os.walk(start):
        inner = Path(folder).relative_to(start).as_posix()
        links = {name for name in subfolders if Path(folder, name).is_symlink()}
        subfolders[:] = sorted(set(subfolders) - links - _UNLOOKED)
        for name in (*files, *links):
            count += 1
            if count > MOST_FILES:
                return
            yield posixpath.normpath(posixpath.join(path, inner, name))


def regular(place: Path, size: int | None = None) -> bytes | None:
    """Read a regular file, of exactly this size if one is given; None for anything else, without opening it."""
    try:
        about = place.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size != (about.st_size if size is None else size):
            return None
        with place.open("rb") as stream:
            return stream.read(about.st_size)
    except (OSError, ValueError):
        return None


def same(root: Path, name: str, entry: Entry) -> bool:
    """Return whether the working tree has at a path what a commit has there, line ends of Windows aside."""
    place = root / name
    try:
        if not _reached_directly(place, root, name):
            return False
        content = os.fsencode(place.readlink()) if entry.kind == "link" else regular(place)
    except (OSError, ValueError):
        return False
    if content is None:
        return False
    texts = (content, content.replace(b"\r\n", b"\n"))
    return any(object_id("blob", text, like=entry.id) == entry.id for text in texts)


def _reached_directly(place: Path, root: Path, name: str) -> bool:
    """Return whether no link leads to a path, which may begin with `..`."""
    meant = os.path.normpath(os.path.join(os.path.realpath(root), name))  # noqa: PTH118 - the text, unresolved
    return os.path.realpath(place.parent) == str(Path(meant).parent)
