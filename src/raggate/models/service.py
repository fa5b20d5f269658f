"""The nouns of bringing an API up and asking it. Frozen, but for the protocol of a started API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from msgspec import Struct, field

from raggate.base.jsonio import JsonObject
from raggate.base.redact import Guarded


class Workspace(Guarded, Struct, frozen=True, kw_only=True):
    """Where a backend works: directories, and the environment it may hand on from.

    `root` is the directory of the configuration, `out` the run directory, `runs` the one that all of them are in (by
    default that of `out`), `vaults` maps a name to its directory. All are absolute and exist. `environment` is
    raggate's own; a backend passes on only what its settings name. `say` takes a line about what it does or could not
    undo. `in_action` tells whether raggate was started as the container action. No log that it keeps may hold one of
    the `secrets`. `identified` takes what names the image of the API exactly, where it runs from one:
    `name@sha256:...`, or `sha256:...` of an image that no registry knows. `run` names this start and no other, by
    letters, digits and `_`. `source` says whose source `root` holds, so that an image that is built from it takes the
    place of the one before, wherever the source lay; empty for `root` itself.
    """

    root: Path
    out: Path
    vaults: dict[str, Path]
    environment: Mapping[str, str]
    say: Callable[[str], None] = field(default=lambda _: None)
    in_action: bool = False
    runs: Path | None = None
    secrets: tuple[str, ...] = ()
    identified: Callable[[str], None] = field(default=lambda _: None)
    source: str = ""
    run: str = field(default_factory=lambda: f"run_{token_hex(6)}")


class ProcessExit(Struct, frozen=True, kw_only=True):
    """How a process or container ended.

    Attributes:
        message: that in words that follow its name: `exited with code 3`, `was killed by SIGKILL`. May hold foreign
            text.
        code: its exit code; None where it has none or it is not known.
        signal: the name of the signal that killed it.
        out_of_memory: whether that was for using more memory than it may.
        service: the service of the API that ended, in place of the API itself.
    """

    message: str
    code: int | None = None
    signal: str | None = None
    out_of_memory: bool = False
    service: str | None = None


class Started(Protocol):
    """An API that a backend has started. It may not be ready yet, and it may die at any time."""

    @property
    def base_url(self) -> str:
        """Scheme, host and port, without a final slash."""

    def died(self) -> ProcessExit | None:
        """Return how it ended, or None while it runs. Cheap to poll."""

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of its output, oldest first. Untrusted text."""


class IndexState(Struct, frozen=True, kw_only=True):
    """How far an API is: healthy, still indexing; documents, chunks and documents without chunks so far.

    A count is None when the API does not tell it. `unseen` tells that the index could not be read, as `detail` says:
    it may not be there yet, so it counts as indexing.
    `versions` are those of the packages that a program tells to have loaded, each as `name version`, in order.
    """

    healthy: bool
    indexing: bool
    unseen: bool = False
    documents: int | None = None
    chunks: int | None = None
    empty: int | None = None
    detail: str = ""
    versions: tuple[str, ...] = ()


class Call(Guarded, Struct, frozen=True, kw_only=True):
    """One HTTP request: method, path below the base URL, query, JSON body and headers beside the usual ones."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    json: JsonObject | None = None
    headers: dict[str, str] = field(default_factory=dict)
