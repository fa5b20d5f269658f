"""What other packages plug into the gate: names by group, read from the entry points of installed distributions.

importlib.metadata reads them too, and takes almost as long to load as all else that `raggate --help` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from raggate.base.errors import UsageError

COMMANDS = "raggate.commands"
"""By the name of the command: the click command."""
GOLDEN_FORMATS = "raggate.golden_formats"
"""By the name for `raggate golden import --from`: a module with `read(path)` and `recognises(path)`."""
ADAPTERS = "raggate.adapters"
"""By the name for `ask.adapter`: what makes an adapter that runs `api.command` for the questions."""
METRICS_FILES = "raggate.metrics_files"
"""By the name of a system: its `raggate.gate.other_systems.OtherSystem`."""
COMPAT = "raggate.compat"
"""By the name for `score.compat`: its `raggate.gate.other_systems.Scores`."""

_INSTALL = "Install raggate again, as you installed it: `pip install raggate-ci`, or in a checkout `pip install -e .`."


@cache
def names(group: str) -> tuple[str, ...]:
    """Return the names in a group, sorted."""
    return tuple(sorted(_entry_points().get(group, {})))


@cache
def load(group: str, name: str) -> Any:
    """Return what a name of a group stands for."""
    value = _entry_points()[group][name]
    module, _, attribute = value.partition(":")
    try:
        loaded = import_module(module)
        return attrgetter(attribute)(loaded) if attribute else loaded
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the entry point {name} = {value} of {group} cannot be loaded: {error}", hint=_INSTALL
        ) from None


@cache
def _entry_points() -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for file in _files():
        group = ""
        for line in map(str.strip, file.read_text(encoding="utf-8").splitlines()):
            if line.startswith("["):
                group = line.strip("[]")
            elif "=" in line and not line.startswith("#") and group.startswith("raggate."):
                name, _, value = line.partition("=")
                groups.setdefault(group, {}).setdefault(name.strip(), value.strip())
    return groups


def _files() -> Iterator[Path]:
    """Find the file of each distribution; of two of one name that counts which stands first on the path."""
    seen = set()
    for folder in map(Path, sys.path):
        for directory in folder.glob("*.dist-info"):
            distribution = directory.name.partition("-")[0]
            file = directory / "entry_points.txt"
            if distribution not in seen and file.is_file():
                yield file
            seen.add(distribution)
