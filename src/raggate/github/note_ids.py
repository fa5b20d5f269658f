"""A commit on GitHub -> the notes of its vaults, by the ids of their contents alone."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from raggate.github.rest.git_objects import Objects
from raggate.inputs.committed import refuse_name
from raggate.inputs.git_objects import find

_SKIPPED = ".obsidian"


def note_ids(objects: Objects, commit: str, directories: Mapping[str, str]) -> dict[str, str]:
    """Give the id of the content of each note, by the name of its vault and its path in it.

    Args:
        objects: those of a repository that has the commit.
        commit: its full id.
        directories: the directory of each vault, as a path in the repository, by the vault's name.

    Raises:
        GitHubError: when a tree cannot be read.
        UsageError: for a directory that is too large, or a name that cannot be used.
    """
    top = objects.tree_of(commit)
    notes: dict[str, str] = {}
    for name, directory in directories.items():
        tree = find(objects, top, directory)
        for path, entry in objects.walk(tree.id) if tree is not None and tree.kind == "tree" else ():
            refuse_name(path)
            # an index has no document for an empty file
            is_note = entry.kind == "link" or (entry.kind == "file" and entry.size > 0)
            if is_note and posixpath.splitext(path)[1] == ".md" and _SKIPPED not in path.split("/")[:-1]:
                notes[f"{name}/{path}"] = entry.id
    return notes
