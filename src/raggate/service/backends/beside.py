"""Services of an API that runs as a child process -> containers that it reaches from this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from raggate.config.service_settings import Service
from raggate.errors import CannotTell, UsageError
from raggate.models.service import ProcessExit, Workspace
from raggate.service.backends import engine, group, images, networking
from raggate.service.backends.group import Group

KEY = "api.command"
_MOST_PORTS = 32


@contextmanager
def started(
    settings: Mapping[str, Service], workspace: Workspace
) -> Iterator[tuple[dict[str, str], Callable[[], ProcessExit | None]]]:
    """Start the services one after the other; on leaving, containers and network are gone, whatever happened.

    Where raggate runs in a container of the engine, it joins their network, and they have addresses there. Elsewhere
    their ports are published at a loopback address of this machine, one for each service, under the same numbers.

    Yields:
        What stands for each `service.NAME`, and a function that says which service has ended and how.

    Raises:
        UsageError: for an unknown placeholder, a service without ports, and an engine on another machine.
        CannotTell: when no engine answers, an image cannot be had, or a service is not up in time.
    """
    if not settings:
        yield {}, lambda: None
        return
    host = workspace.environment.get("DOCKER_HOST", "")
    with group.opened(group.services(KEY, settings, workspace), workspace) as made:
        at = {name: networking.loopback(made.own, host) or "" for name in settings}
        service_images = {name: made.image(name) for name in settings}
        ports = {
            name: _ports(made, name, settings[name], service_images[name]) if at[name] else () for name in settings
        }
        made.connect(internal=True, published=any(at.values()))
        addresses = {
            f"service.{name}": made.serve(name, service, service_images[name], at=at[name], ports=ports[name])
            for name, service in settings.items()
        }
        yield addresses, made.lost


def _ports(made: Group, name: str, service: Service, image: str) -> tuple[int, ...]:
    try:
        ports = set(images.declared_ports(made.client, image))
    except engine.engine_errors() as error:
        raise CannotTell(f"{KEY}.services.{name}: its image cannot be looked up: {engine.reason(error)}") from None
    ready = service.ready
    ports |= {port for port in (ready.tcp, ready.http.port if ready.http else None) if port is not None}
    if 0 < len(ports) <= _MOST_PORTS:
        return tuple(sorted(ports))
    raise UsageError(
        f"{KEY}.services.{name}: its image declares {len(ports) or 'no'} TCP ports to connect to",
        hint=f"Name its port by `ready: {{tcp: PORT}}`, or declare it in the image by EXPOSE, {_MOST_PORTS} at most.",
    )
