"""Settings of a container -> an API that runs as a hardened container beside raggate, with the services it needs."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx

from raggate import interrupts
from raggate.api_settings import Contained, ContainerBackend, ServiceReady
from raggate.backends import builds, contained, engine, images, networking, surroundings, volumes
from raggate.backends.contained import Plan, Running
from raggate.backends.engine import Client, sweep
from raggate.backends.placeholders import Filler
from raggate.backends.processes import Log
from raggate.errors import CannotTell
from raggate.escape import log_line, plain
from raggate.models import Place, Started

__all__ = ["start", "sweep"]

_POLL = 0.1
_PROBE_SECONDS = 2.0
_API = "api"


@contextmanager
def start(settings: ContainerBackend, place: Place) -> Iterator[Started]:
    """Start services and API; on leaving, every container, network and volume is gone, whatever happened.

    The API's output is in `api.log` of the run directory, that of a service in `<name>.log`, that of builds in
    `build.log`. Every relaxed limit is said.

    Raises:
        UsageError: for an unknown placeholder, a build context that is not there, a link out of a vault, and where
            containers cannot be reached.
        CannotTell: when no engine answers, an image cannot be had, or a container does not start.
    """
    texts = _texts(settings, place)
    labels = engine.labels(place.environment)
    for line in settings.relaxations():
        place.say(log_line(f"relaxed: {line}"))
    with ExitStack() as stack:
        client = stack.enter_context(engine.connected(place.environment))
        own = surroundings.own(client)
        networking.check_reachable(own, place.environment.get("DOCKER_HOST", ""))
        if not place.in_action:  # there the post step sweeps
            engine.sweep_dead(client, place.say)
        logs = {name: stack.enter_context(Log(place.out / f"{name}.log", place.secrets)) for name in texts}
        stack.enter_context(_undone(place, labels))
        run = _Run(client=client, place=place, labels=labels, settings=settings, texts=texts, logs=logs)
        api_image = run.image(_API, settings)
        place.identified(images.identity(client, settings, api_image))
        found = {name: run.image(name, service) for name, service in settings.services.items()}
        network = networking.create(client, run.name("net"), labels, internal=not settings.egress)
        networking.join(client, network, own)
        mounts = run.copied_vaults(api_image)
        services = {}
        for name, service in settings.services.items():
            services[name] = run.started(name, service, found[name], network)
            _wait_for(name, service.ready, services[name], networking.address(client, services[name].id, network))
        api = run.started(_API, settings, api_image, network, mounts)
        address = networking.address(client, api.id, network) or "api.invalid"
        yield _Api(f"http://{address}:{settings.port}", api, services)


@contextmanager
def _undone(place: Place, labels: Mapping[str, str]) -> Iterator[None]:
    try:
        yield
    finally:
        # by label and not by what is remembered: a call that was cut off may have had its effect
        with interrupts.deferred():
            engine.tear_down(place.environment, {engine.INSTANCE: labels[engine.INSTANCE]}, place.say)


class _Api:
    def __init__(self, base_url: str, api: Running, services: Mapping[str, Running]) -> None:
        self.base_url = base_url
        self._api = api
        self._services = services

    def died(self) -> str | None:
        """Say how the API or one of its services ended, or None while they run."""
        for name, service in self._services.items():
            if (ended := service.ended()) is not None and self._api.ended() is None:
                return f"lost its service {name}, which {ended}"
        return self._api.ended()

    def log_tail(self, lines: int = 20) -> tuple[str, ...]:
        """Give the last lines of the API's output, oldest first. Untrusted text."""
        return self._api.log.tail(lines)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Command and environment of one container, placeholders filled in."""

    command: tuple[str, ...]
    environment: dict[str, str]


def _texts(settings: ContainerBackend, place: Place) -> dict[str, _Texts]:
    hosts = {f"service.{name}": name for name in settings.services}
    own = {"port": str(settings.port), "run": place.run}
    own |= {f"vault.{name}": f"{settings.vault_path}/{name}" for name in place.vaults}
    found = {_API: _filled("api.container", settings, Filler(own | hosts), place)}
    for name, service in settings.services.items():
        found[name] = _filled(f"api.container.services.{name}", service, Filler(hosts | {"run": place.run}), place)
    return found


def _filled(key: str, settings: Contained, filler: Filler, place: Place) -> _Texts:
    passed = {name: place.environment[name] for name in settings.pass_env if name in place.environment}
    return _Texts(
        command=tuple(filler.fill(f"{key}.command[{index}]", word) for index, word in enumerate(settings.command)),
        environment=passed | {name: filler.fill(f"{key}.env.{name}", text) for name, text in settings.env.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One start: what its steps share."""

    client: Client
    place: Place
    labels: dict[str, str]
    settings: ContainerBackend
    texts: dict[str, _Texts]
    logs: dict[str, Log]

    def name(self, what: str) -> str:
        return f"raggate-{self.labels[engine.INSTANCE]}-{what}"

    def image(self, name: str, settings: Contained) -> str:
        key = "api.container" if name == _API else f"api.container.services.{name}"
        place = self.place
        image = images.obtain(self.client, settings, key=key, place=place)
        if settings.build is not None:
            try:
                self.never_started(image, f"keep-{name}")
            except engine.engine_errors() as error:
                raise CannotTell(f"{key}.build: the image cannot be used: {engine.reason(error)}") from None
            builds.remove_superseded(self.client, image, key=key, place=place)
        return image

    def never_started(self, image: str, name: str, mounts: list[object] | None = None) -> str:
        """Make a container that never runs, and so keeps its image from being removed by anybody."""
        with interrupts.deferred():
            made = self.client.create_container(
                image,
                command=["raggate", "never", "starts", "this"],
                name=self.name(name),
                labels=self.labels,
                host_config=self.client.create_host_config(network_mode="none", cap_drop=["ALL"], mounts=mounts or []),
                use_config_proxy=False,
            )
        return str(made["Id"])

    def copied_vaults(self, image: str) -> list[object]:
        """Make a volume of every vault, filled, and say how the API mounts them."""
        made = {vault: self.name(f"vault-{vault}") for vault in self.place.vaults}
        path = self.settings.vault_path
        try:
            with interrupts.deferred():
                for volume in made.values():
                    self.client.create_volume(volume, labels=self.labels)
            helper = self.never_started(image, "copy", volumes.mounts(made, path, read_only=False))
            volumes.fill(self.client, helper, self.place.vaults, path)
            with interrupts.deferred():
                self.client.remove_container(helper, force=True, v=True)
        except engine.engine_errors() as error:
            raise CannotTell(f"the vaults could not be copied for the API: {engine.reason(error)}") from None
        return volumes.mounts(made, path, read_only=True)

    def started(
        self, name: str, settings: Contained, image: str, network: str, mounts: list[object] | None = None
    ) -> Running:
        log = self.logs[name]
        texts = self.texts[name]
        plan = Plan(
            name=name,
            full_name=self.name(name),
            image=image,
            command=texts.command,
            environment=texts.environment,
            network=network,
            internal=not self.settings.egress,
            mounts=mounts or (),
        )
        container = contained.create(self.client, settings, plan, self.labels)
        return Running(
            self.client, container, name=name, settings=settings, log=log, environment=self.place.environment
        )


def _wait_for(name: str, ready: ServiceReady, service: Running, address: str | None) -> None:
    """Wait until a service is up.

    Raises:
        CannotTell: when it ends, or is not up in time, with its last output.
    """
    end = time.monotonic() + ready.timeout
    why = "it has no address"
    while True:
        interrupts.check()
        if (ended := service.ended()) is not None:
            raise CannotTell(f"the service {name!r} {ended} before it was ready", log=service.log.tail())
        problem = _probe(ready, address) if address else why
        if problem is None:
            return
        if time.monotonic() >= end:
            raise CannotTell(
                f"the service {name!r} was not ready after {ready.timeout:g} s: {problem}",
                hint=f"It must listen on 0.0.0.0. Its whole output is in {name}.log of the run directory.",
                log=service.log.tail(),
            )
        time.sleep(_POLL)


def _probe(ready: ServiceReady, address: str) -> str | None:
    """Look once. Returns what is missing, None when it is up."""
    try:
        if ready.tcp is not None:
            with socket.create_connection((address, ready.tcp), timeout=_PROBE_SECONDS):
                return None
        if ready.http is not None:
            url = f"http://{address}:{ready.http.port}{ready.http.path}"
            with (
                httpx.Client(trust_env=False, timeout=_PROBE_SECONDS) as client,
                client.stream("GET", url) as response,
            ):
                return None if response.is_success else f"GET {plain(ready.http.path)} answers {response.status_code}"
    except (OSError, httpx.HTTPError) as error:
        return f"no connection ({plain(str(error) or type(error).__name__)})"
    return None
