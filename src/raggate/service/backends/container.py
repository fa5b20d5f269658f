"""Settings of a container -> an API that runs as a hardened container beside raggate, with the services it needs."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from msgspec.structs import replace

from raggate.base.errors import CannotTell, UsageError
from raggate.base.quote import cut
from raggate.config.service_settings import VAULTS, Api
from raggate.models.service import ProcessExit, Started, Workspace
from raggate.service import signals
from raggate.service.backends import group, images, networking
from raggate.service.backends.engine import engine_errors, reason
from raggate.service.backends.group import Filler, Group, Part
from raggate.service.functions import SHIM
from raggate.service.line_pipes import STDIO_URL, Serving, Spoken

_API = "api"
_SHIM = ".raggate"
"""No vault has this name: the volume with the shim has."""
_SHIM_PATH = f"{VAULTS}/{_SHIM}/{SHIM.name}"


def mounts(volumes: Mapping[str, str], *, read_only: bool) -> list[Any]:
    """Describe for the engine where the volumes go: each in a directory of its vault's name."""
    import docker

    return [
        docker.types.Mount(target=f"{VAULTS}/{vault}", source=volume, type="volume", read_only=read_only, no_copy=True)
        for vault, volume in volumes.items()
    ]


def archive(directory: Path, name: str, into: IO[bytes]) -> None:
    """Write a directory, or one file, as a tar archive in a stable order.

    Everybody may read the copies and nobody owns them. Links within the directory stay links; one that leads out of it
    is a usage error.
    """
    root = directory.resolve()
    walked = os.walk(root)
    if root.is_file():
        walked, root = iter([(str(root.parent), [], [root.name])]), root.parent
    with tarfile.open(fileobj=into, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for folder, subfolders, files in walked:
            subfolders.sort()
            for entry in sorted([*subfolders, *files]):
                path = Path(folder, entry)
                info = tarfile.TarInfo(path.relative_to(root).as_posix())
                info.mtime = int(path.lstat().st_mtime)
                if path.is_symlink():
                    info.type, info.linkname, info.mode = tarfile.SYMTYPE, _link(path, root, name), 0o777
                elif path.is_dir():
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                elif path.is_file():
                    with path.open("rb") as stream:
                        info.size, info.mode = os.fstat(stream.fileno()).st_size, 0o644
                        tar.addfile(info, stream)
                    continue
                else:
                    continue
                tar.addfile(info)


def _link(path: Path, root: Path, name: str) -> str:
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(root):
        raise UsageError(
            f"vault {name!r}: {cut(path.relative_to(root).as_posix())} is a link that leaves the vault",
            hint="Replace the link by a copy of its target.",
        )
    return PurePosixPath(os.path.relpath(target, path.parent)).as_posix()


@contextmanager
def start(api: Api, workspace: Workspace, pipes: Spoken | None = None) -> Iterator[Started]:
    """Start services and API; on leaving, every container, network and volume is gone, whatever happened.

    The API's output is in `api.log` of the run directory, that of a service in `<name>.log`, that of builds in
    `build.log`. Every relaxed limit is said. With `stdio` the API is spoken to through `pipes`, and only its standard
    error is in the log.
    """
    settings = api.container
    assert settings is not None  # noqa: S101 - it is why this backend was chosen
    workspace.say("starting the API (container)")
    with group.opened(_parts(api, workspace), api, workspace) as made:
        # who is spoken to by the engine's stream needs no address
        if api.services or not api.stdio:
            networking.check_reachable(made.own, workspace.environment.get("DOCKER_HOST", ""))
        api_image = made.image(_API)
        workspace.identified(images.identity(made.client, settings, api_image))
        service_images = {name: made.image(name) for name in api.services}
        made.connect(internal=not api.egress)
        asked_by_shim = any(_SHIM_PATH in word for word in made.parts[_API].command)
        copied = {**workspace.vaults, **({_SHIM: SHIM} if asked_by_shim else {})}
        mounts = _copied(made, copied, api_image)
        for name, image in service_images.items():
            made.serve(name, image)
        running = made.started(_API, api_image, mounts, spoken_to=api.stdio)

        def died() -> ProcessExit | None:
            return running.ended() or made.lost()

        serving = Serving(base_url=STDIO_URL, died=died, log_tail=running.log.tail)
        if pipes is None or running.pipes is None:
            yield replace(serving, base_url=f"http://{made.address(running) or 'api.invalid'}:{settings.port}")
            return
        with closing(pipes(*running.pipes, running.log.feed)) as spoken_to:
            yield replace(serving, pipes=spoken_to)


def _parts(api: Api, workspace: Workspace) -> dict[str, Part]:
    settings = api.container
    assert settings is not None  # noqa: S101 - it is why this backend was chosen
    values = {} if api.stdio else {"port": str(settings.port)}
    values |= {"run": workspace.run, "shim": _SHIM_PATH}
    values |= {f"vault.{name}": f"{VAULTS}/{name}" for name in workspace.vaults}
    values |= {f"service.{name}": name for name in api.services}
    own = group.part("api.container", settings, Filler(values), workspace)
    return {_API: own, **group.services(api.services, workspace)}


def _copied(made: Group, directories: Mapping[str, Path], image: str) -> list[object]:
    """Make a volume of every directory, filled, and say how the API mounts them."""
    names, which = {vault: made.name(f"vault-{vault}") for vault in directories}, "the vaults"
    try:
        with signals.deferred():
            for volume in names.values():
                made.client.create_volume(volume, labels=made.labels)
        helper = made.never_started(image, "copy", mounts(names, read_only=False))
        for name, directory in directories.items():
            which = f"vault {name!r}"
            with tempfile.TemporaryFile() as packed:
                archive(directory, name, packed)
                packed.seek(0)
                made.client.put_archive(helper, f"{VAULTS}/{name}", packed)
        with signals.deferred():
            made.client.remove_container(helper, force=True, v=True)
    except engine_errors() as error:
        raise CannotTell(f"{which} could not be copied for the API: {reason(error)}") from None
    return mounts(names, read_only=True)
