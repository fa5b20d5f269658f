"""The containers of one start: each one hardened, started and watched in its turn, and none left at the end."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.certificates import checked_by
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut, nearest
from raggate.base.redact import Guarded
from raggate.config.service_settings import Api, Container
from raggate.models.service import ProcessExit, Workspace
from raggate.service import signals
from raggate.service.backends import engine, images, networking
from raggate.service.backends.engine import Client, connected, engine_errors, reason
from raggate.service.backends.images import declared_volumes
from raggate.service.backends.networking import IMPATIENT, NO_RESOLVER, Own
from raggate.service.backends.processes import Log

_DRAIN = 0.5
_MOST_PROCESSES = 1024
_LAYER = "rw,noexec,nosuid,nodev,mode=1777"
# `${NAME}` belongs to shells and `{{name}}` to templates: neither is a placeholder
_PLACEHOLDER = re.compile(r"(?<![{$])\{([A-Za-z][A-Za-z0-9._-]*)\}")
_POLL = 0.1
_PROBE_SECONDS = 2.0
_SECOND_THOUGHT = 0.5


def hardened(client: Client, settings: Container, image: str, *, internal: bool) -> dict[str, Any]:
    """Return the host settings of a container, except network, ports and volumes."""
    import docker

    read_only = "/" not in settings.writable
    writable = [path for path in settings.writable if path != "/"]
    if read_only:
        # an image may declare volumes, which would be writable and as large as the disk
        writable += [path for path in declared_volumes(client, image) if path not in writable]
    return {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "read_only": read_only,
        "tmpfs": dict.fromkeys(writable, _LAYER),
        "pids_limit": _MOST_PROCESSES,
        "mem_limit": settings.memory_bytes,
        "memswap_limit": settings.memory_bytes,
        "oom_score_adj": 500,
        "init": True,
        "ipc_mode": "private",
        "ulimits": [docker.types.Ulimit(name="core", soft=0, hard=0)],
        "dns": list(NO_RESOLVER) if internal else None,
        "dns_opt": list(IMPATIENT) if internal else None,
        "log_config": docker.types.LogConfig(type="json-file", config={"max-size": "16m", "max-file": "2"}),
        "restart_policy": {"Name": "no"},
    }


class Running:
    """A container that was started, its log, and how it ended.

    Two threads with connections of their own wait for output and for the end. They end with the container.
    """

    def __init__(
        self,
        client: Client,
        container: str,
        name: str,
        settings: Container,
        log: Log,
        environment: Mapping[str, str],
        *,
        spoken_to: bool,
    ) -> None:
        self.id = container
        self.log = log
        self._settings = settings
        self._environment = environment
        self._ended: ProcessExit | None = None
        self._drained = False
        try:
            with signals.deferred():
                self.pipes = attach(client, container) if spoken_to else None
                client.start(container)
        except engine_errors() as error:
            raise CannotTell(
                f"the container {name!r} could not be started: {reason(error)}",
                hint="The image needs a command that starts the server, and its user must be allowed to run it.",
            ) from None
        self._reader = threading.Thread(target=self._follow, name=f"log of {name}", daemon=True)
        self._reader.start()
        threading.Thread(target=self._wait, name=f"end of {name}", daemon=True).start()

    def ended(self) -> ProcessExit | None:
        """Return how it ended, or None while it runs. Once it has ended, its last output is in the log."""
        if self._ended is not None and not self._drained:
            self._drained = True
            self._reader.join(_DRAIN)
        return self._ended

    def _follow(self) -> None:
        try:
            with connected(self._environment) as client:
                for piece in client.logs(self.id, stdout=self.pipes is None, stderr=True, stream=True, follow=True):
                    self.log.feed(piece)
        except engine_errors(CannotTell) as error:
            self.log.feed(f"[the log ends here: {cut(error)}]\n".encode(errors="replace"))
        self.log.end_line()

    def _wait(self) -> None:
        try:
            with connected(self._environment) as client:
                client.wait(self.id, timeout=None)
                self._ended = self._how(client.inspect_container(self.id)["State"])
        except CannotTell as error:
            self._ended = ProcessExit(message=f"was lost: {error.message}")
        except engine_errors() as error:
            self._ended = ProcessExit(message=f"was lost: the Docker engine stopped answering: {reason(error)}")

    def _how(self, state: dict[str, Any]) -> ProcessExit:
        code = int(state.get("ExitCode") or 0)
        if state.get("OOMKilled"):
            message = f"was killed for using more than {self._settings.memory} of memory (OOM)"
            return ProcessExit(message=message, out_of_memory=True)
        if code == 128 + signal.SIGKILL:
            return ProcessExit(message="was killed by SIGKILL", signal="SIGKILL")
        named = [f" ({known.name})" for known in signal.Signals if known == code - 128]
        return ProcessExit(message=f"exited with code {code}{''.join(named)}", code=code)


class Filler:
    """Replaces placeholders and remembers which were used."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.used: set[str] = set()

    def fill(self, key: str, text: str) -> str:
        """Replace the placeholders of one text; `key` is its place in the configuration."""
        if "\0" in text:
            raise UsageError(f"{key}: remove the NUL character, which no process can receive")
        return _PLACEHOLDER.sub(lambda match: self._value(key, match[1]), text)

    def _value(self, key: str, name: str) -> str:
        if name in self._values:
            self.used.add(name)
            return self._values[name]
        close = nearest(name, self._values)
        advice = f". Did you mean {{{close}}}?" if close else ""
        listed = ", ".join(f"{{{placeholder}}}" for placeholder in self._values)
        raise UsageError(f"{key}: unknown placeholder {{{cut(name)}}}{advice}", hint=f"Known here: {listed}.")


class Part(Guarded, Struct, frozen=True):
    """One container to be."""

    key: str
    settings: Container
    command: tuple[str, ...]
    environment: dict[str, str]


def part(key: str, settings: Container, filler: Filler, workspace: Workspace) -> Part:
    """Fill in the placeholders of a container."""
    passed = {name: workspace.environment[name] for name in settings.pass_env if name in workspace.environment}
    command = tuple(filler.fill(f"{key}.command[{index}]", word) for index, word in enumerate(settings.command))
    own = {name: filler.fill(f"{key}.env.{name}", text) for name, text in settings.env.items()}
    return Part(key, settings, command, passed | own)


def services(settings: Mapping[str, Container], workspace: Workspace) -> dict[str, Part]:
    """Return the services by name. They know each other by name, and the run."""
    filler = Filler({f"service.{name}": name for name in settings} | {"run": workspace.run})
    return {name: part(f"api.services.{name}", service, filler, workspace) for name, service in settings.items()}


@contextmanager
def opened(parts: Mapping[str, Part], api: Api, workspace: Workspace) -> Iterator[Group]:
    """Connect to the engine for some containers; on leaving, containers, networks and volumes are gone.

    Every relaxed limit is said. The output of a container goes to `<name>.log` of the run directory.
    """
    labels = engine.labels(workspace.environment)
    for text in api.relaxed():
        workspace.say(f"relaxed: {text}")
    with ExitStack() as stack:
        client = stack.enter_context(engine.connected(workspace.environment))
        own = networking.own(client)
        logs = {name: stack.enter_context(Log(workspace.out / f"{name}.log", workspace.secrets)) for name in parts}
        stack.callback(_undo, workspace, {engine.INSTANCE: labels[engine.INSTANCE]})
        yield Group(client, own, parts, workspace, labels, logs, api.ready.timeout)


def _undo(workspace: Workspace, wanted: Mapping[str, str]) -> None:
    # by label and not by what is remembered: a call that was cut off may have had its effect
    with signals.deferred():
        engine.tear_down(workspace.environment, wanted, workspace.say)


@dataclass
class Group:
    """The containers of one start, while they are started and run."""

    client: Client
    own: Own
    parts: Mapping[str, Part]
    workspace: Workspace
    labels: dict[str, str]
    logs: Mapping[str, Log]
    patience: float
    _network: str = field(default="", init=False)
    _internal: bool = field(default=True, init=False)
    _services: dict[str, Running] = field(default_factory=dict, init=False)

    def name(self, what: str) -> str:
        return f"raggate-{self.labels[engine.INSTANCE]}-{what}"

    def image(self, name: str) -> str:
        """Return the id of a container's image, which stays as long as the group is open."""
        key, settings, workspace = self.parts[name].key, self.parts[name].settings, self.workspace
        image = images.obtain(self.client, settings, key=key, workspace=workspace)
        if settings.build is not None:
            try:
                self.never_started(image, f"keep-{name}")
            except engine.engine_errors() as error:
                raise CannotTell(f"{key}.build: the image cannot be used: {engine.reason(error)}") from None
            images.remove_superseded(self.client, image, key=key, workspace=workspace)
        return image

    def never_started(self, image: str, name: str, mounts: Sequence[Any] = ()) -> str:
        """Make a container that never runs, and so keeps its image from being removed by anybody."""
        with signals.deferred():
            made = self.client.create_container(
                image,
                command=["raggate", "never", "starts", "this"],
                name=self.name(name),
                labels=self.labels,
                host_config=self.client.create_host_config(network_mode="none", cap_drop=["ALL"], mounts=list(mounts)),
                use_config_proxy=False,
            )
        return str(made["Id"])

    def connect(self, *, internal: bool, published: bool = False) -> None:
        """Make the network of the containers, and bring raggate into it where it has to be; see `networking.create`."""
        self._network, self._internal = self.name("net"), internal
        networking.create(self.client, self._network, self.labels, internal=internal, published=published)
        networking.join(self.client, self._network, self.own)

    def started(
        self,
        name: str,
        image: str,
        mounts: Sequence[Any] = (),
        *,
        at: str = "",
        ports: tuple[int, ...] = (),
        spoken_to: bool = False,
    ) -> Running:
        """Create a container, which the others know by its name, and start it.

        If it is `spoken_to`, its standard input and output are pipes. Its ports can be connected to at the address `at`
        of this machine, if any.
        """
        member, client = self.parts[name], self.client
        endpoint = client.create_endpoint_config(aliases=[name])
        try:
            host_config = client.create_host_config(
                network_mode=self._network,
                mounts=list(mounts),
                port_bindings={port: (at, port) for port in ports} or None,
                **hardened(client, member.settings, image, internal=self._internal),
            )
            with signals.deferred():
                made = client.create_container(
                    image,
                    command=list(member.command) or None,
                    name=self.name(name),
                    environment=member.environment,
                    labels=self.labels,
                    ports=list(ports) or None,
                    stdin_open=spoken_to,
                    user=member.settings.user,
                    host_config=host_config,
                    networking_config=client.create_networking_config({self._network: endpoint}),
                    use_config_proxy=False,
                )
        except engine.engine_errors() as error:
            raise CannotTell(f"the container {name!r} could not be created: {engine.reason(error)}") from None
        log, environment = self.logs[name], self.workspace.environment
        return Running(client, str(made["Id"]), name, member.settings, log, environment, spoken_to=spoken_to)

    def address(self, running: Running) -> str | None:
        """Return the address of a container in the network; None when it has none, as it has ended."""
        try:
            networks = self.client.inspect_container(running.id)["NetworkSettings"]["Networks"]
        except engine_errors() as error:
            raise CannotTell(f"the API's container cannot be found: {reason(error)}") from None
        return (networks.get(self._network) or {}).get("IPAddress") or None

    def serve(self, name: str, image: str, *, at: str = "", ports: tuple[int, ...] = ()) -> str:
        """Start a service, wait until it is up, and give the address that raggate reaches it at."""
        running = self._services[name] = self.started(name, image, at=at, ports=ports)
        address = at or self.address(running)
        _wait_for(name, self.parts[name].settings, running, address, self.patience)
        return address or ""

    def lost(self) -> ProcessExit | None:
        for name, service in self._services.items():
            if (ended := service.ended()) is not None:
                return replace(ended, message=f"lost its service {name}, which {ended.message}", service=name)
        return None


def _wait_for(name: str, settings: Container, service: Running, address: str | None, patience: float) -> None:
    end = time.monotonic() + patience
    while True:
        signals.check()
        if (ended := service.ended()) is not None:
            raise CannotTell(f"the service {name!r} {ended.message} before it was ready", log=service.log.tail())
        problem = _probe(settings, address) if address else "it has no address"
        if problem is None:
            return
        if time.monotonic() >= end:
            whole = f"Its whole output is in {name}.log of the run directory."
            raise CannotTell(
                f"the service {name!r} was not ready after {setting(patience)} s: {problem}",
                hint=f"Make it listen on 0.0.0.0 within `api.ready.timeout`. {whole}",
                log=service.log.tail(),
            )
        time.sleep(_POLL)


def _probe(settings: Container, address: str) -> str | None:
    """Look once. Returns what is missing, None when it is up."""
    if settings.port is None:
        return None
    try:
        if settings.health_path is not None:
            url = f"http://{address}:{settings.port}{settings.health_path}"
            client = httpx.Client(trust_env=False, timeout=_PROBE_SECONDS, verify=checked_by(url))
            with client, client.stream("GET", url) as response:
                problem = f"GET {cut(settings.health_path)} answers {response.status_code}"
                return None if response.is_success else problem
        with socket.create_connection((address, settings.port), timeout=_PROBE_SECONDS) as connection:
            return "it hangs up" if address.startswith("127.") and _hung_up(connection) else None
    except (OSError, httpx.HTTPError) as error:
        return f"no connection ({cut(error) or type(error).__name__})"


def _hung_up(connection: socket.socket) -> bool:
    """Return whether nobody is behind a published port: the engine accepts for the container, and then hangs up."""
    connection.settimeout(_SECOND_THOUGHT)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False


_HEADER = struct.Struct(">B3xL")
"""Before each piece of output: which stream it is of, and how many bytes it has."""


def attach(client: Client, container: str) -> tuple[IO[bytes], IO[bytes]]:
    """Return the two pipes of a container, which end with it. Nothing of its output is missed before its start."""
    stream = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stream": 1})
    connection: socket.socket = getattr(stream, "_sock", stream)
    # that of the client is for one call, and a program may be silent for long
    connection.settimeout(None)
    return cast("IO[bytes]", _Input(connection)), cast("IO[bytes]", _Output(connection, stream))


class _Input(io.RawIOBase):
    """What the container reads."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._connection.send(data)

    def close(self) -> None:
        """End what the container reads; what it still writes can be read."""
        if not self.closed:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)
        super().close()


class _Output(io.RawIOBase):
    """What the container writes, taken out of the engine's pieces. The connection is open as long as its `owner` is."""

    def __init__(self, connection: socket.socket, owner: Any) -> None:
        self._connection = connection
        self._owner = owner
        self._left = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read as much of a piece as there is; nothing at the end."""
        while self._left == 0:
            header = self._header()
            if len(header) < _HEADER.size:
                return 0
            _, self._left = _HEADER.unpack(header)
        size = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= size
        return size

    def close(self) -> None:
        if not self.closed:
            self._owner.close()
            self._connection.close()
        super().close()

    def _header(self) -> bytes:
        header = b""
        while len(header) < _HEADER.size and (part := self._connection.recv(_HEADER.size - len(header))):
            header += part
        return header
