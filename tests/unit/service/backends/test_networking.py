"""Which container raggate runs in, and how it reaches a network from there. No engine."""

from __future__ import annotations

import re
from typing import Any

import docker
import pytest

from raggate.base.errors import UsageError
from raggate.service.backends import networking
from raggate.service.backends.engine import STEP_VARIABLE, labels, step_label
from raggate.service.backends.networking import Own, placed
from tables import each_row

ID = "ab" * 32
HOLDER = "cd" * 32
KEPT = {"HostnamePath": "hostname", "HostsPath": "hosts", "ResolvConfPath": "resolv.conf"}
MOUNTS = (
    "22 27 0:21 / /proc rw - proc proc rw\n"
    f"651 640 8:1 /var/lib/docker/containers/{ID}/resolv.conf /etc/resolv.conf rw - ext4 /dev/root rw\n"
)
# as the host sees any container with a shareable /dev/shm, and as a container sees a path that somebody mounted
SHARED = (
    f"652 33 0:60 / /var/lib/docker/containers/{ID}/mounts/shm rw - tmpfs shm rw\n"
    f"653 33 8:1 /var/lib/docker/containers/{ID}/hosts /mnt/hosts rw - ext4 /dev/root rw\n"
    f"654 33 8:1 /var/lib/docker/containers/{ID}/mounts/secrets/hosts /etc/hosts rw - ext4 /dev/root rw\n"
)
PODMAN = f"651 640 0:45 /containers/overlay-containers/{ID}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw\n"


class FakeEngine:
    """An engine that knows some containers by id, and notes who was connected to what."""

    kept = "/var/lib/docker/containers"
    folder = ""

    def __init__(self, **modes: str) -> None:
        self.modes = {{"own": ID, "holder": HOLDER}[name]: mode for name, mode in modes.items()}
        self.connected: list[tuple[str, str]] = []

    def inspect_container(self, name: str) -> dict[str, Any]:
        """Find a container by the beginning of its id."""
        for known, mode in self.modes.items():
            if known.startswith(name):
                kept = {key: f"{self.kept}/{known}/{self.folder}{name}" for key, name in KEPT.items()}
                return {"Id": known, "HostConfig": {"NetworkMode": mode}, **kept}
        raise docker.errors.NotFound("no such container")

    def connect_container_to_network(self, container: str, network: str) -> None:
        """Note it."""
        self.connected.append((container, network))


def find(engine: FakeEngine, mounts: str = MOUNTS, hostname: str = "vm", *, marked: bool = False) -> Own:
    return placed(engine, mounts, hostname, marked=marked)


@each_row(
    ("modes", "connect"),
    [
        pytest.param({"own": "github_network_0f"}, ID, id="network of the job"),
        pytest.param({"own": f"container:{HOLDER}", "holder": "bridge"}, HOLDER, id="another container's network"),
        pytest.param({"own": f"container:{HOLDER}", "holder": "host"}, None, id="the host's, by way of another"),
        pytest.param({"own": "host"}, None, id="the host's"),
    ],
)
def test_who_joins_the_network(modes: dict[str, str], connect: str | None) -> None:
    """Whoever holds raggate's network joins that of the API; nobody has to where it is the host's."""
    engine = FakeEngine(**modes)
    found = find(engine)
    assert found == Own(id=ID, connect=connect)
    networking.join(engine, "net", found)
    assert engine.connected == ([(connect, "net")] if connect else [])


def test_podman_has_another_path() -> None:
    """The id is found in the paths of Podman, too."""
    engine = FakeEngine(own="bridge")
    engine.kept, engine.folder = "/run/user/1000/containers/overlay-containers", "userdata/"
    assert find(engine, PODMAN).id == ID


@each_row("line", SHARED.splitlines())
def test_another_container_on_the_same_machine(line: str) -> None:
    """Only what is mounted over one of raggate's own three files, from where the engine keeps it, tells who it is."""
    assert find(FakeEngine(own="bridge"), f"{line}\n") == Own()


def test_the_engine_confirms_the_file() -> None:
    """An id that the engine knows is not enough: the mounted file is the one that it keeps for that container."""
    engine = FakeEngine(own="bridge")
    engine.kept = "/elsewhere"
    assert find(engine) == Own()


def test_the_hostname_is_the_second_choice() -> None:
    """Where the mounts tell nothing but a mark says container, a hostname like an id is tried."""
    assert find(FakeEngine(own="bridge"), "", ID[:12], marked=True).id == ID
    assert find(FakeEngine(own="bridge"), "", "abababababag", marked=True) == Own()


@each_row(("host", "platform"), [("tcp://10.0.0.1:2375", "linux"), ("ssh://a@b", "linux"), ("", "darwin")])
def test_where_containers_cannot_be_reached(host: str, platform: str) -> None:
    """Away from the engine's machine the addresses of containers lead nowhere, and that is said at once."""
    with pytest.raises(UsageError, match="on the engine's own Linux machine"):
        networking.check_reachable(Own(), host, platform)
    networking.check_reachable(Own(id=ID, connect=ID), host, platform)
    networking.check_reachable(Own(), "unix:///run/docker.sock", "linux")


def test_where_services_are_published() -> None:
    """Ports come out at this machine alone, at an address of their own; not where raggate joins their network."""
    chosen = {networking.loopback(Own(), "unix:///run/user/1000/docker.sock", "linux") for _ in range(20)}
    assert all(re.fullmatch(r"127(\.([1-9]|[1-9]\d|1\d\d|2[0-4]\d|25[0-4])){3}", str(one)) for one in chosen)
    assert len(chosen) > 10
    assert networking.loopback(Own(), "", "darwin") == "127.0.0.1"
    assert networking.loopback(Own(id=ID), "", "linux") is not None
    assert networking.loopback(Own(id=ID, connect=HOLDER), "tcp://10.0.0.1:2375", "linux") is None
    # on another machine a loopback address is not this one's
    with pytest.raises(UsageError, match="DOCKER_HOST names another"):
        networking.loopback(Own(), "tcp://10.0.0.1:2375")


def test_labels_of_a_job() -> None:
    """The labels tell the job, and the step by a value of its own, by which alone its post step sweeps."""
    job = {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_JOB": "gate", "GITHUB_REPOSITORY": "a/b"}
    expected = {"raggate.run": "7", "raggate.attempt": "2", "raggate.job": "gate", "raggate.repository": "a/b"}
    assert step_label(job) == {}
    first, second = labels({**job, STEP_VARIABLE: "c0ffee"}), labels({**job, STEP_VARIABLE: "c0ffee"})
    assert first.pop("raggate.instance") != second.pop("raggate.instance")
    assert first == second == {**expected, "raggate.step": "c0ffee"}
    assert step_label({**job, STEP_VARIABLE: "c0ffee"}) == {"raggate.step": "c0ffee"}
