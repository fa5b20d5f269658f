"""How to start an API. A backend is one module with `start`; add its file, what loads it, and one line to BACKENDS.

An API that already runs needs no backend.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from raggate.models.service import Started, Workspace

Start = Callable[[Any, Workspace], AbstractContextManager[Started]]
"""Takes the backend's own settings and the place; on exit everything that was started is gone, whatever happened."""


# each is loaded only for those who use it


def _command(settings: Any, workspace: Workspace) -> AbstractContextManager[Started]:
    from raggate.service.backends import command

    return command.start(settings, workspace)


def _container(settings: Any, workspace: Workspace) -> AbstractContextManager[Started]:
    from raggate.service.backends import container

    return container.start(settings, workspace)


BACKENDS: dict[str, Start] = {
    "command": _command,
    "container": _container,
}
