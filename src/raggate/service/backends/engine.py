"""The Docker engine: an environment -> a connection, the labels of a run, and a sweep of all that carries them."""

from __future__ import annotations

import contextlib
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from raggate.base.errors import CannotTell
from raggate.base.quote import cut
from raggate.service import signals

OLDEST_API = (1, 41)
"""Docker 20.10; older engines lack private IPC by default."""
INSTANCE = "raggate.instance"
"""Label with a random value per start, so that two runs of one job never take each other's containers."""
STEP = "raggate.step"
"""Label with a random value per step of a job, which only its own post step knows as well."""
STEP_VARIABLE = "STATE_STEP"
"""The variable with that value: the runner sets it for the post step from the step's state; the step sets it itself."""
CALL_SECONDS = 60.0
"""Seconds that one call may take. An engine that pulls and builds for others is slow, and not gone."""
_GREETING_SECONDS = 20.0
_TEARDOWN_SECONDS = 4.0  # a runner that cancels a step kills it 10 s later
_PATIENT_SECONDS = 30.0
_SWEEP_SECONDS = 30.0
_PAUSE = 0.5
_GRACE = 1
_TRIES = 4
_SOCKET = "unix:///var/run/docker.sock"
_ELSEWHERE = "Or do without Docker: use `api.url` for an API that you start, or `api.command` without `api.services`."
Client = Any
"""A `docker.APIClient`; the library has no types."""


@contextlib.contextmanager
def connected(
    environment: Mapping[str, str], *, seconds: float = CALL_SECONDS, greeting: float = _GREETING_SECONDS
) -> Iterator[Client]:
    """Connect to the engine that DOCKER_HOST names, or to the local one, without any registry credentials.

    A call that takes more than `seconds` fails, and the first, which costs no engine any work, after `greeting`.
    """
    import docker

    host = environment.get("DOCKER_HOST") or _SOCKET
    _check_socket(host)
    try:
        options = docker.utils.kwargs_from_env({**environment, "DOCKER_HOST": host})
        version = _version(options, greeting)
        client = docker.APIClient(version=version, timeout=seconds, **options)
    except engine_errors(ValueError) as error:
        raise CannotTell(
            f"the Docker engine at {cut(host)} does not answer: {reason(error)}",
            hint=f"Start it, or name another in DOCKER_HOST. {_ELSEWHERE}",
        ) from None
    try:
        if tuple(int(part) for part in version.split(".")) < OLDEST_API:
            raise CannotTell(
                f"the Docker engine at {cut(host)} is too old: API {cut(version)}",
                hint="Update it: raggate needs API 1.41, which came with Docker 20.10.",
            )
        # HOME may hold what an earlier step of the job has put there, and credentials name programs to run. An entry
        # that matches no registry keeps the library from reading them again; it has no switch for that:
        # https://github.com/docker/docker-py/issues/3070
        client._auth_configs = docker.auth.AuthConfig({"auths": {"registry.invalid": {}}})
        yield client
    finally:
        client.close()


def _version(options: Mapping[str, Any], seconds: float) -> str:
    """Ask for the engine's version, with a client that is closed even when there is no answer."""
    import docker

    client = docker.APIClient(version=".".join(map(str, OLDEST_API)), timeout=seconds, **options)
    try:
        return str(client.version(api_version=False)["ApiVersion"])
    except KeyError:
        raise ValueError("this is not a Docker engine") from None
    finally:
        client.close()


def _check_socket(host: str) -> None:
    if not host.startswith("unix://"):
        return
    path, is_socket = Path(host.removeprefix("unix://")), False
    with contextlib.suppress(OSError):
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    if not is_socket:
        raise CannotTell(
            f"there is no Docker socket at {cut(path)}, but `api.container` and `api.services` need a Docker engine",
            hint=f"Use a runner with Docker and hand its socket in, or set DOCKER_HOST. {_ELSEWHERE}",
        )


def engine_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """List what a call of the engine can raise, and what else is to be caught with it."""
    import docker
    import requests

    return (docker.errors.DockerException, requests.exceptions.RequestException, OSError, *more)


def reason(error: Exception) -> str:
    """Return in a few words why a call of the engine failed."""
    explanation = getattr(error, "explanation", None)
    text = str(explanation or error)
    if "Permission denied" in text:
        return "permission denied (add the user to the group that owns the socket, or run as root)"
    if "Connection refused" in text:
        return "connection refused"
    return cut(text, limit=400)


def step_label(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the label by which the post step finds what its step left; none where there is no step.

    What the runner tells of a job does not do: on some servers every run is number 1 of a runner without a name.
    """
    step = environment.get(STEP_VARIABLE)
    return {STEP: step} if step else {}


def labels(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of everything that one start creates. They are known before anything is."""
    instance = secrets.token_hex(8)
    known = {
        "raggate.run": environment.get("GITHUB_RUN_ID") or instance,
        "raggate.attempt": environment.get("GITHUB_RUN_ATTEMPT") or "1",
        "raggate.job": environment.get("GITHUB_JOB") or "local",
        "raggate.repository": environment.get("GITHUB_REPOSITORY") or "local",
    }
    return {**known, **step_label(environment), INSTANCE: instance}


def sweep(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Remove the containers, networks and volumes that a step left behind, from its post step.

    Outside a step there is nothing to tell its leftovers by, and nothing is removed. It can be called any number of
    times, and never touches what does not carry the step's own random label, which is in STATE_STEP. Returns what was
    removed, as `container NAME` and so on.
    """
    wanted = step_label(environment)
    if not wanted:
        return ()
    removed: list[str] = []
    end = time.monotonic() + _SWEEP_SECONDS
    with connected(environment, seconds=_PATIENT_SECONDS) as client:
        while True:
            gone, failed = remove_labelled(client, wanted, grace=0)
            removed += gone
            if not gone and (not failed or time.monotonic() > end):
                break
            # the engine still ends what a killed step had asked of it: what is being started cannot be removed yet
            time.sleep(_PAUSE)
    if failed:
        raise CannotTell(f"not everything could be removed: {'; '.join(failed)}")
    return tuple(removed)


def tear_down(environment: Mapping[str, str], wanted: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Stop and remove everything with these labels, in a hurry after a signal alone. What cannot be removed is said."""
    seconds = _TEARDOWN_SECONDS if signals.came() else _PATIENT_SECONDS
    try:
        with connected(environment, seconds=seconds, greeting=_TEARDOWN_SECONDS) as client:
            _, failed = remove_labelled(client, wanted, grace=_GRACE)
    except CannotTell as error:
        failed = (error.message,)
    for line in failed:
        say(f"could not clean up: {line}")


def remove_labelled(
    client: Client, wanted: Mapping[str, str], *, grace: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove containers, then networks, then volumes with all of these labels. Returns what went and what did not."""
    removed: list[str] = []
    failed: list[str] = []
    filters = {"label": [f"{name}={value}" for name, value in wanted.items()]}

    def each(kind: str, items: list[tuple[str, str]], remove: Callable[[str], None]) -> None:
        if not items:
            return
        with ThreadPoolExecutor(max_workers=8) as pool:
            outcomes = pool.map(lambda item: _attempt(remove, item[0]), items)
            for (_, name), problem in zip(items, outcomes, strict=True):
                if problem is None:
                    removed.append(f"{kind} {cut(name)}")
                else:
                    failed.append(f"{kind} {cut(name)}: {problem}")

    try:
        containers = client.containers(all=True, filters=filters)
        names = [(container["Id"], container["Names"][0].lstrip("/")) for container in containers]
        each("container", names, lambda name: _remove_container(client, name, grace))
        names = [(network["Id"], network["Name"]) for network in client.networks(filters=filters)]
        each("network", names, lambda name: _remove_network(client, name))
        volumes = client.volumes(filters=filters)["Volumes"] or ()
        each("volume", [(volume["Name"], volume["Name"]) for volume in volumes], client.remove_volume)
    except engine_errors() as error:
        failed.append(f"the Docker engine does not answer: {reason(error)}")
    return tuple(removed), tuple(failed)


def _attempt(remove: Callable[[str], None], name: str) -> str | None:
    import docker

    problem = ""
    for attempt in range(_TRIES):
        try:
            remove(name)
        except docker.errors.NotFound:
            return None
        except engine_errors() as error:
            problem = reason(error)
            if not isinstance(error, docker.errors.APIError):
                break  # a second wait for an engine that does not answer would use up the time
            time.sleep(0.1 * (attempt + 1))
        else:
            return None
    return problem


def _remove_container(client: Client, name: str, grace: int) -> None:
    if grace:
        client.stop(name, timeout=grace)
    client.remove_container(name, force=True, v=True)


def _remove_network(client: Client, name: str) -> None:
    # raggate's own container may still be connected, or the one that lends it its network
    for container in client.inspect_network(name).get("Containers") or ():
        with contextlib.suppress(*engine_errors()):
            client.disconnect_container_from_network(container, name, force=True)
    client.remove_network(name)
