"""Whether raggate itself runs in a container, and in which: from what the kernel shows, confirmed by the engine."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path

from raggate.backends.engine import Client, engine_errors

# Docker keeps the files it mounts over resolv.conf, hostname and hosts in a directory named after the container;
# Podman does the same. cgroup paths, which others look at, hold no id where the cgroup namespace is private.
_MOUNTED = re.compile(r"containers/([0-9a-f]{64})/")
_HOSTNAME = re.compile(r"[0-9a-f]{12}")
_MARKS = ("/.dockerenv", "/run/.containerenv")
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Own:
    """The way raggate reaches networks of the engine.

    Attributes:
        id: the container raggate runs in, None outside.
        connect: the container that has to join a network for raggate to be in it; None when raggate has the host's
            network, from which containers are reached by address.
    """

    id: str | None = None
    connect: str | None = None


def mountinfo() -> str:
    """Give the mounts of this process; empty where there is no /proc."""
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def inside(mounts: str | None = None) -> bool:
    """Tell whether this process runs in a container, without asking an engine."""
    return _MOUNTED.search(mountinfo() if mounts is None else mounts) is not None


def own(client: Client, *, mounts: str | None = None, hostname: str | None = None, marked: bool | None = None) -> Own:
    """Find out how raggate is placed. An id that the engine does not know is another engine's, or chance.

    Args:
        client: the engine.
        mounts: content of /proc/self/mountinfo.
        hostname: this machine's.
        marked: whether one of the files is there that engines put into a container.
    """
    mounts = mountinfo() if mounts is None else mounts
    hostname = socket.gethostname() if hostname is None else hostname
    marked = any(Path(mark).exists() for mark in _MARKS) if marked is None else marked
    candidates = list(dict.fromkeys(_MOUNTED.findall(mounts)))
    if marked and _HOSTNAME.fullmatch(hostname):
        candidates.append(hostname)
    for candidate in candidates:
        found = _inspect(client, candidate)
        if found is not None and str(found["Id"]).startswith(candidate):
            return Own(id=str(found["Id"]), connect=_holder(client, found))
    return Own()


def _holder(client: Client, container: dict[str, object]) -> str | None:
    """Follow `container:` modes to the container that has the network; None when that is the host."""
    for _ in range(_DEPTH):
        settings = container["HostConfig"]
        mode = str(settings.get("NetworkMode") or "") if isinstance(settings, dict) else ""
        if mode == "host":
            return None
        if not mode.startswith("container:"):
            return str(container["Id"])
        found = _inspect(client, mode.removeprefix("container:"))
        if found is None:
            return None
        container = found
    return None


def _inspect(client: Client, name: str) -> dict[str, object] | None:
    try:
        found: dict[str, object] = client.inspect_container(name)
    except engine_errors():
        return None
    return found
