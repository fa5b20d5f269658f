"""The network of a run: created, joined by raggate where it must be, and the addresses of containers in it."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping

from raggate.errors import CannotTell, UsageError
from raggate.service import signals
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.service.backends.surroundings import Own

NO_RESOLVER = ("127.0.0.1",)
"""Where a container without egress sends questions for foreign names: to itself, which has no answer. Engines before
23.0.11 would carry them out of an internal network (CVE-2024-29018)."""

IMPATIENT = ("timeout:1", "attempts:1")
"""How a container without egress asks for names: the engine's resolver never answers for those that it does not know,
and every one would be waited for twice five seconds."""

_NO_TRANSLATION = {"com.docker.network.bridge.enable_ip_masquerade": "false"}


def create(client: Client, name: str, labels: Mapping[str, str], *, internal: bool, published: bool) -> None:
    """Create a network.

    Args:
        internal: whether it leads nowhere else.
        published: whether ports of its containers are to be connected to from this machine. Engines do not publish
            those of internal networks; this one sends packets out under addresses to which no answer comes back.

    Raises:
        CannotTell: when the engine refuses.
    """
    try:
        with signals.deferred():
            client.create_network(
                name,
                driver="bridge",
                internal=internal and not published,
                options=dict(_NO_TRANSLATION) if internal and published else None,
                labels=dict(labels),
                check_duplicate=True,
            )
    except engine_errors() as error:
        raise CannotTell(f"no network could be created for the API: {reason(error)}") from None


def check_reachable(own: Own, host: str, platform: str = sys.platform) -> None:
    """Refuse where the addresses of containers lead nowhere.

    Args:
        host: the engine's URL, empty for the local one.
        platform: as in `sys.platform`.

    Raises:
        UsageError: when raggate runs neither on the engine's machine nor in one of its containers.
    """
    if own.id is None and (_is_remote(host) or platform != "linux"):
        raise UsageError(
            "`api.container` works on the engine's own Linux machine and in a container of that engine",
            hint="Elsewhere the addresses of containers cannot be reached: run raggate in a container, or use "
            "`api.command`.",
        )


def _is_remote(host: str) -> bool:
    return bool(host) and not host.startswith("unix://")


def loopback(own: Own, host: str, platform: str = sys.platform) -> str | None:
    """Choose an address of this machine for the ports of one container; None where raggate joins their network.

    On Linux all of 127.0.0.0/8 is this machine, and an address of its own lets a container keep its port whatever else
    listens there. It is also where engines without root publish, whose networks the machine itself does not reach.

    Args:
        host: the engine's URL, empty for the local one.
        platform: as in `sys.platform`.

    Raises:
        UsageError: when the engine runs on another machine.
    """
    if own.connect is not None:
        return None
    if _is_remote(host):
        raise UsageError(
            "`api.command.services` works with an engine on this machine, and DOCKER_HOST names another",
            hint="Unset DOCKER_HOST, or start them yourself and give their addresses in `api.command.env`.",
        )
    if platform != "linux":
        return "127.0.0.1"
    return ".".join(str(part) for part in (127, *(1 + secrets.randbelow(254) for _ in range(3))))


def join(client: Client, network: str, own: Own) -> None:
    """Bring raggate into the network. On the engine's own machine, and with its network, it is in it already.

    Raises:
        CannotTell: when the container cannot be connected.
    """
    if own.connect is None:
        return
    try:
        with signals.deferred():
            client.connect_container_to_network(own.connect, network)
    except engine_errors() as error:
        raise CannotTell(
            f"raggate's own container cannot join the network of the API: {reason(error)}",
            hint="It can on a bridge network, in `container:` mode and with the host's network; not without any.",
        ) from None


def address(client: Client, container: str, network: str) -> str | None:
    """Return the address of a container; None when it has none, as it has ended."""
    try:
        networks = client.inspect_container(container)["NetworkSettings"]["Networks"]
    except engine_errors() as error:
        raise CannotTell(f"the API's container cannot be found: {reason(error)}") from None
    return (networks.get(network) or {}).get("IPAddress") or None
