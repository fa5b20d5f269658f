"""Settings of a container -> an API that runs as a hardened container beside raggate, with the services it needs."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from raggate.base.errors import CannotTell, UsageError
from raggate.base.quote import cut
from raggate.config.service_settings import ContainerBackend
from raggate.models.service import ProcessExit, Started, Workspace
from raggate.service import signals
from raggate.service.backends import engine, group, images, networking
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.service.backends.group import Filler, Group, Part, Running

_API = "api"


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
    """Copy the vaults into the volumes that the never-started container `helper` mounts."""
    for name, directory in vaults.items():
        try:
            with tempfile.TemporaryFile() as packed:
                archive(directory, name, packed)
                packed.seek(0)
                client.put_archive(helper, f"{vault_path}/{name}", packed)
        except engine_errors() as error:
            raise CannotTell(f"vault {name!r} could not be copied into its volume: {reason(error)}") from None


def archive(directory: Path, name: str, into: IO[bytes]) -> None:
    """Write a directory as a tar archive, in a stable order.

    Everybody may read the copies and nobody owns them. Links within the directory stay links; one that leads out of it
    is a usage error.
    """
    root = directory.resolve()
    with tarfile.open(fileobj=into, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for folder, subfolders, files in os.walk(root):
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
            f"vault {name!r}: {cut(path.relative_to(root).as_posix())} is a link out of the vault",
            hint="Replace it by a copy of its target.",
        )
    return PurePosixPath(os.path.relpath(target, path.parent)).as_posix()


@contextmanager
def start(settings: ContainerBackend, workspace: Workspace) -> Iterator[Started]:
    """Start services and API; on leaving, every container, network and volume is gone, whatever happened.

    The API's output is in `api.log` of the run directory, that of a service in `<name>.log`, that of builds in
    `build.log`. Every relaxed limit is said.

    Raises:
        UsageError: for an unknown placeholder, a build context that is not there, a link out of a vault, and where
            containers cannot be reached.
        CannotTell: when no engine answers, an image cannot be had, or a container does not start.
    """
    with group.opened(_parts(settings, workspace), workspace) as made:
        networking.check_reachable(made.own, workspace.environment.get("DOCKER_HOST", ""))
        api_image = made.image(_API)
        workspace.identified(images.identity(made.client, settings, api_image))
        service_images = {name: made.image(name) for name in settings.services}
        made.connect(internal=not settings.egress)
        mounts = _copied_vaults(made, workspace, settings.vault_path, api_image)
        for name, service in settings.services.items():
            made.serve(name, service, service_images[name])
        api = made.started(_API, api_image, mounts)
        yield _Api(f"http://{made.address(api) or 'api.invalid'}:{settings.port}", api, made)


class _Api:
    def __init__(self, base_url: str, api: Running, made: Group) -> None:
        self.base_url = base_url
        self._api = api
        self._made = made

    def died(self) -> ProcessExit | None:
        """Return how the API or one of its services ended, or None while they run."""
        return self._api.ended() or self._made.lost()

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of the API's output, oldest first. Untrusted text."""
        return self._api.log.tail()


def _parts(settings: ContainerBackend, workspace: Workspace) -> dict[str, Part]:
    values = {"port": str(settings.port), "run": workspace.run}
    values |= {f"vault.{name}": f"{settings.vault_path}/{name}" for name in workspace.vaults}
    values |= {f"service.{name}": name for name in settings.services}
    api = group.part("api.container", settings, Filler(values), workspace)
    return {_API: api, **group.services("api.container", settings.services, workspace)}


def _copied_vaults(made: Group, workspace: Workspace, path: str, image: str) -> list[object]:
    """Make a volume of every vault, filled, and say how the API mounts them."""
    names = {vault: made.name(f"vault-{vault}") for vault in workspace.vaults}
    try:
        with signals.deferred():
            for volume in names.values():
                made.client.create_volume(volume, labels=made.labels)
        helper = made.never_started(image, "copy", mounts(names, path, read_only=False))
        fill(made.client, helper, workspace.vaults, path)
        with signals.deferred():
            made.client.remove_container(helper, force=True, v=True)
    except engine.engine_errors() as error:
        raise CannotTell(f"the vaults could not be copied for the API: {engine.reason(error)}") from None
    return mounts(names, path, read_only=True)
