"""Settings of a container -> the id of its image: found on this machine, pulled, or built."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

from raggate.config.service_settings import Contained
from raggate.errors import CannotTell
from raggate.models.service import Workspace
from raggate.service.backends import builds, event_stream, pull_errors
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.text.numbers import setting
from raggate.text.quote import cut

_TRIES = 3
_PULL_SECONDS = 600.0
_SILENCE = 120.0
_LAST_PORT = 65_535


def obtain(client: Client, settings: Contained, *, key: str, workspace: Workspace) -> str:
    """Give the id of the image.

    Args:
        client: the engine.
        settings: name the image or how to build it.
        key: their place in the configuration, for messages.
        workspace: where a build's context lies and its log goes, and what takes progress messages.

    Raises:
        UsageError: for a build context that is not there.
        CannotTell: when the image cannot be had.
    """
    if settings.build is not None:
        return builds.build(client, settings.build, key=key, workspace=workspace)
    name = settings.image or ""
    image = _local(client, name, key)
    if image is None and settings.pull == "never":
        raise CannotTell(
            f"{key}.image: there is no image {name!r} on this machine, and `pull: never` forbids to pull it",
            hint="Build or pull it in a step before raggate.",
        )
    if image is None:
        _pull(client, name, key, workspace.say)
        image = _local(client, name, key)
    if image is None:
        raise CannotTell(f"{key}.image: {name!r} was pulled, but is not there")
    return image


def identity(client: Client, settings: Contained, image: str) -> str:
    """Name an image so that nothing else can be meant: by its name and digest where a registry has it, else by its id.

    Args:
        client: the engine.
        settings: name the image or how to build it.
        image: the id that `obtain` gave.
    """
    name = settings.image if settings.build is None else None
    if name is None or "@sha256:" in name:
        return name or image
    try:
        known = client.inspect_image(image).get("RepoDigests") or ()
    except engine_errors():
        # what it is to be used for says what is wrong
        return image
    wanted = _repository(name)
    return next((digest for digest in sorted(map(str, known)) if _repository(digest) == wanted), image)


def _repository(name: str) -> str:
    """Give the repository of an image's name, with the registry and the folder that Docker leaves out."""
    path = name.partition("@")[0]
    # a colon before a slash is that of a port
    head, slash, last = path.rpartition("/")
    path = f"{head}{slash}{last.partition(':')[0]}"
    first, slash, rest = path.partition("/")
    if not slash or not ({".", ":"} & set(first) or first == "localhost"):
        first, rest = "docker.io", path
    first = "docker.io" if first == "index.docker.io" else first
    return f"{first}/{'library/' if first == 'docker.io' and '/' not in rest else ''}{rest}"


def declared_volumes(client: Client, image: str) -> list[str]:
    """List the directories for which the image wants volumes of its own."""
    return sorted((client.inspect_image(image).get("Config") or {}).get("Volumes") or ())


def declared_ports(client: Client, image: str) -> list[int]:
    """List the TCP ports that the image says it listens on."""
    named = (client.inspect_image(image).get("Config") or {}).get("ExposedPorts") or ()
    matches = (re.fullmatch(r"([1-9][0-9]{0,4})/tcp", str(name)) for name in named)
    return sorted(int(port[1]) for port in matches if port is not None and int(port[1]) <= _LAST_PORT)


def _local(client: Client, name: str, key: str) -> str | None:
    import docker

    try:
        return str(client.inspect_image(name)["Id"])
    except docker.errors.NotFound:
        return None
    except docker.errors.APIError as error:
        raise CannotTell(f"{key}.image: {name!r} cannot be looked up: {reason(error)}") from None


def _pull(client: Client, name: str, key: str, say: Callable[[str], None]) -> None:
    say(f"pulling {name}")
    end = time.monotonic() + _PULL_SECONDS
    why = ""
    for attempt in range(1, _TRIES + 1):
        try:
            _pull_once(client, name, end)
        except event_stream.Late:
            raise CannotTell(
                f"{key}.image: {name!r} could not be pulled: nothing was heard of it for {setting(_SILENCE)} s, or it "
                f"was not finished after {setting(_PULL_SECONDS)} s",
                hint="Does its registry answer? Try again later, or pull it in a step before.",
            ) from None
        except engine_errors(event_stream.Failed) as error:
            why = cut(error) if isinstance(error, event_stream.Failed) else reason(error)
        else:
            return
        if (problem := pull_errors.lasting(name, why)) is not None:
            raise CannotTell(f"{key}.image: {name!r} {problem.problem}: {why}", hint=problem.hint)
        if attempt < _TRIES and time.monotonic() < end:
            _pause(attempt)
    silent = "; the registry does not answer" if pull_errors.unanswered(name, why) else ""
    raise CannotTell(
        f"{key}.image: {name!r} could not be pulled in {_TRIES} attempts{silent}: {why}",
        hint="Try again later, or pull it in a step before.",
    )


def _pull_once(client: Client, name: str, end: float) -> None:
    import docker

    repository, tag = docker.utils.parse_repository_tag(name)
    # empty credentials, and not none: none would make the library look for some
    for _ in event_stream.events(
        client,
        lambda: client.pull(repository, tag=tag or "latest", stream=True, decode=True, auth_config={}),
        end=end,
        silence=_SILENCE,
    ):
        continue


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0.5, 1.5) * 2**attempt)  # noqa: S311 - only keeps many runners from asking at once
