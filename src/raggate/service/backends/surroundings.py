"""Whether raggate itself runs in a container, and in which: from what the kernel shows, confirmed by the engine."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from raggate.service.backends.engine import Client, engine_errors

# Docker keeps the files it mounts over these in a directory named after the container; Podman does the same. cgroup
# paths, which others look at, have no id where the cgroup namespace is private. Other mounts prove nothing: on the
# engine's own machine those of every container with a shareable /dev/shm can be seen.
_FILES = {"/etc/hostname": "HostnamePath", "/etc/hosts": "HostsPath", "/etc/resolv.conf": "ResolvConfPath"}
_KEPT = re.compile(r"/[^/]*containers/([0-9a-f]{64})/(?:userdata/)?[^/]+\Z")
_HOSTNAME = re.compile(r"[0-9a-f]{12}")
_MARKS = ("/.dockerenv", "/run/.containerenv")
_DEPTH = 4


class Own(Struct, frozen=True):
    """The way raggate reaches networks of the engine.

    Attributes:
        id: the container raggate runs in, None outside.
        connect: the container that has to join a network for raggate to be in it; None when raggate has the host's
            network, from which containers are reached by address.
    """

    id: str | None = None
    connect: str | None = None


def mountinfo() -> str:
    """Return the mounts of this process; empty where there is no /proc."""
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def own(client: Client, *, mounts: str | None = None, hostname: str | None = None, marked: bool | None = None) -> Own:
    """Find out how raggate is placed. An id that the engine does not confirm is another engine's, or chance.

    Args:
        marked: whether one of the files is there that engines put into a container.
    """
    mounts = mountinfo() if mounts is None else mounts
    hostname = socket.gethostname() if hostname is None else hostname
    marked = any(Path(mark).exists() for mark in _MARKS) if marked is None else marked
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
