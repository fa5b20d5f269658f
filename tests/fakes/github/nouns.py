"""What a repository of the fake holds beside git objects: pull requests, comments and artifacts; and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.github.world import Repository


@dataclass(frozen=True)
class Symlink:
    """A symbolic link among the files of a commit."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """A submodule among the files of a commit."""

    sha: str


Content = bytes | str | Symlink | Submodule | None


@dataclass(frozen=True)
class Token:
    """Who speaks, and what the token may do: permission -> "read" or "write"; None allows everything."""

    value: str
    login: str
    permissions: Mapping[str, str] | None

    @property
    def is_bot(self) -> bool:
        """Whether this is the token of an app, such as the one of a workflow."""
        return self.login.endswith("[bot]")


@dataclass
class Pull:
    """A pull request; `head_repo` is None when the fork was deleted."""

    number: int
    head_sha: str
    head_repo: Repository | None
    head_ref: str
    base_ref: str
    base_sha: str
    state: str = "open"
    locked: bool = False
    merged: bool = False
    title: str = "A change"
    body: str | None = None
    login: str = "octocat"


@dataclass
class Issue:
    """An issue that is no pull request; the two share their numbers."""

    number: int
    login: str
    title: str
    body: str | None = None
    state: str = "open"
    state_reason: str | None = None


@dataclass
class Comment:
    """A comment of a pull request; `minimized` is the reason it is hidden for."""

    id: int
    number: int
    login: str
    type: str
    body: str
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        """Return the id that GraphQL knows it under."""
        return f"IC_fake{self.id}"


@dataclass
class Artifact:
    """What a workflow run uploaded."""

    id: int
    run_id: int
    name: str
    content: bytes
    digest: str | None
    expired: bool
    signature: str
