"""Settings of a build -> the id of its image, and nothing left of the one that it takes the place of."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from raggate.config.service_settings import Build
from raggate.errors import CannotTell, SettingError
from raggate.models.service import Workspace
from raggate.service import dockerignore
from raggate.service.backends import event_stream
from raggate.service.backends.engine import Client, engine_errors, reason
from raggate.service.backends.processes import Log
from raggate.text.numbers import setting
from raggate.text.quote import cut, quoted

BUILT = "raggate.built"
"""Label of the images that raggate has built, for `docker image prune --filter label=raggate.built`."""

_INSTEAD = (
    "Write it, or name what is there: `build.context` is a directory, `build.dockerfile` a file in it. `image` names "
    "an image in place of `build`; `api.command` and `api.url` need neither, see docs/containers.md."
)
_RUN_DIRECTORIES = f"{'[0-9]' * 8}_{'[0-9]' * 6}*"


def build(client: Client, settings: Build, *, key: str, workspace: Workspace) -> str:
    """Build the image and give its id.

    Args:
        workspace: where the context lies, and where build.log goes.

    Raises:
        SettingError: for a context or a Dockerfile that is not there.
        CannotTell: when it fails or takes too long.
    """
    root = workspace.root.resolve()
    context = (root / settings.context).resolve()
    if not context.is_dir() or not context.is_relative_to(root):
        problem = f"{quoted(settings.context)} is not a directory of the repository"
        raise SettingError(f"{key}.build.context", problem, hint=_INSTEAD)
    if not (context / settings.dockerfile).is_file():
        problem = f"there is no {quoted(settings.dockerfile)} in {quoted(settings.context)}"
        raise SettingError(f"{key}.build.dockerfile", problem, hint=_INSTEAD)
    workspace.say(f"building the image ({key}.build)")
    with Log(workspace.out / "build.log") as log:
        try:
            image = _run(
                client,
                settings,
                context,
                _kept_out(context, workspace.runs or workspace.out.parent),
                _mark(key, workspace),
                log,
            )
        except event_stream.Late:
            raise CannotTell(
                f"{key}.build: the image was not built after {setting(settings.timeout)} s (`build.timeout`)",
                hint="The whole output is in build.log of the run directory.",
                log=log.tail(),
            ) from None
        except engine_errors(event_stream.Failed) as error:
            why = cut(error) if isinstance(error, event_stream.Failed) else reason(error)
            raise CannotTell(
                f"{key}.build: the image could not be built: {why}",
                hint="The whole output is in build.log of the run directory. The builder is the engine's own; a "
                "Dockerfile that needs BuildKit is built in a step before and named by `image`.",
                log=log.tail(),
            ) from None
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

    end = time.monotonic() + settings.timeout
    image = None
    with docker.utils.build.tar(str(context), exclude=kept_out, dockerfile=(settings.dockerfile, None)) as packed:
        for event in event_stream.events(client, lambda: _events(client, settings, packed, mark), end=end):
            if text := event.get("stream"):
                log.feed(text.encode())
            if "error" in event:
                log.feed(f"{event['error']}\n".encode())
            if "ID" in (event.get("aux") or {}):
                image = str(event["aux"]["ID"])
    return image


def _events(client: Client, settings: Build, packed: Any, mark: str) -> Iterator[Any]:
    import docker

    events: Iterator[Any] = docker.utils.json_stream.json_stream(
        client.build(
            fileobj=packed,
            custom_context=True,
            dockerfile=settings.dockerfile,
            target=settings.target or "",
            buildargs=settings.args,
            labels={BUILT: mark},
            rm=True,
            forcerm=True,
            use_config_proxy=False,
        )
    )
    return events


def _kept_out(context: Path, runs: Path) -> list[str]:
    """List what does not belong to a build: what .dockerignore says and, whatever it says, the run directories.

    They differ at every start, and the image would be built anew each time.
    """
    patterns = dockerignore.patterns(context)
    if runs == context:
        return [*patterns, _RUN_DIRECTORIES]
    if not runs.is_relative_to(context):
        return patterns
    return [*patterns, re.sub(r"[^\w./-]", "?", runs.relative_to(context).as_posix())]
