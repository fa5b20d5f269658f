"""How to start an API. A backend is one module with `start`; add its file, what loads it, and one line to BACKENDS.

An API that already runs needs no backend.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from raggate.config.service_settings import Api
from raggate.models.service import Started, Workspace

Start = Callable[[Api, Workspace], AbstractContextManager[Started]]
"""Takes the settings and the place; on exit everything that was started is gone, whatever happened."""


# each is loaded only for those who use it


def _command(api: Api, workspace: Workspace) -> AbstractContextManager[Started]:
    from raggate.service.backends import command

    return command.start(api, workspace)


def _container(api: Api, workspace: Workspace) -> AbstractContextManager[Started]:
    from raggate.service.backends import container

    return container.start(api, workspace)


BACKENDS: dict[str, Start] = {
    "command": _command,
    "container": _container,
}
