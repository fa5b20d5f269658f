"""A repository on GitHub and the API it is asked through: its branches, its workflow runs, which commit holds which."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from msgspec import Struct

from raggate.base.jsonio import fields
from raggate.github.rest.client import GitHub, unexpected
from raggate.inputs.git_objects import is_id


class Repository(Struct, frozen=True):
    """A repository on GitHub, `owner/name`."""

    github: GitHub
    name: str

    @property
    def path(self) -> str:
        """Where it is, below the API's base."""
        return f"/repos/{quote(self.name)}"

    def default_branch(self) -> str:
        """Name its default branch; empty when GitHub does not say."""
        return str(fields(self.github.get(self.path)).get("default_branch") or "")

    def head_of(self, branch: str) -> str | None:
        """Return the full id of the commit a branch is at, None when there is no such branch."""
        reference = self.github.find(f"{self.path}/git/ref/heads/{quote(branch)}")
        return None if reference is None else sha_of(fields(reference).get("object"), "the ref of a branch")

    def contains(self, commit: str, *, head: str) -> bool:
        """Return whether a commit is the one named `head`, or can be reached from it; both by their full ids."""
        comparison = self.github.find(f"{self.path}/compare/{quote(commit)}...{quote(head)}", per_page=1)
        if comparison is None:
            # GitHub does not have the commit, or the two have nothing in common
            return False
        status = fields(comparison).get("status")
        if status not in {"ahead", "behind", "identical", "diverged"}:
            raise unexpected("a comparison of two commits")
        return status in {"ahead", "identical"}

    def may_write(self, login: str) -> bool:
        """Return whether a person may write to it, by the role they have now.

        GitHub gives a role that maintains as one that writes, and one of the organisation's own as what it builds on.
        """
        held = fields(self.github.find(f"{self.path}/collaborators/{quote(login, safe='')}/permission"))
        person = fields(held.get("user"))
        same = str(person.get("login")).lower() == login.lower() and person.get("type") == "User"
        return same and held.get("permission") in {"admin", "write"}

    def workflow_run(self, run: int) -> dict[str, Any]:
        """Return what GitHub says of a workflow run by its id; nothing when there is none."""
        return fields(self.github.find(f"{self.path}/actions/runs/{run}"))


def sha_of(content: object, expected: str) -> str:
    """Return the full id that an answer of GitHub's has."""
    value = fields(content).get("sha")
    if not is_id(value):
        raise unexpected(expected)
    return str(value)
