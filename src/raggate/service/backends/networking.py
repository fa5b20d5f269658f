"""The network of a run and the addresses in it, and whether raggate itself runs in a container that must join it."""

from __future__ import annotations

import re
import secrets
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from raggate.base.errors import CannotTell, UsageError
from raggate.service import signals
from raggate.service.backends.engine import Client, engine_errors, reason

NO_RESOLVER = ("127.0.0.1",)
"""Where a container without egress sends questions for foreign names: to itself, which has no answer. Engines before
23.0.11 would carry them out of an internal network (CVE-2024-29018)."""

IMPATIENT = ("timeout:1", "attempts:1")
"""How a container without egress asks for names: the engine's resolver never answers for those that it does not know,
and every one would be waited for twice five seconds."""

_NO_TRANSLATION = {"com.docker.network.bridge.enable_ip_masquerade": "false"}

# Docker keeps the files it mounts over these in a directory named after the container; Podman does the same. cgroup
# paths, which others look at, have no id where the cgroup namespace is private. Other mounts prove nothing: on the
# engine's own machine those of every container with a shareable /dev/shm can be seen.
_FILES = {"/etc/hostname": "HostnamePath", "/etc/hosts": "HostsPath", "/etc/resolv.conf": "ResolvConfPath"}
_KEPT = re.compile(r"/[^/]*containers/([0-9a-f]{64})/(?:userdata/)?[^/]+\Z")
_HOSTNAME = re.compile(r"[0-9a-f]{12}")
_MARKS = ("/.dockerenv", "/run/.containerenv")
_DEPTH = 4


def create(client: Client, name: str, labels: Mapping[str, str], *, internal: bool, published: bool) -> None:
    """Create a network; `published` if ports of its containers are to be connected to from this machine.

    Engines do not publish those of internal networks. This one sends packets out under addresses to which no answer
    comes back.
    """
    options = dict(_NO_TRANSLATION) if internal and published else None
    closed = internal and not published
    try:
        with signals.deferred():
            client.create_network(name, "bridge", options, internal=closed, labels=dict(labels), check_duplicate=True)
    except engine_errors() as error:
        raise CannotTell(f"no network could be created for the API: {reason(error)}") from None


def check_reachable(own: Own, host: str, platform: str = sys.platform) -> None:
    """Refuse where the addresses of containers lead nowhere; `host` is the engine's URL, empty for the local one."""
    if own.id is None and (_is_remote(host) or platform != "linux"):
        raise UsageError(
            "`api.container` works on the engine's own Linux machine and in a container of that engine",
            hint="On other systems container addresses cannot be reached. Run raggate in a container, or use "
            "`api.command`.",
        )


def _is_remote(host: str) -> bool:
    return bool(host) and not host.startswith("unix://")


def loopback(own: Own, host: str, platform: str = sys.platform) -> str | None:
    """Choose an address of this machine for the ports of one container; None where raggate joins their network.

    On Linux all of 127.0.0.0/8 is this machine, and an address of its own lets a container keep its port whatever else
    listens there. It is also where engines without root publish, whose networks the machine itself does not reach.
    """
    if own.connect is not None:
        return None
    if _is_remote(host):
        raise UsageError(
            "`api.services` with `api.command` needs a Docker engine on this machine, but DOCKER_HOST names another",
            hint="Unset DOCKER_HOST, or start the services yourself and put their addresses into `api.command.env`.",
        )
    if platform != "linux":
        return "127.0.0.1"
    return ".".join(str(part) for part in (127, *(1 + secrets.randbelow(254) for _ in range(3))))


def join(client: Client, network: str, own: Own) -> None:
    """Bring raggate into the network. On the engine's own machine, and with its network, it is in it already."""
    if own.connect is None:
        return
    try:
        with signals.deferred():
            client.connect_container_to_network(own.connect, network)
    except engine_errors() as error:
        raise CannotTell(
            f"raggate's own container cannot join the network of the API: {reason(error)}",
            hint="Run raggate on a bridge network, in `container:` mode, or on the host's network.",
        ) from None


class Own(Struct, frozen=True):
    """The container raggate runs in, None outside, and the one that has to join a network for raggate to be in it.

    `connect` is None when raggate has the host's network, from which containers are reached by address.
    """

    id: str | None = None
    connect: str | None = None


def own(client: Client) -> Own:
    """Find out how raggate is placed."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        mounts = ""
    return placed(client, mounts, socket.gethostname(), marked=any(Path(mark).exists() for mark in _MARKS))


def placed(client: Client, mounts: str, hostname: str, *, marked: bool) -> Own:
    """Find raggate's container by its mounts, or by its name if it is `marked` by a file that engines put into one.

    An id that the engine does not confirm is another engine's, or chance.
    """
    mounted = list(_mounted(mounts))
    for identity, key, kept in mounted:
        container = _inspect(client, identity)
        # the engine's path and the kernel's differ in front, where the engine's directory is itself a mount
        if container is not None and str(container.get(key) or "").endswith(kept):
            return Own(id=identity, connect=_holder(client, container))
    if not mounted and marked and _HOSTNAME.fullmatch(hostname):
        container = _inspect(client, hostname)
        if container is not None and str(container["Id"]).startswith(hostname):
            return Own(id=str(container["Id"]), connect=_holder(client, container))
    return Own()


def _mounted(mounts: str) -> Iterator[tuple[str, str, str]]:
    """Yield of every mount on one of the three files: the container's id, the engine's key for it, the path's end."""
    for line in mounts.splitlines():
        _, _, _, root, point, *_ = [*line.split(" "), *[""] * 5]
        if (key := _FILES.get(point)) is not None and (kept := _KEPT.search(root)) is not None:
            yield kept[1], key, kept[0]


def _holder(client: Client, container: dict[str, object]) -> str | None:
    """Follow `container:` modes to the container that has the network; None when that is the host."""
    for _ in range(_DEPTH):
        settings = container["HostConfig"]
        mode = str(settings.get("NetworkMode") or "") if isinstance(settings, dict) else ""
        if mode == "host":
            return None
        if not mode.startswith("container:"):
            return str(container["Id"])
        inspected = _inspect(client, mode.removeprefix("container:"))
        if inspected is None:
            return None
        container = inspected
    return None


def _inspect(client: Client, name: str) -> dict[str, object] | None:
    try:
        inspected: dict[str, object] = client.inspect_container(name)
    except engine_errors():
        return None
    return inspected
