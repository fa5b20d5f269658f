"""Two commits on GitHub -> which notes of the vaults differ between them, by the ids of their contents alone."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from raggate.gate.compare import note_changes
from raggate.github.rest.git_objects import Objects
from raggate.inputs.git_objects import find
from raggate.models.comparison import NoteChange

_SKIPPED = ".obsidian"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vaults:
    """The vaults of a commit: its full id, and the directory of each vault, as a path in the repository."""

    commit: str
    directories: Mapping[str, str]


def compare(objects: Objects, before: Vaults, now: Vaults) -> tuple[NoteChange, ...]:
    """Name the notes that were added, removed and changed, sorted.

    Args:
        objects: those of a repository that knows both commits.
        before: the vaults of one commit.
        now: the vaults of the other.

    Raises:
        GitHubError: when a tree cannot be read.
        UsageError: for a directory that is too large, or a name that cannot be used.
    """
    old, new = (_notes(objects, vaults) for vaults in (before, now))
    return note_changes(old, new)


def _notes(objects: Objects, vaults: Vaults) -> dict[str, str]:
    top = objects.tree_of(vaults.commit)
    notes: dict[str, str] = {}
    for name, directory in vaults.directories.items():
        tree = find(objects, top, directory)
        for path, entry in objects.walk(tree.id) if tree is not None and tree.kind == "tree" else ():
            # an index has no document for an empty file
            is_note = entry.kind == "link" or (entry.kind == "file" and entry.size > 0)
            if is_note and posixpath.splitext(path)[1] == ".md" and _SKIPPED not in path.split("/")[:-1]:
                notes[f"{name}/{path}"] = entry.id
    return notes
