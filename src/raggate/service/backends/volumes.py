"""Directories -> volumes of the engine with a copy of them. Nothing of this machine is ever mounted.

The engine resolves the paths of bind mounts on its own machine, where raggate's directories need not exist. So a
container that mounts the volumes, and never starts, takes the files over the engine's socket.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from raggate.errors import CannotTell, UsageError
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.text.quote import cut

_PIECE = 1 << 18
_BLOCK = tarfile.BLOCKSIZE


def mounts(volumes: Mapping[str, str], vault_path: str, *, read_only: bool) -> list[Any]:
    """Describe for the engine where the volumes go: each in a directory of its vault's name."""
    import docker

    return [
        docker.types.Mount(
            target=f"{vault_path}/{vault}", source=volume, type="volume", read_only=read_only, no_copy=True
        )
        for vault, volume in volumes.items()
    ]


def fill(client: Client, helper: str, vaults: Mapping[str, Path], vault_path: str) -> None:
    """Copy the vaults into the volumes that the never-started container `helper` mounts.

    Raises:
        UsageError: for a link that leads out of its vault.
        CannotTell: when the engine does not take them.
    """
    for name, directory in vaults.items():
        try:
            client.put_archive(helper, f"{vault_path}/{name}", archive(directory, name))
        except engine_errors() as error:
            raise CannotTell(f"vault {name!r} could not be copied into its volume: {reason(error)}") from None


def archive(directory: Path, name: str) -> Iterator[bytes]:
    """Stream a directory as a tar archive, in pieces of bounded size and in a stable order.

    Everybody may read the copies and nobody owns them. Links within the directory stay links.

    Args:
        directory: the vault.
        name: its name, for messages.

    Raises:
        UsageError: for a link that leads out of it.
    """
    root = directory.resolve()
    for folder, subfolders, files in os.walk(root):
        subfolders.sort()
        for entry in sorted([*subfolders, *files]):
            path = Path(folder, entry)
            if path.is_symlink():
                yield _header(path, root, link=_link(path, root, name))
            elif path.is_dir():
                yield _header(path, root)
            elif path.is_file():
                yield from _file(path, root)
    yield bytes(2 * _BLOCK)


def _link(path: Path, root: Path, name: str) -> str:
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(root):
        raise UsageError(
            f"vault {name!r}: {cut(path.relative_to(root).as_posix())} is a link out of the vault",
            hint="Replace it by a copy of its target.",
        )
    return PurePosixPath(os.path.relpath(target, path.parent)).as_posix()


def _header(path: Path, root: Path, *, link: str = "", size: int = 0) -> bytes:
    state = path.lstat()
    info = tarfile.TarInfo(path.relative_to(root).as_posix())
    info.mtime = int(state.st_mtime)
    if link:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, link, 0o777
    elif path.is_dir():
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    else:
        info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _file(path: Path, root: Path) -> Iterator[bytes]:
    left = path.stat().st_size
    header = _header(path, root, size=left)
    padding = -left % _BLOCK
    with path.open("rb") as stream:
        yield header
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:  # it became shorter meanwhile; the archive has announced its size
                yield bytes(left)
                break
            left -= len(piece)
            yield piece
    yield bytes(padding)
