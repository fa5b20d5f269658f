"""Where the files of judges may not be, in a configuration: what raggate adds to must be nobody else's. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raggate.config.schema import Config


def check(config: Config) -> None:
    """Refuse a cassette or canary set in git's own directory, among the notes or in place of another file.

    Raises:
        ValueError: naming the key, and what it expects.
    """
    judges = config.judges
    if judges is None:
        return
    canary = {"judges.canary.file": judges.canary.file} if judges.canary is not None else {}
    for key, path in {"judges.cassette": judges.cassette, **canary}.items():
        if in_git(path):
            raise ValueError(f"{key}: expected a file that is committed, found {path!r} in git's own directory")
        for name, vault in config.vault.items():
            # notes that lie beside everything else leave no other place
            if vault != "." and PurePosixPath(path).is_relative_to(vault):
                raise ValueError(f"{key}: expected a file outside the notes, found {path!r} in vault {name!r}")
    others = {"golden": config.golden, "baseline": config.baseline_path, **canary}
    for key, path in others.items():
        if path == judges.cassette:
            raise ValueError(f"judges.cassette: expected a file of its own, found {path!r}, which is that of '{key}'")


def in_git(path: str) -> bool:
    """Say whether a path leads into git's own directory, however a file system that ignores case spells it."""
    return any(part.casefold() == ".git" for part in PurePosixPath(path).parts)
