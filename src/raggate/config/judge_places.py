"""Where the files of judges may not be, in a configuration: what raggate adds to must be nobody else's. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raggate.config.schema import Config

Key = tuple[str, ...]
"""Where a value stands in the configuration."""

_CASSETTE: Key = ("judges", "cassette")


def misplaced(config: Config) -> tuple[Key, str] | None:
    """Name a cassette or canary set in git's own directory, among the notes or in place of another file.

    Returns:
        The key, and what was expected there and found; None where every file has a place of its own.
    """
    judges = config.judges
    if judges is None:
        return None
    canary: dict[Key, str] = {} if judges.canary is None else {("judges", "canary", "file"): judges.canary.file}
    own: dict[Key, str] = {_CASSETTE: judges.cassette, **canary}
    for key, path in own.items():
        if in_git(path):
            return key, f"expected a file that is committed; found {path!r} in git's own directory"
        for name, vault in config.vault.items():
            # notes that lie beside everything else leave no other place
            if vault != "." and PurePosixPath(path).is_relative_to(vault):
                return key, f"expected a file outside the notes; found {path!r} in vault {name!r}"
    others: dict[Key, str] = {("golden",): config.golden, ("baseline",): config.baseline_path, **canary}
    for key, path in others.items():
        if path == judges.cassette:
            return _CASSETTE, f"expected a file of its own; found {path!r}, which is that of '{'.'.join(key)}'"
    return None


def in_git(path: str) -> bool:
    """Return whether a path leads into git's own directory, however a file system that ignores case spells it."""
    return any(part.casefold() == ".git" for part in PurePosixPath(path).parts)
