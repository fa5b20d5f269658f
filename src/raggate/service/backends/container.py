"""Settings of a container -> an API that runs as a hardened container beside raggate, with the services it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from raggate.config.service_settings import ContainerBackend
from raggate.errors import CannotTell
from raggate.models.service import ProcessExit, Started, Workspace
from raggate.service import signals
from raggate.service.backends import engine, group, images, networking, volumes
from raggate.service.backends.contained import Running
from raggate.service.backends.group import Group, Part
from raggate.service.backends.placeholders import Filler

_API = "api"


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
        """Say how the API or one of its services ended, or None while they run."""
        return self._api.ended() or self._made.lost()

    def log_tail(self) -> tuple[str, ...]:
        """Give the last lines of the API's output, oldest first. Untrusted text."""
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
        helper = made.never_started(image, "copy", volumes.mounts(names, path, read_only=False))
        volumes.fill(made.client, helper, workspace.vaults, path)
        with signals.deferred():
            made.client.remove_container(helper, force=True, v=True)
    except engine.engine_errors() as error:
        raise CannotTell(f"the vaults could not be copied for the API: {engine.reason(error)}") from None
    return volumes.mounts(names, path, read_only=True)
