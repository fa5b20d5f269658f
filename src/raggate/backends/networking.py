"""The network of a run: created, joined by raggate where it must be, and the addresses of containers in it."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from raggate import interrupts
from raggate.backends.engine import Client, engine_errors, reason
from raggate.backends.surroundings import Own
from raggate.errors import CannotTell, UsageError

NO_RESOLVER = ("127.0.0.1",)
"""Where a container without egress sends questions for foreign names: to itself, which has no answer. Engines before
23.0.11 would carry them out of an internal network (CVE-2024-29018)."""

IMPATIENT = ("timeout:1", "attempts:1")
"""How a container without egress asks for names: the engine's resolver never answers for those that it does not know,
and every one would be waited for twice five seconds."""


def create(client: Client, name: str, labels: Mapping[str, str], *, internal: bool) -> str:
    """Create a network and return its name.

    Raises:
        CannotTell: when the engine refuses.
    """
    try:
        with interrupts.deferred():
            client.create_network(name, driver="bridge", internal=internal, labels=dict(labels), check_duplicate=True)
    except engine_errors() as error:
        raise CannotTell(f"no network could be created for the API: {reason(error)}") from None
    return name


def check_reachable(own: Own, host: str, platform: str = sys.platform) -> None:
    """Refuse where the addresses of containers lead nowhere.

    Args:
        own: how raggate is placed.
        host: the engine's URL, empty for the local one.
        platform: as in `sys.platform`.

    Raises:
        UsageError: when raggate runs neither on the engine's machine nor in one of its containers.
    """
    remote = bool(host) and not host.startswith("unix://")
    if own.id is None and (remote or platform != "linux"):
        raise UsageError(
            "`api.container` works on the engine's own Linux machine and in a container of that engine",
            hint="Elsewhere the addresses of containers cannot be reached: run raggate in a container, or use "
            "`api.command`.",
        )


def join(client: Client, network: str, own: Own) -> None:
    """Bring raggate into the network. On the engine's own machine, and with its network, it is there already.

    Raises:
        CannotTell: when the container cannot be connected.
    """
    if own.connect is None:
        return
    try:
        with interrupts.deferred():
            client.connect_container_to_network(own.connect, network)
    except engine_errors() as error:
        raise CannotTell(
            f"raggate's own container cannot join the network of the API: {reason(error)}",
            hint="It can on a bridge network, in `container:` mode and with the host's network; not without any.",
        ) from None


def address(client: Client, container: str, network: str) -> str | None:
    """Give the address of a container; None when it has none, as it has ended."""
    try:
        networks = client.inspect_container(container)["NetworkSettings"]["Networks"]
    except engine_errors() as error:
        raise CannotTell(f"the API's container cannot be found: {reason(error)}") from None
    return (networks.get(network) or {}).get("IPAddress") or None
