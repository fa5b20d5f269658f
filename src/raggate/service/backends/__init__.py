"""How to start an API. A backend is one module with `start`; add its file and one line to BACKENDS.

An API that already runs needs no backend.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from raggate.models.service import Started, Workspace
from raggate.service.backends.command import start as start_command
from raggate.service.backends.container import start as start_container

Start = Callable[[Any, Workspace], AbstractContextManager[Started]]
"""Takes the backend's own settings and the place; on exit everything that was started is gone, whatever happened."""

BACKENDS: dict[str, Start] = {
    "command": start_command,
    "container": start_container,
}
