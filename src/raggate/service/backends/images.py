"""Settings of an image -> its id: found on this machine, pulled, or built. Nothing is left of the one it replaces."""

from __future__ import annotations

import contextlib
import hashlib
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from raggate.base.errors import CannotTell, SettingError
from raggate.base.numbers import setting
from raggate.base.quote import cut, quoted
from raggate.config.service_settings import BUILD_SECONDS, Build, Container
from raggate.models.service import Workspace
from raggate.service import build_context, signals
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.service.backends.processes import Log

_TEMPORARY = re.compile(
    r"no such host|dial tcp|\b(?:timeout|timed out|deadline|refused|reset|50[0234])\b|(?-i:\bEOF\b)", re.IGNORECASE
)
"""What the engine says when a registry does not answer: only that may be different at the next attempt."""
_PULL_HINT = (
    "Is the name right, in lower case, and made for this machine's processor? raggate pulls without credentials, which "
    "a registry may limit. If your image is private, log in and `docker pull` it in a step before raggate."
)
_TRIES = 3
_PULL_SECONDS = 600.0
_SILENCE = 120.0
_LAST_PORT = 65_535
BUILT = "raggate.built"
"""Label of the images that raggate has built, for `docker image prune --filter label=raggate.built`."""
_INSTEAD = (
    "Write it, or name what is there: `build.context` is a directory, `build.dockerfile` a file in it. Or name a ready "
    "`image` instead of `build`. `api.command` and `api.url` need neither, see docs/containers.md."
)
_RUN_DIRECTORIES = f"{'[0-9]' * 8}_{'[0-9]' * 6}*"


def obtain(client: Client, settings: Container, *, key: str, workspace: Workspace) -> str:
    """Return the id of the image."""
    if settings.build is not None:
        return build(client, settings.build, key=key, workspace=workspace)
    name = settings.image or ""
    if (image := _local(client, name, key)) is None:
        _pull(client, name, key, workspace.say)
        image = _local(client, name, key)
    if image is None:
        raise CannotTell(f"{key}.image: {name!r} was pulled, but is not there")
    return image


def identity(client: Client, settings: Container, image: str) -> str:
    """Name an image without doubt: by its name and digest if a registry has it, else by its id."""
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
    """Return the repository of an image's name, with the registry and the folder that Docker leaves out."""
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
        except Late:
            raise CannotTell(
                f"{key}.image: {name!r} could not be pulled: its registry was silent for {setting(_SILENCE)} s, or "
                f"the pull took more than {setting(_PULL_SECONDS)} s",
                hint="Check that its registry answers. Try again later, or pull the image in a step before raggate.",
            ) from None
        except engine_errors(Failed) as error:
            why = cut(error) if isinstance(error, Failed) else reason(error)
        else:
            return
        if _TEMPORARY.search(why) is None:
            raise CannotTell(f"{key}.image: {name!r} could not be pulled: {why}", hint=_PULL_HINT)
        if attempt < _TRIES and time.monotonic() < end:
            _pause(attempt)
    raise CannotTell(
        f"{key}.image: {name!r} could not be pulled in {_TRIES} attempts because the registry does not answer: {why}",
        hint="Try again later, or pull the image in a step before raggate.",
    )


def _pull_once(client: Client, name: str, end: float) -> None:
    import docker

    repository, tag = docker.utils.parse_repository_tag(name)

    def pull() -> Iterable[Any]:
        # empty credentials, and not none: none would make the library look for some
        pulled: Iterable[Any] = client.pull(repository, tag=tag or "latest", stream=True, decode=True, auth_config={})
        return pulled

    for _ in events(client, pull, end=end, silence=_SILENCE):
        continue


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0.5, 1.5) * 2**attempt)  # noqa: S311 - only keeps many runners from asking at once


class Late(Exception):
    """The time is over, or nothing was heard for too long."""


class Failed(Exception):
    """The engine said, in an event, what went wrong. Untrusted text."""


def events(
    client: Client, call: Callable[[], Iterable[Any]], *, end: float, silence: float = math.inf
) -> Iterator[Any]:
    """Yield the events of a call as they come; the connection is closed at the end, and the engine's work with it.

    Nothing else may use the client meanwhile. `Late` is raised when it is not over at `end` by `time.monotonic`, or
    when nothing comes for the seconds of `silence`; `Failed` after the event that says so.
    """
    import requests
    import urllib3

    responses: list[Any] = []
    send = client.send

    def left() -> float:
        return max(min(end - time.monotonic(), silence), 0.01)

    def bounded(request: Any, **options: Any) -> Any:
        responses.append(send(request, **{**options, "timeout": left()}))
        return responses[-1]

    client.send = bounded
    try:
        for event in call():
            signals.check()
            yield event
            if "error" in event:
                raise Failed(str(event["error"]).strip())
            if time.monotonic() >= end:
                raise Late
            _wait_at_most(responses[-1], left())
    except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError):
        raise Late from None
    finally:
        client.send = send
        for response in responses:
            response.close()


def _wait_at_most(response: Any, seconds: float) -> None:
    # the library sets the time for one read when the request is sent, and has no way to change it
    with contextlib.suppress(AttributeError, OSError):
        response.raw._fp.fp.raw._sock.settimeout(seconds)


def build(client: Client, settings: Build, *, key: str, workspace: Workspace) -> str:
    """Build the image and give its id."""
    root = workspace.root.resolve()
    context = (root / settings.context).resolve()
    if not context.is_dir() or not context.is_relative_to(root):
        problem = f"{quoted(settings.context)} is not a directory of the repository"
        raise SettingError(f"{key}.build.context", problem, hint=_INSTEAD)
    if not (context / settings.dockerfile).is_file():
        problem = f"there is no {quoted(settings.dockerfile)} in {quoted(settings.context)}"
        raise SettingError(f"{key}.build.dockerfile", problem, hint=_INSTEAD)
    workspace.say(f"building the image ({key}.build)")
    kept_out = _kept_out(context, workspace.runs or workspace.out.parent)
    hint = "The whole output is in build.log of the run directory."
    with Log(workspace.out / "build.log") as log:
        try:
            image = _run(client, settings, context, kept_out, _mark(key, workspace), log)
        except Late:
            problem = f"{key}.build: the image was not built after {BUILD_SECONDS} s"
            raise CannotTell(problem, hint=hint, log=log.tail()) from None
        except engine_errors(Failed) as error:
            why = cut(error) if isinstance(error, Failed) else reason(error)
            hint += (
                " If your Dockerfile needs BuildKit, which the engine's own builder lacks, build it in a step before "
                "and name it by `image`."
            )
            raise CannotTell(f"{key}.build: the image could not be built: {why}", hint=hint, log=log.tail()) from None
        if image is None:
            raise CannotTell(f"{key}.build: the build named no image", log=log.tail())
    return image


def remove_superseded(client: Client, image: str, *, key: str, workspace: Workspace) -> None:
    """Remove what earlier starts have built by the same settings, unless another run uses it or somebody named it."""
    filters = {"label": f"{BUILT}={_mark(key, workspace)}", "dangling": True}
    with contextlib.suppress(*engine_errors()):
        for old in client.images(filters=filters):
            if old["Id"] != image:
                with contextlib.suppress(*engine_errors()):
                    client.remove_image(old["Id"])


def _mark(key: str, workspace: Workspace) -> str:
    repository = workspace.environment.get("GITHUB_REPOSITORY", "")
    return hashlib.sha256(f"{repository}\0{workspace.source or workspace.root}\0{key}".encode()).hexdigest()[:16]


def _run(client: Client, settings: Build, context: Path, kept_out: list[str], mark: str, log: Log) -> str | None:
    import docker

    end = time.monotonic() + BUILD_SECONDS
    image = None

    def built() -> Iterator[Any]:
        options = {"custom_context": True, "rm": True, "forcerm": True, "use_config_proxy": False}
        told = client.build(fileobj=packed, dockerfile=settings.dockerfile, labels={BUILT: mark}, **options)
        events: Iterator[Any] = docker.utils.json_stream.json_stream(told)
        return events

    with docker.utils.build.tar(str(context), exclude=kept_out, dockerfile=(settings.dockerfile, None)) as packed:
        for event in events(client, built, end=end):
            if text := event.get("stream"):
                log.feed(text.encode())
            if "error" in event:
                log.feed(f"{event['error']}\n".encode())
            if "ID" in (event.get("aux") or {}):
                image = str(event["aux"]["ID"])
    return image


def _kept_out(context: Path, runs: Path) -> list[str]:
    """List what does not belong to a build: what .dockerignore says and, whatever it says, the run directories.

    They differ at every start, and the image would be built anew each time.
    """
    patterns = build_context.patterns(context)
    if runs == context:
        return [*patterns, _RUN_DIRECTORIES]
    if not runs.is_relative_to(context):
        return patterns
    return [*patterns, re.sub(r"[^\w./-]", "?", runs.relative_to(context).as_posix())]
