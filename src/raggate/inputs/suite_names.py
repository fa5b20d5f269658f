"""The name of a suite whose configuration cannot be used: what goes wrong is told in the comment of that suite."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from raggate.config.schema import Config
from raggate.config.values import Name
from raggate.errors import RaggateError, UsageError
from raggate.inputs import sources
from raggate.text import yamlio

_LINE = re.compile(r"^suite:[ \t]*([\"']?)([A-Za-z0-9._-]+)\1[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_NAME: TypeAdapter[str] = TypeAdapter(Name)


def find(root: Path, config_name: str, *, against: str | None, remote: sources.Remote | None) -> str | None:
    """Find the name a configuration gives its suite, whatever else is wrong with it. Never raises for a broken file.

    Args:
        against: the revision that is trusted; where that has no name, the working tree's counts. None for none.
        remote: opens that revision where the local repository does not have it.

    Returns:
        The name; None when neither has one that could be used.
    """
    return (at(root, config_name, against, remote) if against else None) or _in(
        sources.WorkTree(root, confined=True), config_name
    )


def at(root: Path, config_name: str, revision: str | None, remote: sources.Remote | None) -> str | None:
    """Find that name at one revision alone; None for the working tree."""
    if revision is None:
        return _in(sources.WorkTree(root, confined=True), config_name)
    try:
        with sources.at(root, revision, remote) as source:
            return _in(source, config_name)
    except (RaggateError, OSError):
        return None


def _in(source: sources.Source, config_name: str) -> str | None:
    try:
        content = source.read(config_name)
    except (RaggateError, OSError):
        return None
    try:
        return _NAME.validate_python(_named(content))
    except ValidationError:
        return None


def _named(content: bytes) -> object:
    try:
        value = yamlio.parse(content, "").value
    except UsageError:
        # no YAML at all: the line may be there all the same
        line = _LINE.search(content.decode("utf-8-sig", "replace"))
        return line[2] if line else None
    return value.get("suite", Config.model_fields["suite"].default) if isinstance(value, dict) else None
